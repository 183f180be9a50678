"""Products by compiled code: the results of the plain kernel for all shapes and threads, and when it is used."""

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
from irexec.runtime.lowering.matmul import Product
from irexec.runtime.lowering.products import CompiledProduct

ops: Any = irexec.opset15


def drawn(rng: np.random.Generator, *most: int) -> tuple[np.ndarray, np.ndarray]:
    rows, depth, columns = (int(rng.integers(1, n)) for n in most)
    return rng.standard_normal((rows, depth), dtype=np.float32), rng.standard_normal((depth, columns), dtype=np.float32)


@pytest.mark.parametrize("seed", range(amount(40, 16)))
def test_the_products_are_those_of_numpy(seed: int) -> None:
    a, b = drawn(np.random.default_rng(seed), 20 if seed % 2 else 600, 1500, 200)
    found = np.full((len(a), b.shape[1]), np.nan, np.float32)
    ran(CompiledProduct(b if seed % 3 else np.asfortranarray(b), len(a)), a, found)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6 * a.shape[1])


def test_one_matrix_takes_any_number_of_rows() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((300, 40), dtype=np.float32), rng.standard_normal((40, 70), dtype=np.float32)
    multiply = CompiledProduct(b, 20)
    for rows in (20, 1, 300, 2, 13, 14, 15, 257, 256, 270):
        found = np.full((rows, 70), np.nan, np.float32)
        np.testing.assert_allclose(ran(multiply, a[:rows], found), a[:rows] @ b, rtol=1e-4, atol=1e-4)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("rows", [1, 100, 700])
def test_results_are_the_same_for_any_number_of_threads(rows: int) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((rows, 700), dtype=np.float32), rng.standard_normal((700, 1600), dtype=np.float32)
    results = []
    for count in (1, 2, 8):
        parallel.set_num_threads(count)
        results.append(ran(CompiledProduct(b, rows), a, np.empty((rows, 1600), np.float32)))
    assert all(np.array_equal(results[0], other) for other in results[1:])


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("element_type", [np.float32, np.float16])
def test_a_lowered_model(element_type: Any, transposed: bool) -> None:
    rng = np.random.default_rng(0)
    x = ops.parameter([-1, 7, 64], element_type, name="x")
    weights = rng.standard_normal((48, 64) if transposed else (64, 48)).astype(element_type)
    model = lowered(Model([ops.matmul(x, ops.constant(weights), False, transposed)], [x]))
    assert isinstance(forms(model)["MatMul"], Product)
    matrix = (weights.T if transposed else weights).astype(np.float64)
    for batch in (2, 2, 2, 2, 5, 1, 2, 0):
        given = rng.standard_normal((batch, 7, 64)).astype(element_type)
        tolerance = 1e-4 if element_type is np.float32 else 2e-2
        result = model([given])[0]
        assert result.dtype == element_type
        np.testing.assert_allclose(
            result.astype(np.float64), given.astype(np.float64) @ matrix, rtol=tolerance, atol=tolerance
        )


def test_layers_that_multiply_by_one_constant_share_its_layout() -> None:
    rng = np.random.default_rng(0)
    x, y = (ops.parameter([-1, 64], np.float32, name=name) for name in "xy")
    weights = ops.constant(rng.standard_normal((64, 48), np.float32))
    model = lowered(Model([ops.matmul(x, weights, False, False), ops.matmul(y, weights, False, False)], [x, y]))
    rows = rng.standard_normal((7, 64), np.float32)
    # The third call has its own plan for these shapes.
    for _ in range(3):
        model([rows, rows[:1]])
    # One layout for many rows, and one for few.
    assert len(model.backend._prepared) == 2
