"""Products of computed matrices by compiled code: the results of the plain kernel, for any strides."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="compiled code is the extra irexec[fast]")


from support.amounts import amount
from support.lowering import forms, lowered, ran

import irexec
from irexec import Model
from irexec.core.threads import parallel
from irexec.runtime.lowering.matmul import BothComputed
from irexec.runtime.lowering.matrices import CompiledMatrices

ops: Any = irexec.opset15


def drawn(draw: np.random.Generator, *shape: int) -> np.ndarray:
    """Return a matrix or a stack of matrices with random strides."""
    array = draw.standard_normal(shape, dtype=np.float32)
    order = draw.permutation(len(shape))
    if draw.random() < 0.5:
        array = array.transpose(order).copy().transpose(np.argsort(order))
    if draw.random() < 0.3:
        wide = np.zeros((*shape[:-1], 2 * shape[-1]), np.float32)
        wide[..., ::2] = array
        array = wide[..., ::2]
    return array


@pytest.mark.parametrize("seed", range(amount(60, 20)))
def test_the_products_are_those_of_numpy(seed: int) -> None:
    draw = np.random.default_rng(seed)
    rows, depth, columns = (int(draw.integers(1, most)) for most in (60, 700 if seed % 5 == 0 else 40, 70))
    batch = tuple(int(n) for n in draw.integers(1, 4, draw.integers(0, 3)))
    a = drawn(draw, *[n if draw.random() < 0.8 else 1 for n in batch], rows, depth)
    b = drawn(draw, *[n if draw.random() < 0.8 else 1 for n in batch][draw.integers(0, 2) :], depth, columns)
    shape = np.matmul(a, b).shape
    found = np.full(shape, np.nan, np.float32)
    ran(CompiledMatrices(), a, b, found)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6 * depth)


def test_results_are_the_same_for_any_number_of_threads() -> None:
    draw = np.random.default_rng(0)
    a, b = draw.standard_normal((3, 300, 80), dtype=np.float32), draw.standard_normal((3, 80, 90), dtype=np.float32)
    results = []
    try:
        for count in (1, 2, 8):
            parallel.set_num_threads(count)
            results.append(ran(CompiledMatrices(), a, b, np.empty((3, 300, 90), np.float32)))
    finally:
        parallel.set_num_threads(None)
    assert all(np.array_equal(results[0], other) for other in results[1:])


@pytest.mark.parametrize("transposed", [(False, False), (True, False), (False, True), (True, True)])
def test_a_lowered_model(transposed: tuple[bool, bool]) -> None:
    shapes = ([2, 9, 7] if not transposed[0] else [2, 7, 9], [7, 11] if not transposed[1] else [11, 7])
    x, y = (ops.parameter(shape, np.float32, name=name) for shape, name in zip(shapes, "xy", strict=True))
    model = lowered(Model([ops.matmul(x, y, *transposed)], [x, y]))
    draw = np.random.default_rng(0)
    given = [draw.standard_normal(shape).astype(np.float32) for shape in shapes]
    left = given[0].swapaxes(-1, -2) if transposed[0] else given[0]
    right = given[1].swapaxes(-1, -2) if transposed[1] else given[1]
    for _ in range(5):
        np.testing.assert_allclose(model(given)[0], left @ right, rtol=1e-4, atol=1e-5)
    form = forms(model)["MatMul"]
    assert isinstance(form, BothComputed) and form.shape(*given) == (2, 9, 11)


def test_large_and_few_are_left_to_blas() -> None:
    for rows, depth, columns, is_taken in [(8, 300, 300, False), (2, 80, 80, False), (2, 40, 50, True)]:
        a, b = np.ones((rows, depth), np.float32), np.ones((depth, columns), np.float32)
        for shapes in ([a.shape, b.shape], [[-1, depth], [depth, -1]]):
            x, y = (ops.parameter(shape, np.float32, name=name) for shape, name in zip(shapes, "xy", strict=True))
            model = lowered(Model([ops.matmul(x, y, False, False)], [x, y]))
            np.testing.assert_allclose(model([a, b])[0], a @ b)
        form = forms(model)["MatMul"]
        assert (form.shape(a, b) is not None) == is_taken
