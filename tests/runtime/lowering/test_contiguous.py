"""Contiguous copies of arrays: for any strides, the elements are the same and in order."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="compiled code is the extra irexec[fast]")

from support.amounts import amount
from support.lowering import kernels, lowered

import irexec
from irexec import Model
from irexec.core.threads import parallel
from irexec.runtime.lowering import work as module
from irexec.runtime.lowering.contiguous import copying
from irexec.runtime.lowering.work import Work

ops = irexec.opset15
rng = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def small_arrays_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEAST_SIZE", 1)


def contiguous(array: np.ndarray) -> np.ndarray:
    work = Work()
    found = work.contiguous(array)
    work.run()
    return found


@pytest.mark.parametrize("seed", range(amount(150, 40)))
def test_views_of_all_kinds(seed: int) -> None:
    draw = np.random.default_rng(seed)
    shape = tuple(int(n) for n in draw.choice([1, 2, 16, 17, 33, 50], draw.integers(1, 5)))
    array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape).transpose(draw.permutation(len(shape)))
    if seed % 3 == 0:
        array = array[tuple(slice(int(draw.integers(0, 2)), None, int(draw.integers(1, 3))) for _ in array.shape)]
    if seed % 5 == 0:
        array = np.broadcast_to(array, (2, *array.shape))
    if seed % 7 == 0:
        array = array[..., ::-1]
    for threads in (1, 3):
        parallel.set_num_threads(threads)
        found = contiguous(array)
        assert found.flags.c_contiguous and np.array_equal(found, array)
    parallel.set_num_threads(None)


def test_what_lies_transposed_is_turned_by_compiled_code() -> None:
    for array in (rng.random((1, 56, 56, 64)).transpose(0, 3, 1, 2), rng.random((3, 40, 20)).swapaxes(1, 2)):
        as_f32 = array.astype(np.float32)
        assert copying(as_f32.shape, as_f32.strides) is not None
        np.testing.assert_array_equal(contiguous(as_f32), as_f32)
    odd = np.zeros((50, 60), "f4,u1")["f0"].T
    assert np.array_equal(contiguous(odd), odd)


def test_several_do_not_take_the_place_of_each_other() -> None:
    arrays = [rng.random((40, 50)).astype(np.float32).T for _ in range(3)]
    work = Work()
    found_arrays = work.all_contiguous(arrays)
    work.run()
    for found, array in zip(found_arrays, arrays, strict=True):
        assert np.array_equal(found, array)


def test_layers_on_transposed_tensors() -> None:
    x = ops.parameter([1, 40, 20, 24], np.float32, name="x")
    last = ops.transpose(x, ops.constant(np.array([0, 3, 1, 2])))
    kernel = ops.constant(rng.standard_normal((24, 1, 1, 3, 3)).astype(np.float32))
    sums = ops.group_convolution(last, kernel, [1, 1], [1, 1], [1, 1], [1, 1])
    both = ops.add(ops.gelu(ops.add(sums, last), approximation_mode="tanh"), last)
    back = ops.transpose(both, ops.constant(np.array([0, 2, 3, 1])))
    matrix = ops.constant(rng.standard_normal((24, 30)).astype(np.float32))
    model = Model([ops.matmul(back, matrix, False, False)], [x])
    compiled, plain = lowered(model), kernels(model)
    for _ in range(3):
        given = rng.standard_normal((1, 40, 20, 24)).astype(np.float32)
        np.testing.assert_allclose(compiled([given])[0], plain([given])[0], rtol=1e-3, atol=1e-4)
