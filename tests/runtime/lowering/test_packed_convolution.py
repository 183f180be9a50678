"""Convolutions with packed kernels by compiled code: unpacked panels have the same bits as the separate layers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="compiled code is the extra irexec[fast]")

from support.amounts import amount
from support.lowering import forms, lowered, lowered_engine, small_ones_too
from support.packed import RANGES, convolution, packed

import irexec
from irexec.core.threads import parallel
from irexec.ops.spec.prepared import Prepared
from irexec.runtime.engine import CompiledModel, constants
from irexec.runtime.lowering import packed as packed_module
from irexec.runtime.lowering.checked import CheckedBackend
from irexec.runtime.lowering.convolution import Convolution
from irexec.runtime.lowering.packed import PackedKernel, Panels
from irexec.runtime.lowering.work import Work

pytestmark = pytest.mark.any_python

ops: Any = irexec.opset15
FLOATS = ["f16", "bf16"]
TYPES = [*RANGES, "nf4", "f8e4m3", "f8e5m2", *FLOATS]
KERNELS = [(67, 128, 2), (70, 192, 1), (35, 26, 5, 4), (33, 62, 3, 3), (8, 36, 16, 2, 2)]


@pytest.fixture(autouse=True)
def small_models_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep kernels packed even in models with few packed weights, and unpack them in several parts."""
    monkeypatch.setattr(constants, "LEAST_PACKED_TOTAL", 0)
    monkeypatch.setattr(constants, "LEAST_PACKED", 1 << 12)
    monkeypatch.setattr(packed_module, "UNPACKED", 1 << 13)
    small_ones_too(monkeypatch.setattr)


@pytest.mark.parametrize("number", range(amount(18, 9)))
def test_panels_have_the_bits_of_the_layers(number: int) -> None:
    rng = np.random.default_rng(number)
    type, shape = TYPES[number % len(TYPES)], KERNELS[(number + number // len(TYPES)) % len(KERNELS)]
    axes = 2 if len(shape) == 5 else 1
    arithmetic = "f32" if type in FLOATS else ("f16", "bf16", "f32")[int(rng.integers(3))]
    scales = (*shape[: axes + 1], *[1] * (len(shape) - axes - 1)) if rng.integers(2) and len(shape) > 3 else None
    zero = type if type in RANGES and rng.integers(2) else ""
    graph = convolution(type, shape, arithmetic=arithmetic, zero=zero, scales=scales, is_grouped=axes == 2)
    (matrix,) = packed(CompiledModel(graph))
    kernel = PackedKernel(matrix, (1,) * (2 - axes) + shape)
    groups, outputs = kernel.shape[:2]
    expected = matrix.unpacked().astype(np.float32).reshape(groups, outputs, -1)
    if not packed_module.can_multiply(matrix):
        pytest.skip("an odd number of 4-bit elements")
    height = (6, 16)[number % 2]
    panels, blocks = Panels(kernel, height, Prepared()), -(-outputs // height)
    found = np.full((groups, blocks, expected.shape[2], height), np.nan, np.float32)
    for (g0, g1), (b0, b1) in panels.parts():
        work = Work()
        memory = panels.unpacking((g0, g1), (b0, b1))(work)
        work.run()
        part = found[g0:g1, b0:b1]
        part[...] = memory[: part.size].reshape(part.shape)
    rows = found.swapaxes(2, 3).reshape(groups, blocks * height, -1)[:, :outputs]
    np.testing.assert_array_equal(rows, expected)


@pytest.mark.parametrize(
    ("kernel", "data", "options"),
    [
        ((96, 40, 3, 3), (2, 40, 14, 13), {"pads_begin": [1, 1], "pads_end": [1, 1]}),
        ((70, 64, 1, 1), (3, 64, 7, 7), {}),
        ((64, 64, 1, 1), (1, 64, 56, 56), {}),
        ((70, 40, 7), (2, 40, 33), {"strides": [2], "pads_begin": [3], "pads_end": [3]}),
        ((24, 30, 3, 3, 3), (1, 30, 5, 6, 7), {"dilations": [1, 2, 1]}),
        ((33, 64, 3, 3), (1, 64, 1, 1), {"pads_begin": [1, 1], "pads_end": [1, 1]}),
        ((40, 32, 3, 3), (5, 32, 3, 3), {}),
        ((4, 20, 30, 3, 3), (2, 120, 9, 9), {"auto_pad": "same_upper"}),
        ((40, 8, 9, 3, 3), (1, 360, 7, 7), {}),
    ],
)
def test_axes_groups_and_windows(kernel: tuple[int, ...], data: tuple[int, ...], options: dict[str, Any]) -> None:
    graph = convolution("u8", kernel, zero="u8", is_grouped=len(kernel) > len(data), **options)
    result = graph.get_results()[0].input_value(0)
    graph = irexec.Model([ops.relu(ops.add(result, ops.constant(np.float32(0.25))))], graph.get_parameters())
    graph.reshape(list(data))
    x = np.random.default_rng(1).standard_normal(data, np.float32)
    expected = CompiledModel(graph)([x])[0]
    bits = set()
    try:
        for threads in (1, 2, 3):
            parallel.set_num_threads(threads)
            compiled = lowered_engine(graph)
            assert packed(compiled) and isinstance(
                forms(compiled)["Convolution" if len(kernel) == len(data) else "GroupConvolution"], Convolution
            )
            for _ in range(2):
                found = compiled([x])[0]
                np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
                bits.add(found.tobytes())
    finally:
        parallel.set_num_threads(None)
    assert len(bits) == 1


@pytest.mark.by_hand(1)
@pytest.mark.parametrize("final", FLOATS)
def test_narrow_data(final: str) -> None:
    graph = convolution("i8", (40, 30, 4, 4), arithmetic=final, final=final)
    x = np.random.default_rng(2).integers(-8, 8, (1, 30, 9, 9)).astype(irexec.Type.by_name[final].dtype)
    found, expected = (np.asarray(model([x])[0], np.float64) for model in (lowered(graph), CompiledModel(graph)))
    np.testing.assert_allclose(found, expected, rtol=2e-2, atol=1e-3)


def test_kernels_of_quantized_data_are_read_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    x = ops.parameter([1, 32, 9, 9], np.float32, name="x")
    low, high = np.float32(0), np.float32(2.55)
    data = ops.fake_quantize(x, *map(ops.constant, (low, high, low, high)), 256)
    graph = convolution("i8", (48, 32, 3, 3))
    kernel = graph.get_results()[0].input_value(0).get_node().input_value(1)
    graph = irexec.Model([ops.convolution(data, kernel, [1, 1], [0, 0], [0, 0], [1, 1])], [x])
    compiled = lowered_engine(graph)
    (matrix,) = packed(compiled)
    values = np.random.default_rng(3).random((1, 32, 9, 9), np.float32) * 3
    np.testing.assert_allclose(compiled([values])[0], CompiledModel(graph)([values])[0], rtol=1e-5, atol=1e-4)
    from irexec.runtime.lowering.llvm import compiler

    form = forms(compiled)["Convolution"]
    assert isinstance(form, Convolution)
    if compiler().has_bytes:
        assert np.array_equal(form._weights.reshape(48, -1), matrix.codes.part(0, 48))


@pytest.mark.parametrize("zero", ["", "i8"])
def test_integers_in_f64_are_exact(zero: str) -> None:
    """As in ONNX's ConvInteger, whose weights are stored as i8, or as u8 minus 128."""
    rng, x = np.random.default_rng(6), ops.parameter([2, 66, 9, 9], np.uint8, name="x")
    data = ops.subtract(ops.convert(x, "f64"), ops.constant(np.float64(117)))
    kernel = ops.constant(rng.integers(-128, 128, (40, 66, 3, 3)).astype(np.int8))
    if zero:
        kernel = ops.constant(rng.integers(0, 256, (40, 66, 3, 3)).astype(np.uint8))
    weights = ops.convert(kernel, "f64")
    if zero:
        weights = ops.subtract(weights, ops.constant(np.float64(128)))
    model = irexec.Model([ops.convolution(data, weights, [1, 1], [1, 1], [1, 1], [1, 1])], [x])
    given = rng.integers(0, 256, tuple(x.shape)).astype(np.uint8)
    by_kernels, compiled = CompiledModel(model), lowered_engine(model)
    assert packed(by_kernels) and packed(compiled)
    found, expected = compiled([given])[0], by_kernels([given])[0]
    assert found.dtype == np.float64 and np.array_equal(found, expected)
    wide = [given.astype(np.float64) - 117, kernel.data.astype(np.float64) - (128 if zero else 0)]
    assert np.array_equal(expected, irexec.opset15.convolution(*wide, [1, 1], [1, 1], [1, 1], [1, 1]))


@pytest.mark.by_hand(0)
def test_the_checking_back_end_takes_packed_kernels() -> None:
    graph = convolution("u4", (66, 32, 3, 3), zero="u4")
    graph.reshape([1, 32, 8, 8])
    x = np.random.default_rng(5).standard_normal((1, 32, 8, 8), np.float32)
    compiled = CompiledModel(graph, CheckedBackend())
    np.testing.assert_allclose(compiled([x])[0], CompiledModel(graph)([x])[0], rtol=1e-3, atol=1e-4)
