"""MatMul of quantized rows and matrices in bytes: exact sums, and f32 or f64 if values are not on a grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="compiled code is the extra irexec[fast]")

from support.amounts import amount
from support.lowering import forms, kernels, lowered, lowered_engine

import irexec
from irexec import Model
from irexec.runtime.engine import constants
from irexec.runtime.lowering.byte_products import InBytes
from irexec.runtime.lowering.llvm import compiler
from irexec.runtime.lowering.whole import Whole

pytestmark = pytest.mark.any_python

ops: Any = irexec.opset15
LIMITS = {"unsigned": (0.0, 255.0), "signed": (-128.0, 127.0), "asymmetric": (-28.0, 227.0), "above 0": (9.0, 264.0)}


def quantized(x: Any, limits: tuple[float, float]) -> Any:
    low, high = (ops.constant(np.float32(limit)) for limit in limits)
    return ops.fake_quantize(x, low, high, low, high, levels=256)


def stored(numbers: np.ndarray, steps: np.ndarray) -> Any:
    return ops.multiply(ops.convert(ops.constant(numbers.astype(np.int8)), "f32"), ops.constant(steps))


def compare(model: Model, x: np.ndarray, *, is_exact: bool = False) -> bool:
    """Compare the lowered model with its kernels; return whether its product is computed in bytes."""
    expected, found = kernels(model)([x])[0], lowered(model)([x])[0]
    if is_exact:
        np.testing.assert_array_equal(found, expected)
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max(initial=0))
    compiled = lowered_engine(model)
    compiled([x])
    found = forms(compiled)
    return isinstance(found.get("MatMul"), InBytes) or isinstance(found.get("Convert"), Whole)


@pytest.mark.parametrize("seed", range(amount(40, 16)))
def test_the_results_are_those_of_the_kernels(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if seed % 2:
        monkeypatch.setattr(constants, "LEAST_PACKED_TOTAL", 0)
        monkeypatch.setattr(constants, "LEAST_PACKED", 1)
    rng = np.random.default_rng(seed)
    depth, columns, rows = int(rng.integers(1, 90)) * 4, int(rng.integers(1, 90)), int(rng.integers(1, 60))
    lead = [[], [1], [3]][seed % 3]
    x = ops.parameter([*lead, rows, depth], np.float32, name="x")
    transposed = seed % 4 < 3
    shape, of_steps = ((columns, depth), (columns, 1)) if transposed else ((depth, columns), (1, columns))
    weights = stored(rng.integers(-128, 128, shape), rng.uniform(0.01, 0.1, of_steps).astype(np.float32))
    found = ops.matmul(quantized(x, list(LIMITS.values())[seed % 4]), weights, False, transposed)
    bias = ops.constant(rng.standard_normal((1, columns)).astype(np.float32))
    model = Model([ops.gelu(ops.add(found, bias), "erf") if seed % 5 else found], [x])
    given = (rng.standard_normal(tuple(x.shape)) * 150).astype(np.float32)
    assert compare(model, given) == compiler().has_bytes


@pytest.mark.parametrize("limits", LIMITS.values(), ids=LIMITS)
@pytest.mark.parametrize("rows", [1, 2, 5, 33])
def test_sums_of_integers_are_exact(limits: tuple[float, float], rows: int) -> None:
    rng = np.random.default_rng(0)
    x = ops.parameter([rows, 1028], np.float32, name="x")
    numbers = rng.integers(-9, 10, (70, 1028))
    weights = stored(numbers, np.ones((70, 1), np.float32))
    model = Model([ops.matmul(quantized(x, limits), weights, False, True)], [x])
    given = (rng.standard_normal(tuple(x.shape)) * 150).astype(np.float32)
    assert np.abs(numbers).sum(axis=1).max() * 264 < 1 << 24
    assert compare(model, given, is_exact=True) == compiler().has_bytes


def product(rows: np.ndarray, zero: int, matrix: np.ndarray, transposed: bool) -> Model:
    """Return a product as in ONNX's MatMulInteger: in f64, of bytes minus a zero point."""
    x = ops.parameter(list(rows.shape), rows.dtype, name="x")
    centred = ops.subtract(ops.convert(x, "f64"), ops.convert(ops.constant(rows.dtype.type(zero)), "f64"))
    found = ops.matmul(centred, ops.convert(ops.constant(matrix), "f64"), False, transposed)
    return Model([ops.convert(found, "i32")], [x])


@pytest.mark.parametrize(("dtype", "zero"), [(np.uint8, 0), (np.uint8, 255), (np.int8, -128), (np.int8, 5)])
@pytest.mark.parametrize("shape", [(1, 64, 3), (5, 768, 70), (40, 4, 33)])
@pytest.mark.parametrize("transposed", [False, True])
def test_integers(dtype: Any, zero: int, shape: tuple[int, int, int], transposed: bool) -> None:
    rng, (count, depth, columns) = np.random.default_rng(0), shape
    limits = np.iinfo(dtype)
    rows = rng.integers(limits.min, limits.max + 1, (2, count, depth)).astype(dtype)
    matrix = rng.integers(-128, 128, (columns, depth) if transposed else (depth, columns)).astype(np.int8)
    assert compare(product(rows, zero, matrix, transposed), rows, is_exact=True) == compiler().has_bytes
    extreme = np.full_like(rows, limits.max), np.full_like(matrix, -128)
    compare(product(extreme[0], zero, extreme[1], transposed), extreme[0], is_exact=True)


def test_other_values_keep_their_product() -> None:
    rng = np.random.default_rng(0)
    x = ops.parameter([5, 64], np.float32, name="x")
    given, numbers = rng.standard_normal((5, 64)).astype(np.float32), rng.integers(-128, 128, (30, 64))
    plain, step = stored(numbers, np.full((30, 1), 0.5, np.float32)), np.ones((30, 1), np.float32)
    data = quantized(x, (-1.0, 127 / 128))
    for left, right in [
        (x, plain),  # the rows are not on a grid
        (quantized(x, (-1.0, 1.0)), plain),  # 0 lies between two levels
        (data, ops.constant(rng.standard_normal((30, 64)).astype(np.float32))),
        (data, stored(numbers, rng.uniform(0.1, 1, (30, 64)).astype(np.float32))),  # each element has its own step
    ]:
        assert not compare(Model([ops.matmul(left, right, False, True)], [x]), given)
    # The rows of the matrix have no elements of 32 bits.
    y = ops.parameter([5, 62], np.float32, name="y")
    odd = ops.matmul(quantized(y, (-1.0, 127 / 128)), stored(numbers[:, :62], step), False, True)
    assert not compare(Model([odd], [y]), given[:, :62].copy())
    wide = rng.integers(0, 256, (30, 64)).astype(np.uint8)
    rows = rng.integers(0, 256, (5, 64)).astype(np.uint8)
    assert not compare(product(rows, 3, wide, True), rows, is_exact=True)
