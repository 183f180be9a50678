"""Layers that runtimes fuse with their neighbours: kernels with following layers, and quantized layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from irexec.core.types import F32
from irexec.model.graph.model import Value
from irexec.tools.conformance.builder import Graph
from irexec.tools.conformance.graph_patterns.layers import ACTIVATIONS, FURTHER, activated
from irexec.tools.conformance.registry import pattern

_UNIT = {"strides": "1,1", "dilations": "1,1", "pads_begin": "0,0", "pads_end": "0,0"}
_POOL = {"kernel": "2,2", "strides": "2,2", "pads_begin": "0,0", "pads_end": "0,0", "rounding_type": "ceil"}


def _axes(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


@pattern(
    kernel=("interpolate", "mvn", "mvn across", "normalize", "average", "maximum", "reduce", "softmax", "transposed",
            "deconvolution", "grouped deconvolution", "pad", "depth to space", "space to depth", "group norm",
            "batch norm", "gather", "select", "convolution", "matmul", "grid sample", "lrn", "roll", "cumsum",
            "interpolate 1.5", "adaptive"),
    layout=("none", "channels last", "channels last before"),
    follow=("add of channels", "none", "multiply of channels", "add and multiply", "scalar", "tensor", "quantise",
            "quantise channels", "subtract from", "divide", "power", "select"),
    act=(*ACTIVATIONS, *FURTHER),
    second=("none", "relu", "prelu of channels", "clamp", "add of channels", "softsign"),
)  # fmt: skip
def followed(g: Graph, *, kernel: str, layout: str, follow: str, act: str, second: str) -> None:
    """Build one layer, possibly in another layout, and elementwise layers after it."""
    channels = g.channels(2, 4, 8, 16, 17, 32)
    last = layout != "none"
    x = g.input(["N", "H", 6, channels] if last else ["N", channels, "H", 6])
    if last:
        x = g.op("Transpose-1", [x, _axes(0, 3, 1, 2)])
    y, channels = _kernel(g, x, kernel, channels)
    y = _operand(g, y, follow, channels)
    y = activated(g, y, act, channels)
    y = _operand(g, y, second, channels) if second.startswith("add") else activated(g, y, second, channels)
    g.result(g.op("Transpose-1", [y, _axes(0, 2, 3, 1)]) if layout == "channels last" else y)


def _kernel(g: Graph, x: Value, kernel: str, channels: int) -> tuple[Value, int]:
    """Return the result of a layer of four axes, and its channels."""
    if kernel.startswith("interpolate"):
        mode = g.pick("nearest", "linear_onnx", "linear", "cubic")
        attributes = {"mode": mode, "shape_calculation_mode": "scales", "nearest_mode": "floor"}
        attributes |= {"coordinate_transformation_mode": g.pick("half_pixel", "asymmetric", "align_corners")}
        scale = 1.5 if kernel.endswith("1.5") else 2.0
        return g.op("Interpolate-11", [x, np.array([scale, scale], np.float32), _axes(2, 3)], attributes), channels
    if kernel.startswith("mvn"):
        axes = _axes(1, 2, 3) if kernel.endswith("across") else _axes(2, 3)
        attributes = {"eps": "1e-3", "eps_mode": g.pick("inside_sqrt", "outside_sqrt"), "normalize_variance": "true"}
        return g.op("MVN-6", [x, axes], attributes), channels
    if kernel == "normalize":
        return g.op(
            "NormalizeL2-1", [x, g.pick(_axes(1), _axes(1, 2, 3))], {"eps": "1e-3", "eps_mode": "add"}
        ), channels
    if kernel == "average":
        return g.op("AvgPool-1", [x], _POOL | {"exclude-pad": g.pick("true", "false")}), channels
    if kernel == "maximum":
        return g.op("MaxPool-1", [x], _POOL), channels
    if kernel == "reduce":
        kind = g.pick("ReduceMean-1", "ReduceMax-1", "ReduceSum-1", "ReduceL2-4", "ReduceMin-1", "ReduceL1-4")
        return g.op(kind, [x, g.pick(_axes(2, 3), _axes(2), _axes(0))], {"keep_dims": "true"}), channels
    if kernel == "softmax":
        return g.op("SoftMax-8", [x], {"axis": g.pick("1", "2", "3")}), channels
    if kernel == "transposed":
        y = g.op("Transpose-1", [x, _axes(0, 1, 3, 2)])
        return y, channels
    if kernel.endswith("deconvolution"):
        attributes = {"strides": "2,2", "dilations": "1,1", "pads_begin": "1,1", "pads_end": "1,1"}
        if kernel.startswith("grouped"):
            return g.op("GroupConvolutionBackpropData-1", [x, g.array(channels, 1, 1, 3, 3)], attributes), channels
        filters = g.channels(2, 4, 8)
        return g.op("ConvolutionBackpropData-1", [x, g.array(channels, filters, 3, 3, scale=0.3)], attributes), filters
    if kernel == "convolution":
        filters = g.channels(2, 8, 16)
        return g.op("Convolution-1", [x, g.array(filters, channels, 1, 1, scale=0.3)], _UNIT), filters
    if kernel == "pad":
        return g.op(
            "Pad-12", [x, _axes(0, 0, 1, 0), _axes(0, 0, 1, 2), g.number(1.5)], {"pad_mode": "constant"}
        ), channels
    return _other_kernel(g, x, kernel, channels)


def _other_kernel(g: Graph, x: Value, kernel: str, channels: int) -> tuple[Value, int]:
    if kernel == "depth to space" and channels % 4 == 0:
        mode = g.pick("blocks_first", "depth_first")
        return g.op("DepthToSpace-1", [x], {"mode": mode, "block_size": "2"}), channels // 4
    if kernel == "space to depth":
        even = g.op("Concat-1", [x, x], {"axis": "2"})
        return g.op("SpaceToDepth-1", [even], {"mode": "blocks_first", "block_size": "2"}), channels * 4
    if kernel == "group norm" and channels % 2 == 0:
        scale, bias = g.array(channels, low=0.3), g.array(channels)
        return g.op("GroupNormalization-12", [x, scale, bias], {"num_groups": "2", "epsilon": "1e-3"}), channels
    if kernel == "batch norm":
        arrays = [g.array(channels, low=0.3) if i in (0, 3) else g.array(channels) for i in range(4)]
        return g.op("BatchNormInference-5", [x, *arrays], {"epsilon": "1e-3"}), channels
    if kernel == "gather":
        order = np.arange(channels)[::-1].astype(np.int64).copy()
        return g.op("Gather-8", [x, order, np.int64(1)]), channels
    if kernel == "select":
        return g.op("Select-1", [g.op("Greater-1", [x, g.number(0.2)]), x, g.number(-0.5)]), channels
    if kernel == "grid sample":
        grid = g.op("Tanh-1", [g.input(["N", 3, 5, 2])])
        attributes = {"align_corners": g.pick("true", "false"), "mode": g.pick("bilinear", "nearest", "bicubic")}
        return g.op("GridSample-9", [x, grid], attributes | {"padding_mode": g.pick("zeros", "border")}), channels
    if kernel == "lrn":
        attributes = {"alpha": "0.1", "beta": "0.75", "bias": "1.5", "size": "3"}
        return g.op("LRN-1", [x, g.pick(_axes(1), _axes(2, 3))], attributes), channels
    if kernel == "roll":
        return g.op("Roll-7", [x, _axes(2, -1), _axes(1, 3)]), channels
    if kernel == "cumsum":
        return g.op("CumSum-3", [x, np.int64(1)], {"exclusive": g.pick("true", "false")}), channels
    if kernel == "adaptive":
        return g.op("AdaptiveAvgPool-8", [x, _axes(2, 3)]), channels
    y = g.op("MatMul-1", [x, g.array(6, 5, scale=0.3)])
    return y, channels


def _operand(g: Graph, y: Value, follow: str, channels: int) -> Value:
    """Return an elementwise layer with a further operand."""
    row = (1, channels, 1, 1)
    if follow in ("none",):
        return y
    if follow == "add of channels":
        return g.op("Add-1", [y, g.array(*row)])
    if follow == "multiply of channels":
        return g.op("Multiply-1", [g.array(*row), y])
    if follow == "add and multiply":
        return g.op("Add-1", [g.op("Multiply-1", [y, g.array(*row)]), g.array(channels, 1, 1)])
    if follow == "scalar":
        return g.op("Multiply-1", [y, g.number(-1.5)])
    if follow == "tensor":
        return g.op("Add-1", [y, g.input([1, channels, 1, 1])])
    if follow.startswith("quantise"):
        shape = row if follow.endswith("channels") else ()
        high = g.array(*shape, low=1.7, scale=0.5, kind="f32").astype(g.base.dtype)
        return g.op("FakeQuantize-1", [y, -high, high, -high, high], {"levels": g.pick("256", "255", "16")})
    if follow == "subtract from":
        return g.op("Subtract-1", [g.array(*row), y])
    if follow == "divide":
        return g.op("Divide-1", [y, g.array(*row, low=0.5)])
    if follow == "power":
        return g.op("Power-1", [g.op("Abs-1", [y]), g.number(float(g.pick(0.5, 1.5, 2, 3)))])
    return g.op("Select-1", [g.op("Less-1", [y, g.array(*row)]), g.number(0.5), y])


@pattern(
    kernel=("reduce", "matmul", "dense", "softmax", "norm", "convolution", "pool", "cumsum", "transpose", "gather",
            "elementwise", "concat"),
    rank=("3", "2", "4", "5", "1"),
    follow=("add", "multiply", "multiply and add", "subtract from", "divide", "maximum", "prelu", "quantise", "select"),
    operand=("channels", "last", "scalar", "fixed", "ones", "computed"),
    act=("none", "relu", "sigmoid", "swish", "clamp", "gelu"),
)  # fmt: skip
def trailed(g: Graph, *, kernel: str, rank: str, follow: str, operand: str, act: str) -> None:
    """Build one layer of any rank along any axes, then elementwise layers with operands of fewer axes or extent 1."""
    channels, count = g.channels(3, 4, 8, 16, 17), int(rank)
    dims: list[int | str] = [channels] if count == 1 else ["N", channels, "S", 4]
    x = g.input(["N", channels, 4, "S", 3] if count == 5 else dims[:count])
    y = _of_any_rank(g, x, kernel)
    y = _with_operand(g, y, follow, operand)
    y = activated(g, y, act, channels)
    g.result(_with_operand(g, y, "add", operand) if g.pick(True, False) else y)


def _of_any_rank(g: Graph, x: Value, kernel: str) -> Value:
    count = x.type.rank or 1
    axis, last = int(g.pick(*range(count))), x.type.shape[count - 1]
    if kernel == "reduce":
        kind = g.pick("ReduceSum-1", "ReduceMean-1", "ReduceMax-1", "ReduceMin-1", "ReduceL1-4", "ReduceL2-4")
        axes = _axes(*{axis, int(g.pick(axis, axis, *range(count)))})
        return g.op(kind, [x, g.pick(axes, _axes(-1))], {"keep_dims": g.pick("true", "false", "false")})
    if kernel in ("matmul", "dense"):
        if count < 2 or not last.is_static:
            raise ValueError("the weights need a fixed number of columns")
        if kernel == "matmul":
            return g.op("MatMul-1", [x, x], {"transpose_b": "true"})
        return g.op("MatMul-1", [x, g.array(5, last.value, scale=0.4)], {"transpose_b": "true"})
    if kernel == "softmax":
        return g.op(str(g.pick("SoftMax-8", "LogSoftmax-5")), [x], {"axis": str(axis)})
    if kernel == "norm":
        if g.pick(True, False):
            return g.op("NormalizeL2-1", [x, _axes(axis)], {"eps": "1e-3", "eps_mode": g.pick("add", "max")})
        attributes = {"eps": "1e-3", "eps_mode": "inside_sqrt", "normalize_variance": g.pick("true", "false")}
        return g.op("MVN-6", [x, _axes(axis)], attributes)
    if kernel in ("convolution", "pool"):
        ones = ",".join(["1"] * (count - 2))
        window = {"strides": ones, "pads_begin": ones, "pads_end": ones}
        if kernel == "pool":
            three = {"kernel": ",".join(["3"] * (count - 2))}
            if g.pick(True, False):
                return g.op("MaxPool-1", [x], window | three)
            return g.op("AvgPool-1", [x], window | three | {"exclude-pad": g.pick("true", "false")})
        shape = (g.channels(2, 8, 16), x.type.shape[1].value, *[3] * (count - 2))
        return g.op("Convolution-1", [x, g.array(*shape, scale=0.2)], window | {"dilations": ones})
    if kernel == "cumsum":
        return g.op("CumSum-3", [x, np.int64(axis)], {"reverse": g.pick("true", "false")})
    if kernel == "transpose":
        return g.op("Transpose-1", [x, g.rng.permutation(count).astype(np.int64)])
    if kernel == "gather":
        return g.op("Gather-8", [x, g.pick(_axes(0, -1, 0), np.array(-1, np.int64)), np.int64(axis)])
    if kernel == "concat":
        return g.op("Concat-1", [x, x], {"axis": str(axis)})
    return g.op("Tanh-1", [x])


def _with_operand(g: Graph, y: Value, follow: str, operand: str) -> Value:
    dims = [dim.value if dim.is_static else 1 for dim in y.type.shape]
    if operand == "channels":
        dims = [n if i == min(1, len(dims) - 1) else 1 for i, n in enumerate(dims)][int(g.pick(0, 1)) :]
    elif operand == "last":
        dims = dims[-1:]
    elif operand in ("scalar", "ones"):
        dims = [1] * len(dims) if operand == "ones" else []

    def other(low: float | None = None) -> Value | np.ndarray:
        return g.input(dims, low=low) if operand == "computed" else g.array(*dims, low=low)

    if follow == "quantise":
        high = g.array(*dims, low=1.7, scale=0.5)
        return g.op("FakeQuantize-1", [y, -high, high, -high, high], {"levels": g.pick("256", "255", "16")})
    if follow == "select":
        return g.op("Select-1", [g.op("Less-1", [y, other()]), g.number(0.5), y])
    if follow == "multiply and add":
        y, follow = g.op("Multiply-1", [y, other()]), "add"
    kinds = {"subtract from": "Subtract-1", "prelu": "PReLU-1"}
    kind = kinds.get(follow, f"{follow.title()}-1")
    pair = [y, other(low=0.5) if follow == "divide" else other()]
    return g.op(kind, pair[::-1] if follow == "subtract from" else pair)


@pattern(
    before=("relu", "none", "clamp", "negative scale", "scale", "scale of channels", "add", "subtract", "divide",
            "scale and add", "transpose", "reshape", "concat", "squeeze", "scale of rows"),
    levels=("256", "255", "16", "2"),
    ranges=("symmetric", "channels", "unsigned", "shifted", "other output", "reversed output"),
    after=("none", "scale", "negative scale", "add of channels", "relu", "convert", "again", "transpose"),
)  # fmt: skip
def into_quantise(g: Graph, *, before: str, levels: str, ranges: str, after: str) -> None:
    """Build a FakeQuantize with layers before and after that could be merged with it."""
    if g.base is not F32:
        raise ValueError("f32 only: f16 and bf16 values often lie halfway between two levels of the quantizer")
    channels = g.channels(2, 3, 8, 16)
    row = (1, channels, 1, 1)
    y = _before(g, g.input(["N", channels, "S", 4]), before, row)
    shape = row if ranges == "channels" else ()
    high = g.array(*shape, low=1.7, scale=0.5)
    low = -high * np.float32({"unsigned": 0.0, "shifted": -0.21}.get(ranges, 0.93))
    out_low, out_high = {"other output": (low * 0.4, high * 3), "reversed output": (high, low)}.get(ranges, (low, high))
    arrays = [np.asarray(a, np.float32) for a in (low, high, out_low, out_high)]
    y = g.op("FakeQuantize-1", [y, *arrays], {"levels": levels})
    if after == "convert":
        y = g.op("Convert-1", [g.op("Round-5", [g.op("Multiply-1", [y, g.number(3.3)])])], {"destination_type": "i32"})
    elif after == "again":
        y = g.op("FakeQuantize-1", [y, *arrays], {"levels": levels})
    elif after == "add of channels":
        y = g.op("Add-1", [y, g.array(*row)])
    elif after == "transpose":
        y = g.op("ReLU-1", [g.op("Transpose-1", [y, _axes(0, 2, 3, 1)])])
    elif after == "relu":
        y = g.op("ReLU-1", [y])
    elif after != "none":
        y = g.op("Multiply-1", [y, g.number(-0.7 if after.startswith("neg") else 0.7)])
    g.result(y)


def _before(g: Graph, x: Value, before: str, row: tuple[int, ...]) -> Value:
    number = g.number
    made: dict[str, Any] = {
        "relu": lambda: g.op("ReLU-1", [x]),
        "clamp": lambda: g.op("Clamp-1", [x], {"min": "-0.7", "max": "1.1"}),
        "negative scale": lambda: g.op("Multiply-1", [x, number(-1.3)]),
        "scale": lambda: g.op("Multiply-1", [x, number(1.3)]),
        "scale of channels": lambda: g.op("Multiply-1", [x, g.array(*row)]),
        "add": lambda: g.op("Add-1", [x, g.array(*row)]),
        # A constant with more elements than the value that it scales.
        "scale of rows": lambda: g.op(
            "Multiply-1", [g.op("ReduceMax-1", [x, _axes(0)], {"keep_dims": "true"}), g.array(2, 1, 1, 1)]
        ),
        "subtract": lambda: g.op("Subtract-1", [number(0.7), x]),
        "divide": lambda: g.op("Divide-1", [x, g.array(*row, low=0.5)]),
        "scale and add": lambda: g.op("Add-1", [g.op("Multiply-1", [x, g.array(*row)]), g.array(*row)]),
        "transpose": lambda: g.op("Transpose-1", [g.op("Transpose-1", [x, _axes(0, 2, 3, 1)]), _axes(0, 3, 1, 2)]),
        "reshape": lambda: g.op("Reshape-1", [x, g.op("ShapeOf-3", [x])], {"special_zero": "false"}),
        "concat": lambda: g.op("Concat-1", [x, g.op("ReLU-1", [x])], {"axis": "2"}),
        "squeeze": lambda: g.op("Squeeze-1", [g.op("Unsqueeze-1", [x, _axes(1)]), _axes(1)]),
    }
    return x if before == "none" else made[before]()


@pattern(
    kind=("u8", "i8"),
    zero=("scalar", "none", "channels", "other"),
    layer=("matmul", "convolution", "none", "add", "pool", "reshape"),
    weights=("i8", "float", "i8 with zero point"),
    rounding=("half_to_even", "half_away_from_zero"),
    near=("none", "wider clamp", "scales differ", "read between"),
)
def quantise_dequantise(g: Graph, *, kind: str, zero: str, layer: str, weights: str, rounding: str, near: str) -> None:
    """Build values that are quantized and dequantized as exporters write it, and a layer that reads them."""
    if g.base is not F32:
        raise ValueError("f32 only: f16 and bf16 values often lie halfway between two levels of the quantizer")
    channels, filters = g.channels(2, 4, 8, 16), g.channels(2, 4, 8)
    rank = 2 if layer == "matmul" else 4
    x = g.input(["N", channels] if rank == 2 else ["N", channels, "H", 5])
    point = {"none": 0.0, "scalar": 7.0, "channels": 7.0, "other": -3.0 if kind == "i8" else 3.0}[zero]
    low, high = (0.0, 255.0) if kind == "u8" else (-128.0, 127.0)
    scale = 0.0372
    y = g.op("Round-5", [g.op("Divide-1", [x, g.number(scale)])], {"mode": rounding})
    y = g.op("Add-1", [y, g.number(point)]) if point else y
    if near == "read between":
        g.result(y)
    limit = {"min": str(low), "max": str(high - 100 if near == "wider clamp" else high)}
    y = g.op("Convert-1", [g.op("Clamp-1", [y], limit)], {"destination_type": kind})
    y = g.op("Convert-1", [y], {"destination_type": "f32"})
    if point:
        shape = (1, channels, *[1] * (rank - 2)) if zero == "channels" else ()
        y = g.op("Subtract-1", [y, np.full(shape, point, np.float32)])
    y = g.op("Multiply-1", [y, g.number(scale * 1.25 if near == "scales differ" else scale)])
    if layer == "matmul":
        y = g.op("MatMul-1", [y, _weights(g, weights, (filters, channels))], {"transpose_b": "true"})
    elif layer == "convolution":
        y = g.op("Convolution-1", [y, _weights(g, weights, (filters, channels, 1, 1))], _UNIT)
    elif layer == "add":
        y = g.op("Add-1", [y, g.op("ReLU-1", [y])])
    elif layer == "pool":
        y = g.op("MaxPool-1", [y], _POOL)
    elif layer == "reshape":
        y = g.op("Reshape-1", [y, _axes(0, -1)], {"special_zero": "true"})
    g.result(y)


def _weights(g: Graph, form: str, shape: tuple[int, ...]) -> Value | np.ndarray:
    if form == "float":
        return g.array(*shape, scale=0.3)
    one = (shape[0], *[1] * (len(shape) - 1))
    y = g.op("Convert-1", [g.integers(-100, 100, *shape, kind="i8")], {"destination_type": "f32"})
    if form.endswith("point"):
        points = g.integers(-5, 6, *one, kind="i8")
        y = g.op("Subtract-1", [y, g.op("Convert-1", [points], {"destination_type": "f32"})])
    return g.op("Multiply-1", [y, g.array(*one, low=0.002, scale=0.002)])


@pattern(
    weights=("f32", "i8", "f16"),
    form=("three products", "one product split", "two products", "of the same weights"),
    near=("none", "one with bias", "other widths", "other input", "not transposed", "read between"),
    heads=("1", "2", "4"),
)
def qkv(g: Graph, *, weights: str, form: str, near: str, heads: str) -> None:
    """Build queries, keys and values: products that share their input, and attention after them."""
    count, width = int(heads), 16
    x = g.input(["N", "S", width])
    sizes = [width, width, width if near != "other widths" else 2 * width]

    def weight(size: int) -> Any:
        shape = (width, size) if near == "not transposed" else (size, width)
        if weights == "i8":
            return _weights(g, "i8", shape)
        array = g.array(*shape, scale=0.3, kind="f16" if weights == "f16" else "f32")
        return g.op("Convert-1", [array], {"destination_type": g.base.name}) if weights == "f16" else array

    def product(value: Value, matrix: Any) -> Value:
        return g.op("MatMul-1", [value, matrix], {"transpose_b": "false" if near == "not transposed" else "true"})

    if form == "one product split":
        parts = g.ops("VariadicSplit-1", [product(x, weight(sum(sizes))), np.int64(-1), _axes(*sizes)])
    else:
        shared = weight(width)
        others = [shared if form == "of the same weights" and size == width else weight(size) for size in sizes]
        source = g.op("ReLU-1", [x]) if near == "other input" else x
        parts = [product(source if i == 2 else x, matrix) for i, matrix in enumerate(others)]
        if form == "two products":
            parts[1] = parts[0]
    if near == "one with bias":
        parts[1] = g.op("Add-1", [parts[1], g.array(width)])
    if near == "read between":
        g.result(parts[1])

    def split(value: Value, size: int) -> Value:
        shaped = g.op("Reshape-1", [value, _axes(0, 0, count, size // count)], {"special_zero": "true"})
        return g.op("Transpose-1", [shaped, _axes(0, 2, 1, 3)])

    q, k, v = (split(part, size) for part, size in zip(parts, sizes, strict=True))
    scores = g.op("Multiply-1", [g.op("MatMul-1", [q, k], {"transpose_b": "true"}), g.number(0.3)])
    y = g.op("MatMul-1", [g.op("SoftMax-8", [scores], {"axis": "-1"}), v])
    g.result(
        g.op("Reshape-1", [g.op("Transpose-1", [y, _axes(0, 2, 1, 3)]), _axes(0, 0, -1)], {"special_zero": "true"})
    )
