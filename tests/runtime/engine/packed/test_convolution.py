"""Convolutions whose kernels are packed weights: the kernels of some output channels are unpacked at a time."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from support.packed import RANGES, convolution, folded, packed

import irexec
from irexec.runtime.engine import CompiledModel
from irexec.runtime.engine.packed import calls

ops: Any = irexec.opset15
TYPES = [*RANGES, "nf4", "f8e4m3", "f8e5m2", "f16", "bf16"]


pytestmark = pytest.mark.usefixtures("small_models_too")


def compare(graph: irexec.Model, monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...], **options: Any) -> None:
    """Compare with the kernel unpacked as a whole, in one part and in parts of few channels."""
    compiled = CompiledModel(graph)
    (matrix,) = packed(compiled)
    whole = folded(graph, monkeypatch)
    given = [np.random.default_rng(1).integers(-8, 8, shape).astype(whole.model.inputs[0].element_type.dtype)]
    expected = whole(given)[0]
    for unpacked in (1 << 30, matrix.codes.columns * 20):
        monkeypatch.setattr(calls, "_UNPACKED", unpacked)
        found = compiled(given)[0]
        assert found.dtype == expected.dtype and found.shape == expected.shape
        np.testing.assert_allclose(found.astype(np.float64), expected.astype(np.float64), **options)


@pytest.mark.parametrize("arithmetic", ["f16", "f32"])
@pytest.mark.parametrize("type", TYPES)
def test_types_and_zero_points(type: str, arithmetic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    zero = type if type in RANGES else ""
    arithmetic = "f32" if type in ("f16", "bf16") else arithmetic
    graph = convolution(type, (66, 32, 3, 3), arithmetic=arithmetic, zero=zero)
    compare(graph, monkeypatch, (2, 32, 9, 10), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("final", ["f16", "bf16"])
def test_narrow_data(final: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = convolution("i8", (40, 30, 4, 4), arithmetic=final, final=final, scale=1e-3)
    compare(graph, monkeypatch, (1, 30, 8, 8), rtol=2e-2)


@pytest.mark.parametrize(
    ("kernel", "data", "options"),
    [
        ((200, 100), (3, 100), {}),
        ((70, 40, 7), (2, 40, 33), {"strides": [2], "pads_begin": [3], "pads_end": [3]}),
        ((24, 30, 3, 3, 3), (1, 30, 5, 6, 7), {"dilations": [1, 2, 1]}),
        ((33, 512, 1, 1), (2, 512, 6, 6), {"strides": [2, 2]}),
        ((33, 64, 3, 3), (1, 64, 1, 1), {"pads_begin": [1, 1], "pads_end": [1, 1]}),
        ((4, 20, 30, 3, 3), (2, 120, 6, 6), {"auto_pad": "same_upper"}),
        ((40, 8, 9, 3, 3), (1, 360, 5, 5), {}),
    ],
)
def test_axes_groups_and_windows(
    kernel: tuple[int, ...], data: tuple[int, ...], options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    if len(kernel) == 2:
        kernel, data = (*kernel, 1), (*data, 1)
    is_grouped = len(kernel) > len(data)
    compare(
        convolution("u8", kernel, zero="u8", is_grouped=is_grouped, **options), monkeypatch, data, rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize("scales", [(48, 32, 1, 1), (48, 1, 1, 1), (1, 32, 1, 1), (1, 1, 1, 1)])
def test_scales_of_input_channels(scales: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    compare(convolution("i8", (48, 32, 4, 4), scales=scales), monkeypatch, (1, 32, 7, 7), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("scales", [(48, 32, 1, 4), (48, 1, 4, 1), (1, 1, 4, 4)])
def test_scales_within_channels_are_folded(scales: tuple[int, ...]) -> None:
    assert not packed(CompiledModel(convolution("i8", (48, 32, 4, 4), scales=scales)))


def test_depthwise_kernels_are_folded() -> None:
    assert not packed(CompiledModel(convolution("i8", (2048, 1, 1, 3, 3), is_grouped=True)))


def test_kernels_that_other_layers_read_are_folded() -> None:
    graph = convolution("i8", (48, 32, 4, 4))
    kernel = graph.get_results()[0].input_value(0).get_node().input_value(1)
    both = irexec.Model([graph.outputs[0], ops.abs(kernel.get_node().output(0))], graph.get_parameters())
    assert not packed(CompiledModel(both))


def test_a_kernel_is_not_unpacked_as_a_whole() -> None:
    graph = convolution("i8", (1024, 512, 3, 3))
    given = [np.ones((1, 512, 4, 4), np.float32)]
    CompiledModel(convolution("i8", (32, 512, 3, 3)))(given)
    tracemalloc.start()
    try:
        CompiledModel(graph)(given)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1024 * 512 * 9 * 1.5
