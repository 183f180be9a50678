"""Quantized graphs: layers between FakeQuantizes, weights stored in few bits, and conversions between types."""

from __future__ import annotations

import numpy as np

from irexec.core.types import F32
from irexec.model.graph.model import Value
from irexec.tools.conformance.builder import Graph
from irexec.tools.conformance.graph_patterns.layers import activated
from irexec.tools.conformance.registry import pattern


def quantised(g: Graph, x: Value, levels: str, ranges: str, channels: int, rank: int) -> Value:
    """Return a FakeQuantize. Ranges are not powers of two, so that few values fall between two levels."""
    shape = (1, channels, *[1] * (rank - 2)) if ranges == "channels" else ()
    high = g.array(*shape, low=1.7, scale=0.5, kind="f32")
    low = -high * np.float32(0 if ranges == "unsigned" else 0.93 if ranges == "asymmetric" else 1)
    out_low, out_high = (low, high) if ranges != "other output" else (low * np.float32(0.5), high * np.float32(2))
    arrays = [a.astype(g.base.dtype) for a in (low, high, out_low, out_high)]
    return g.op("FakeQuantize-1", [x, *arrays], {"levels": levels})


@pattern(
    levels=("256", "255", "16"),
    ranges=("symmetric", "unsigned", "asymmetric", "channels", "other output"),
    layer=("convolution", "matmul", "pool", "depthwise", "concat", "none"),
    weights=("i8", "fake", "float"),
    act=("none", "relu", "clamp", "swish", "prelu"),
    again=("no", "yes"),
)
def fake_quantised(g: Graph, *, levels: str, ranges: str, layer: str, weights: str, act: str, again: str) -> None:
    """Build a layer between FakeQuantizes."""
    if g.base is not F32:
        raise ValueError("f32 only: f16 and bf16 values often lie halfway between two levels of the quantizer")
    channels, filters = g.channels(2, 4, 8, 16), g.channels(2, 4, 8, 16)
    rank = 3 if layer == "matmul" else 4
    x = g.input(["N", "S", channels] if layer == "matmul" else ["N", channels, 6, 6])
    if layer == "matmul" and ranges == "channels":
        ranges = "symmetric"
    y = quantised(g, x, levels, ranges, channels, rank)
    unit = {"strides": "1,1", "dilations": "1,1", "pads_begin": "1,1", "pads_end": "1,1"}
    if layer == "convolution":
        y = g.op("Convolution-1", [y, _weights(g, weights, (filters, channels, 3, 3))], unit)
    elif layer == "depthwise":
        filters = channels
        y = g.op("GroupConvolution-1", [y, _weights(g, weights, (channels, 1, 1, 3, 3))], unit)
    elif layer == "matmul":
        y = g.op("MatMul-1", [y, _weights(g, weights, (filters, channels))], {"transpose_b": "true"})
    elif layer == "pool":
        window = {"kernel": "2,2", "strides": "2,2", "pads_begin": "0,0", "pads_end": "0,0"}
        y = (
            g.op("AvgPool-1", [y], window | {"exclude-pad": "false"})
            if again == "yes"
            else g.op("MaxPool-1", [y], window)
        )
    elif layer == "concat":
        other = quantised(g, g.input(["N", channels, 6, 6]), levels, ranges, channels, rank)
        y = g.op("Concat-1", [y, other], {"axis": 1})
    y = activated(g, y, act, filters, rank)
    if again == "yes":
        y = quantised(g, y, levels, "symmetric", filters, rank)
    g.result(y)


def _weights(g: Graph, form: str, shape: tuple[int, ...]) -> Value | np.ndarray:
    if form == "float":
        return g.array(*shape, scale=0.3)
    if form == "fake":
        array = g.array(*shape, scale=0.3)
        top = g.number(1.13)
        return g.op("FakeQuantize-1", [array, -top, top, -top, top], {"levels": "255"})
    packed = g.integers(-100, 100, *shape, kind="i8")
    wide = g.op("Convert-1", [packed], {"destination_type": g.base.name})
    scale = g.array(shape[0], *[1] * (len(shape) - 1), low=0.002, scale=0.002)
    return g.op("Multiply-1", [wide, scale])


@pattern(
    kind=("u8", "i8", "u4", "i4"),
    zero=("same", "none", "scalar", "of f32"),
    scales=("rows", "groups", "scalar", "columns"),
    through=("direct", "f16"),
    form=("transposed", "plain"),
    use=("matmul", "gather", "two"),
)
def decompressed(g: Graph, *, kind: str, zero: str, scales: str, through: str, form: str, use: str) -> None:
    """Build weights in few bits with zero points and scales."""
    rows, width, group = g.channels(4, 8, 16), g.channels(8, 16, 32), 4
    shape = (rows, width // group, group) if scales == "groups" else (rows, width)
    low, high = {"u8": (0, 255), "i8": (-128, 127), "u4": (0, 15), "i4": (-8, 7)}[kind]
    mid = "f16" if through == "f16" else g.base.name
    y = g.op("Convert-1", [g.integers(low, high, *shape, kind=kind)], {"destination_type": mid})
    one = (rows, *[1] * (len(shape) - 1))
    if scales == "groups":
        one = (rows, width // group, 1)
    if zero != "none":
        points = g.integers(max(0, low), high, *(() if zero == "scalar" else one), kind=kind)
        if zero == "of f32":
            wide: Value | np.ndarray = g.array(*one, kind=mid)
        else:
            wide = g.op("Convert-1", [points], {"destination_type": mid})
        y = g.op("Subtract-1", [y, wide])
    shapes = {"rows": one, "groups": one, "scalar": (), "columns": (1, width)}
    y = g.op("Multiply-1", [y, g.array(*shapes[scales], low=0.01, scale=0.02, kind=mid)])
    if scales == "groups":
        y = g.op("Reshape-1", [y, np.array([rows, width], np.int64)], {"special_zero": "false"})
    if mid != g.base.name:
        y = g.op("Convert-1", [y], {"destination_type": g.base.name})
    if use == "gather":
        g.result(
            g.op(
                "Gather-8",
                [y, g.op("Abs-1", [g.op("Mod-1", [g.input(["N", "S"], "i32"), np.int32(rows)])]), np.int64(0)],
            )
        )
        return
    x = g.input(["N", "S", width if form == "transposed" else rows])
    product = g.op("MatMul-1", [x, y], {"transpose_b": "true" if form == "transposed" else "false"})
    if use == "two":
        g.result(
            g.op("MatMul-1", [g.op("ReLU-1", [x]), y], {"transpose_b": "true" if form == "transposed" else "false"})
        )
    g.result(product)
