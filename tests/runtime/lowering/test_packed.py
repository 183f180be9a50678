"""Products with packed weights by compiled code: every element is unpacked to the same bits as by the separate
layers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="compiled code is the extra irexec[fast]")

from support.amounts import amount
from support.lowering import forms, lowered, lowered_engine
from support.packed import RANGES, model, packed, weights

import irexec
from irexec import Model
from irexec.core.threads import parallel
from irexec.runtime.engine import CompiledModel
from irexec.runtime.engine.packed.matrix import PackedMatrix
from irexec.runtime.lowering.packed import CompiledPacked, PackedProduct, can_multiply
from irexec.runtime.lowering.work import Work

pytestmark = [pytest.mark.any_python, pytest.mark.usefixtures("small_models_too")]

ops: Any = irexec.opset15
FLOATS = ["f16", "bf16"]
TYPES = [*RANGES, "nf4", "f8e4m3", "f8e5m2", *FLOATS]
# Rows, columns and the length of a group (0: a row).
SHAPES = [((67, 256), 128), ((70, 192), 64), ((35, 260), 130), ((33, 333), 0), ((3, 640), 0)]


def matrix(type: str, shape: tuple[int, int], group: int, **options: Any) -> PackedMatrix:
    """Return a packed matrix of any size: rows are repeated until it is large enough to be packed."""
    rows = -(-(1 << 14) // shape[1]) + shape[0]
    computed = weights(np.random.default_rng(0), type, (rows, shape[1]), group=group, **options)
    graph = model(computed, type=options.get("final", "f32"))
    (found,) = packed(CompiledModel(graph))
    return found


def multiplied(compiled: CompiledPacked, x: np.ndarray) -> np.ndarray:
    out = np.full((len(x), compiled.columns), np.nan, np.float32)
    work = Work()
    compiled.tasks(work, x, out)
    work.run()
    return out


def check(found: PackedMatrix) -> None:
    """Compare elements, as products with rows of a unit matrix, and products of random rows."""
    compiled, whole, depth = CompiledPacked(found), found.unpacked().astype(np.float32), found.shape[1]
    rng = np.random.default_rng(1)
    picked = rng.permutation(depth)[:12]
    is_finite = np.isfinite(whole).all()
    for rows in (1, 3, 6):
        for start in range(0, len(picked) if is_finite else 0, rows):
            x = np.zeros((rows, depth), np.float32)
            x[np.arange(rows), picked[start : start + rows]] = 1
            np.testing.assert_array_equal(multiplied(compiled, x), whole[:, picked[start : start + rows]].T)
        x = rng.standard_normal((rows, depth), np.float32)
        expected = x.astype(np.float64) @ whole.T.astype(np.float64)
        with np.errstate(invalid="ignore"):
            tolerance = 1e-5 * (np.abs(x).astype(np.float64) @ np.abs(whole).T.astype(np.float64))
        found_now = multiplied(compiled, x)
        assert (np.abs(found_now - expected) <= tolerance).all() or not is_finite
        assert (np.isfinite(found_now) == np.isfinite(expected)).all()


@pytest.mark.by_hand(2)
@pytest.mark.parametrize("number", range(amount(45, 14)))
def test_types_and_groups(number: int) -> None:
    rng = np.random.default_rng(number)
    type = TYPES[number % len(TYPES)]
    shape, group = SHAPES[(number + number // len(TYPES)) % len(SHAPES)]
    if shape[1] % 2 and type in ("u4", "i4", "nf4"):
        shape = shape[0], shape[1] - 1
    arithmetic = "f32" if type in FLOATS else ("f16", "bf16", "f32")[int(rng.integers(3))]
    zero = type if type in RANGES and rng.integers(2) else ""
    check(matrix(type, shape, group, arithmetic=arithmetic, zero=zero))


@pytest.mark.parametrize("scale", [1e-7, 3e-5, 300.0])
def test_scales_that_make_denormal_and_infinite_halves(scale: float) -> None:
    check(matrix("i8", (20, 256), 0, scale=scale))


def test_zero_points_and_results_that_are_rounded() -> None:
    check(matrix("u8", (20, 256), 32, zero="f32"))
    check(matrix("i4", (20, 256), 64, arithmetic="f32", final="f16"))
    check(matrix("f16", (20, 257), 0, arithmetic="f32", scale=None))


def test_any_number_of_rows_and_threads() -> None:
    found = matrix("u4", (300, 256), 128, zero="u4")
    whole = found.unpacked()
    x = np.random.default_rng(2).standard_normal((600, 256), np.float32)
    results: dict[int, np.ndarray] = {}
    try:
        for count in (1, 2, 5):
            parallel.set_num_threads(count)
            compiled = CompiledPacked(found)
            for rows in (1, 4, 13, 600):
                product = multiplied(compiled, x[:rows])
                np.testing.assert_allclose(product, x[:rows] @ whole.T, rtol=1e-3, atol=1e-4)
                assert np.array_equal(results.setdefault(rows, product), product)
    finally:
        parallel.set_num_threads(None)


@pytest.mark.parametrize("type", FLOATS)
@pytest.mark.parametrize("depth", [16, 528, 1040, 1047])
def test_some_rows_of_16_bits(type: str, depth: int) -> None:
    """Columns of a tile beyond the matrix, tiles that overlap, and more elements than are unpacked at a time."""
    found = matrix(type, (61, depth), 0, arithmetic="f32", scale=None)
    compiled, whole = CompiledPacked(found), found.unpacked().astype(np.float64)
    rng = np.random.default_rng(depth)
    for rows in (7, 8, 16, 30, 31):
        x = rng.standard_normal((rows, depth), np.float32)
        expected = x.astype(np.float64) @ whole.T
        tolerance = 1e-5 * (np.abs(x).astype(np.float64) @ np.abs(whole).T)
        assert (np.abs(multiplied(compiled, x) - expected) <= tolerance).all()
        # Each row of a unit matrix selects an element.
        unit = np.zeros((rows, depth), np.float32)
        picked = rng.integers(0, depth, rows)
        unit[np.arange(rows), picked] = 1
        np.testing.assert_array_equal(multiplied(compiled, unit), whole[:, picked].T.astype(np.float32))


def test_an_odd_number_of_nibbles_is_left_to_the_kernel() -> None:
    assert not can_multiply(matrix("u4", (20, 333), 0))


@pytest.fixture
def graph() -> Iterator[Model]:
    rng = np.random.default_rng(3)
    x = ops.parameter([-1, 256], np.float32, name="x")
    first = ops.matmul(x, weights(rng, "u4", (160, 256), group=64, zero="u4"), False, True)
    second = ops.swish(ops.add(first, ops.constant(rng.standard_normal(160, np.float32))))
    third = ops.matmul(second, weights(rng, "i8", (256, 160)), False, True)
    yield Model([ops.add(third, x)], [x], "layers")


@pytest.mark.by_hand(2)
@pytest.mark.parametrize("rows", [1, 9, 40])
def test_a_lowered_model_with_layers_after_the_product(graph: Model, rows: int) -> None:
    compiled = lowered(graph)
    assert isinstance(forms(compiled)["MatMul"], PackedProduct)
    x = np.random.default_rng(4).standard_normal((rows, 256), np.float32)
    expected = CompiledModel(graph)([x])[0]
    for _ in range(3):
        np.testing.assert_allclose(compiled([x])[0], expected, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(lowered_engine(graph)([x])[0], expected, rtol=1e-3, atol=1e-4)


def test_the_checking_back_end_takes_packed_weights(graph: Model) -> None:
    from irexec.runtime.lowering.checked import CheckedBackend

    x = np.random.default_rng(5).standard_normal((2, 256), np.float32)
    compiled = CompiledModel(graph, CheckedBackend())
    np.testing.assert_allclose(compiled([x])[0], CompiledModel(graph)([x])[0], rtol=1e-3, atol=1e-4)
