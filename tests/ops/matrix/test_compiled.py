"""Products by compiled code: those of the plain kernel, for all shapes, any number of threads, and when it begins."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="compiled code is the extra irexec[fast]")


import irexec
from irexec import Model, native
from irexec.ops.matrix.compiled import CompiledProduct
from irexec.ops.matrix.matmul import ConstantMatrix
from irexec.threads import parallel

ops: Any = irexec.opset15


@pytest.fixture
def threads() -> Iterator[None]:
    yield
    parallel.set_num_threads(None)


def drawn(rng: np.random.Generator, *most: int) -> tuple[np.ndarray, np.ndarray]:
    rows, depth, columns = (int(rng.integers(1, n)) for n in most)
    return rng.standard_normal((rows, depth), dtype=np.float32), rng.standard_normal((depth, columns), dtype=np.float32)


@pytest.mark.parametrize("seed", range(40))
def test_the_products_are_those_of_numpy(seed: int) -> None:
    a, b = drawn(np.random.default_rng(seed), 20 if seed % 2 else 600, 1500, 200)
    found = np.full((len(a), b.shape[1]), np.nan, np.float32)
    CompiledProduct(b if seed % 3 else np.asfortranarray(b), len(a))(a, found)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6 * a.shape[1])


def test_one_matrix_takes_any_number_of_rows() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((300, 40), dtype=np.float32), rng.standard_normal((40, 70), dtype=np.float32)
    multiply = CompiledProduct(b, 20)
    for rows in (20, 1, 300, 2, 13, 14, 15, 257, 256, 270):
        found = np.full((rows, 70), np.nan, np.float32)
        np.testing.assert_allclose(multiply(a[:rows], found), a[:rows] @ b, rtol=1e-4, atol=1e-4)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("rows", [1, 100, 700])
def test_results_are_the_same_for_any_number_of_threads(rows: int) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((rows, 700), dtype=np.float32), rng.standard_normal((700, 1600), dtype=np.float32)
    results = []
    for count in (1, 2, 8):
        parallel.set_num_threads(count)
        results.append(CompiledProduct(b, rows)(a, np.empty((rows, 1600), np.float32)))
    assert all(np.array_equal(results[0], other) for other in results[1:])


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("element_type", [np.float32, np.float16])
def test_a_model_that_runs_often_is_compiled(
    element_type: Any, transposed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native, "MANY_PRODUCTS", 1)
    rng = np.random.default_rng(0)
    x = ops.parameter([-1, 7, 64], element_type, name="x")
    weights = rng.standard_normal((48, 64) if transposed else (64, 48)).astype(element_type)
    model = irexec.compile_model(Model([ops.matmul(x, ops.constant(weights), False, transposed)], [x]))
    matrix = (weights.T if transposed else weights).astype(np.float64)
    for batch in (2, 2, 2, 2, 5, 1, 2, 0):
        given = rng.standard_normal((batch, 7, 64)).astype(element_type)
        tolerance = 1e-4 if element_type is np.float32 else 2e-2
        result = model([given])[0]
        assert result.dtype == element_type
        np.testing.assert_allclose(
            result.astype(np.float64), given.astype(np.float64) @ matrix, rtol=tolerance, atol=tolerance
        )


def test_all_who_multiply_by_a_constant_share_what_is_made_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "MANY_PRODUCTS", 1)
    rng = np.random.default_rng(0)
    constant, rows = rng.standard_normal((48, 64), np.float32), rng.standard_normal((7, 64), np.float32)
    matrix = ConstantMatrix.of(constant, True)
    made = [matrix.compiled(rows) for _ in range(4)]
    assert made[:2] == [None, None] and made[2] is not None and made[2] is made[3]
    assert ConstantMatrix.of(constant, True).compiled(rows[:5]) is made[3]
    # Few rows take it in another layout.
    assert matrix.compiled(rows[:1]) is matrix.compiled(rows[:3]) is not made[3]
    assert ConstantMatrix.of(constant, False) is not matrix
    forgotten = weakref.ref(matrix)
    del matrix, made
    gc.collect()
    assert forgotten() is None


def odd_copy(numbers: np.ndarray) -> np.ndarray:
    return np.frombuffer(b"\0" + numbers.tobytes(), numbers.dtype, offset=1).reshape(numbers.shape)


def test_a_large_matrix_at_any_byte_is_copied_once_when_it_is_used_often_and_not_compiled() -> None:
    numbers = np.random.default_rng(0).standard_normal((900, 700), np.float32)
    odd = odd_copy(numbers)
    matrix = ConstantMatrix.of(odd, False)
    with native.plainly():
        for _ in range(2):
            assert matrix.compiled(numbers[:, :1].T) is None
            assert matrix.right is odd
        assert matrix.compiled(numbers[:, :1].T) is None
    assert matrix.right.flags.aligned and np.array_equal(matrix.right, numbers)


def test_a_small_matrix_at_any_byte_is_copied_at_once() -> None:
    numbers = np.random.default_rng(0).standard_normal((64, 48), np.float32)
    right = ConstantMatrix.of(odd_copy(numbers), False).right
    assert right.flags.aligned and np.array_equal(right, numbers)
