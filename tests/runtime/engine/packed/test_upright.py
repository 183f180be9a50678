"""Packed weights as `[K, N]`, or before a Transpose: rearranged once, and never unpacked as a whole."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.packed import RANGES, constant, folded, packed

import irexec
from irexec.runtime.engine import CompiledModel
from irexec.runtime.lowering.backend import Backend, Mode

ops: Any = irexec.opset15
FORMS = ["upright", "turned", "back"]
K = 256


pytestmark = pytest.mark.usefixtures("small_models_too")


def model(
    type: str, columns: int, *, form: str = "upright", group: int = 0, zero: bool = False, arithmetic: str = "f16"
) -> irexec.Model:
    """Return a product with a matrix `[K, N]` ("upright"), with `[N, K]` that is transposed ("turned"), or with `[K,
    N]` that is transposed before a MatMul with transpose_b.
    """
    rng, is_turned = np.random.default_rng(columns), form == "turned"
    whole = (columns, K) if is_turned else (K, columns)
    shape = whole if not group else (columns, K // group, group) if is_turned else (K // group, group, columns)
    per = (*shape[:-1], 1) if is_turned else (*shape[:-2], 1, columns)
    x = ops.convert(constant(rng, type, shape), arithmetic)
    if zero:
        x = ops.subtract(x, ops.convert(constant(rng, type, per), arithmetic))
    if type not in ("f16", "bf16"):
        scales = (rng.random(per) * 0.01 + 1e-3).astype(irexec.Type.by_name[arithmetic].dtype)
        x = ops.multiply(x, ops.constant(scales))
    if group:
        x = ops.reshape(x, np.array(whole, np.int64), special_zero=False)
    x = x if arithmetic == "f32" else ops.convert(x, "f32")
    if form != "upright":
        x = ops.transpose(x, np.array([1, 0]))
    rows = ops.parameter([-1, K], np.float32, name="x")
    return irexec.Model([ops.matmul(rows, x, False, form == "back")], [rows], "upright")


def compare(graph: irexec.Model, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare kernels and compiled code with the matrix folded; a product with a unit matrix has the same bits."""
    compiled = [CompiledModel(graph), CompiledModel(graph, Backend(Mode.AT_ONCE))]
    (matrix,) = packed(compiled[0])
    unpacked = folded(graph, monkeypatch)
    whole = unpacked([np.eye(K, dtype=np.float32)]).to_tuple()[0]
    assert matrix.unpacked().shape == matrix.shape
    np.testing.assert_array_equal(matrix.unpacked(), whole if matrix.is_upright else whole.T)
    for rows in (1, 40):
        given = np.random.default_rng(rows).standard_normal((rows, K)).astype(np.float32)
        expected = unpacked([given]).to_tuple()[0]
        for each in compiled:
            (found,) = each([given]).to_tuple()
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
            np.testing.assert_array_equal(each([np.eye(K, dtype=np.float32)[:rows]]).to_tuple()[0], whole[:rows])


@pytest.mark.by_hand(1)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("type", [*RANGES, "nf4"])
def test_integers(type: str, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    is_zero, group = type.startswith("u"), 64 if type in ("u4", "i8") else 0
    graph = model(type, 140, form=form, group=group, zero=is_zero, arithmetic="f32" if type == "i4" else "f16")
    compare(graph, 140, monkeypatch)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("type", ["f16", "bf16", "f8e4m3"])
def test_floats(type: str, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compare(model(type, 131, form=form, arithmetic="f32"), 131, monkeypatch)


def test_square_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    for form in FORMS:
        compare(model("u8", K, form=form, zero=True), K, monkeypatch)


def test_matrices_that_are_folded() -> None:
    assert not packed(CompiledModel(model("u4", 141)))  # a row begins within a byte
    rows = ops.parameter([-1, K], np.float32, name="x")
    matrix = ops.convert(constant(np.random.default_rng(0), "f16", (K, K)), "f32")
    # One layer reads the matrix by rows, the other by columns.
    read = [ops.matmul(rows, matrix, False, False), ops.matmul(rows, matrix, False, True)]
    assert not packed(CompiledModel(irexec.Model(read, [rows], "m")))
    # The scales differ within the sums of a column.
    scales = ops.constant(np.random.default_rng(0).random((K, 1)).astype(np.float32))
    scaled = ops.multiply(ops.convert(constant(np.random.default_rng(0), "i8", (K, K)), "f32"), scales)
    assert not packed(CompiledModel(irexec.Model([ops.matmul(rows, scaled, False, False)], [rows], "m")))


def test_a_matrix_from_a_file_is_not_unpacked_as_a_whole(tmp_path: Path) -> None:
    columns = 16384
    irexec.save_model(model("u4", columns, group=64, zero=True), tmp_path / "m.xml")
    graph = irexec.read_model(tmp_path / "m.xml")
    given = [np.ones((1, K), np.float32)]
    CompiledModel(model("u4", 128, group=64))(given)
    tracemalloc.start()
    try:
        CompiledModel(graph)(given)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # The codes in their new order have 2 MB, the matrix in f32 has 16 MB.
    assert peak < 8 << 20


def in_f64(type: str, form: str, zero: np.ndarray | None, scale: np.ndarray | None = None) -> irexec.Model:
    """Return a product of integers in f64, as ONNX's MatMulInteger is stored."""
    shape = (96, K) if form == "turned" else (K, 96)
    x = ops.convert(constant(np.random.default_rng(0), type, shape), "f64")
    x = x if zero is None else ops.subtract(x, ops.constant(zero))
    x = x if scale is None else ops.multiply(x, ops.constant(scale))
    if form != "upright":
        x = ops.transpose(x, np.array([1, 0]))
    rows = ops.parameter([-1, K], np.float64, name="x")
    return irexec.Model([ops.matmul(rows, x, False, form == "back")], [rows], "in f64")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("type", RANGES)
@pytest.mark.parametrize("zero", [None, np.float64(3), "columns"])
def test_integers_in_f64(type: str, form: str, zero: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sums are exact in any order."""
    if isinstance(zero, str):
        zero = np.arange(96.0).reshape((96, 1) if form == "turned" else (1, 96)) % 5
    graph = in_f64(type, form, zero)
    compiled = [CompiledModel(graph), CompiledModel(graph, Backend(Mode.AT_ONCE))]
    assert all(len(packed(each)) == 1 for each in compiled)
    whole = folded(graph, monkeypatch)
    for rows in (1, 7, 200):
        given = np.random.default_rng(rows).integers(0, 256, (rows, K)).astype(np.float64)
        for each in compiled:
            np.testing.assert_array_equal(each([given]).to_tuple()[0], whole([given]).to_tuple()[0])


@pytest.mark.parametrize(("zero", "scale"), [(0.5, None), (400.0, None), (None, 0.25)])
def test_other_numbers_in_f64_are_folded(zero: float | None, scale: float | None) -> None:
    parameters = [None if number is None else np.float64(number) for number in (zero, scale)]
    assert not packed(CompiledModel(in_f64("i8", "upright", *parameters)))
