"""Convolutions and products with following layers: bias, activations, residuals, scales."""

from __future__ import annotations

from typing import Any

import numpy as np

from irexec.model.graph.model import Value
from irexec.tools.conformance.builder import Graph
from irexec.tools.conformance.registry import pattern

ACTIVATIONS = (
    "none", "relu", "clamp", "prelu", "prelu above 1", "prelu of channels", "swish", "swish 1.7", "hswish", "sigmoid",
    "tanh", "elu", "elu 2", "gelu", "gelu tanh", "mish", "softplus", "hsigmoid", "abs", "square", "power", "round",
    "selu", "erf", "exp", "negative",
)  # fmt: skip
FURTHER = ("softsign", "sin", "cos", "atan", "asinh", "floor", "ceiling", "sign", "hardsigmoid", "sqrt", "log")
"""Activations that random chains of layers have only with `layers=all`."""


def activated(g: Graph, x: Value, name: str, channels: int, rank: int = 4) -> Value:
    """Return an activation of a value whose axis 1 has the channels."""
    number = g.number
    if name == "none":
        return x
    if name == "clamp":
        return g.op("Clamp-1", [x], {"min": g.pick("0", "-1", "0.5"), "max": g.pick("6", "1", "2.5")})
    if name.startswith("prelu"):
        if name.endswith("channels"):
            return g.op("PReLU-1", [x, g.array(channels)])
        return g.op("PReLU-1", [x, number(1.5 if name.endswith("1") else 0.1)])
    if name == "square":
        return g.op("Multiply-1", [x, x])
    if name == "power":
        return g.op("Power-1", [x, number(float(g.pick(2, 3, 1)))])
    if name == "swish 1.7":
        return g.op("Swish-4", [x, number(1.7)])
    if name.startswith("elu"):
        return g.op("Elu-1", [x], {"alpha": "2" if name.endswith("2") else "1"})
    if name.startswith("gelu"):
        return g.op("Gelu-7", [x], {"approximation_mode": "TANH" if name.endswith("tanh") else "ERF"})
    if name == "selu":
        return g.op("Selu-1", [x, number(1.7), number(1.05)])
    if name == "hardsigmoid":
        return g.op("HardSigmoid-1", [x, number(0.2), number(0.5)])
    if name in ("sqrt", "log"):
        return g.op("Sqrt-1" if name == "sqrt" else "Log-1", [g.op("Add-1", [g.op("Abs-1", [x]), number(0.5)])])
    if name == "round":
        return g.op("Round-5", [x], {"mode": g.pick("half_to_even", "half_away_from_zero")})
    types = {
        "relu": "ReLU-1", "swish": "Swish-4", "hswish": "HSwish-4", "sigmoid": "Sigmoid-1", "tanh": "Tanh-1",
        "mish": "Mish-4", "softplus": "SoftPlus-4", "hsigmoid": "HSigmoid-5", "abs": "Abs-1", "erf": "Erf-1",
        "exp": "Exp-1", "negative": "Negative-1", "softsign": "SoftSign-9", "sin": "Sin-1", "cos": "Cos-1",
        "atan": "Atan-1", "asinh": "Asinh-4", "floor": "Floor-1", "ceiling": "Ceiling-1", "sign": "Sign-1",
    }  # fmt: skip
    return g.op(types[name], [x])


def _made(g: Graph, form: str, array: np.ndarray) -> Any:
    """Return the weights of a layer, as a constant or computed by layers that a compiler may fold."""
    if form == "f16 convert":
        return g.op("Convert-1", [array.astype(np.float16)], {"destination_type": g.base.name})
    if form == "transposed":
        order = np.arange(array.ndim)[::-1].astype(np.int64).copy()
        return g.op("Transpose-1", [np.ascontiguousarray(array.T), order])
    if form == "computed":
        return g.input(array.shape)
    if form == "multiplied":
        return g.op("Multiply-1", [array, g.array(array.shape[0], *[1] * (array.ndim - 1), low=0.3)])
    if form == "reshaped":
        flat = array.reshape(array.shape[0], -1)
        return g.op("Reshape-1", [flat, _axes(*array.shape)], {"special_zero": "false"})
    return array


def _convolved(g: Graph, x: Value, channels: int, filters: int, window: str, form: str) -> Value:
    size = {"1x1": 1, "3x3": 3, "5x5": 5, "depthwise": 3, "grouped": 3}[window]
    stride, dilation = g.pick(1, 1, 2), g.pick(1, 1, 2) if size == 3 else 1
    attributes: dict[str, Any] = {
        "strides": f"{stride},{stride}",
        "dilations": f"{dilation},{dilation}",
        "pads_begin": "2,2",
        "pads_end": "2,2",
        "auto_pad": g.pick("explicit", "same_upper", "same_lower"),
    }
    if window in ("depthwise", "grouped"):
        groups = channels if window == "depthwise" else 2
        weights = g.array(groups, filters // groups, channels // groups, size, size, scale=0.3)
        return g.op("GroupConvolution-1", [x, _made(g, form, weights)], attributes)
    return g.op("Convolution-1", [x, _made(g, form, g.array(filters, channels, size, size, scale=0.3))], attributes)


@pattern(
    window=("3x3", "1x1", "5x5", "depthwise", "grouped"),
    bias=("channels", "none", "scalar", "tensor of one"),
    act=(*ACTIVATIONS, *FURTHER),
    residual=("none", "before", "after", "other broadcast", "input"),
    second=("none", "relu", "swish", "clamp"),
    weights=("constant", "f16 convert", "transposed", "computed", "multiplied", "reshaped"),
)
def convolution(g: Graph, *, window: str, bias: str, act: str, residual: str, second: str, weights: str) -> None:
    """Build a convolution followed by a bias, an activation, a residual and a second activation."""
    channels = g.channels(2, 4, 8, 16, 32)
    filters = channels if window == "depthwise" else g.channels(2, 4, 8, 16, 24)
    x = g.input(["N", channels, "H", "H"])
    y = _convolved(g, x, channels, filters, window, weights)
    if bias != "none":
        shape = {"channels": (1, filters, 1, 1), "scalar": (), "tensor of one": (1, 1, 1, 1)}[bias]
        y = g.op("Add-1", [y, g.array(*shape)])
    other: Any = None
    if residual == "input":
        y = g.op("Add-1", [y, g.input([1, filters, 1, 1])])
    elif residual != "none":
        z = g.input(["N", channels, "H", "H"]) if residual != "other broadcast" else None
        other = g.array(1, filters, 1, 1) if z is None else None
        if z is not None:
            other = g.op("Convolution-1", [z, g.array(filters, channels, 1, 1)], _UNIT)
            if y.type.shape.is_static and y.type.shape != other.type.shape:
                other = g.array(1, filters, 1, 1)
            elif not y.type.shape.is_static:
                other = g.op("ReduceMean-1", [other, _axes(2, 3)], {"keep_dims": "true"})
    if residual == "before" and other is not None:
        y = g.op("Add-1", [y, other])
    y = activated(g, y, act, filters)
    if residual in ("after", "other broadcast") and other is not None:
        y = g.op("Add-1", [y, other])
    g.result(activated(g, y, second, filters))


_UNIT = {"strides": "1,1", "dilations": "1,1", "pads_begin": "0,0", "pads_end": "0,0"}


def _axes(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


@pattern(
    form=("2d", "3d", "transposed", "both computed", "vector"),
    bias=("row", "none", "scalar", "column", "after activation"),
    act=(*ACTIVATIONS, *FURTHER),
    scale=("none", "scalar", "row", "computed"),
)
def product(g: Graph, *, form: str, bias: str, act: str, scale: str) -> None:
    """Build a MatMul followed by a bias, an activation and a scale."""
    inner, width = g.channels(1, 3, 8, 16, 17, 33, 64), g.channels(1, 2, 7, 8, 15, 16, 33)
    if form == "vector":
        y = g.op("MatMul-1", [g.input(["S", inner]), g.array(inner, scale=0.3)])
        g.result(activated(g, y, act if "channels" not in act else "relu", width, 1))
        return
    dims: list[int | str] = ["N", inner] if form == "2d" else ["N", "S", inner]
    x = g.input(dims)
    if form == "both computed":
        y = g.op("MatMul-1", [x, g.input(["N", width, inner])], {"transpose_b": "true"})
    elif form == "transposed":
        y = g.op("MatMul-1", [x, g.array(width, inner, scale=0.3)], {"transpose_b": "true"})
    else:
        y = g.op("MatMul-1", [x, g.array(inner, width, scale=0.3)])
    shapes = {
        "row": (width,),
        "scalar": (),
        "after activation": (width,),
        "column": (1, 1) if form == "2d" else (1, 1, 1),
    }
    if bias not in ("none", "after activation"):
        y = g.op("Add-1", [y, g.array(*shapes[bias])])
    y = activated(g, y, act if "channels" not in act else "relu", width, len(dims))
    if bias == "after activation":
        y = g.op("Add-1", [y, g.array(width)])
    if scale == "computed":
        y = g.op("Multiply-1", [y, g.input([width])])
    elif scale != "none":
        y = g.op("Multiply-1", [y, g.array(*(() if scale == "scalar" else (width,)))])
    g.result(y)


@pattern(
    length=("2", "3", "5", "8"),
    broadcast=("none", "channels", "rows", "ranks", "outer"),
    data=("plain", "tails", "ties"),
    layers=("usual", "all", "mixed"),
)
def elementwise(g: Graph, *, length: str, broadcast: str, data: str, layers: str) -> None:
    """Build a chain of elementwise layers with operands of other shapes."""
    channels = g.channels()
    x = g.input(["N", channels, "H", "S"], data=data)
    for _ in range(int(length)):
        if layers == "mixed" and g.rng.random() < 0.4:
            x = _mixed(g, x, channels)
            continue
        if g.rng.random() < 0.5:
            x = activated(g, x, str(g.pick(*ACTIVATIONS[:-2], *(FURTHER if layers != "usual" else ()))), channels)
            continue
        operands: dict[str, Any] = {"none": x, "channels": (1, channels, 1, 1), "rows": (1, 1, 1, 1), "ranks": (1,)}
        operand = operands.get(broadcast)
        if broadcast == "outer":
            operand = g.input([channels, 1, 1])
        elif isinstance(operand, tuple):
            operand = g.array(*operand)
        kind = str(g.pick("Add-1", "Multiply-1", "Subtract-1", "Maximum-1", "Minimum-1", "SquaredDifference-1"))
        pair = [x, operand] if g.rng.random() < 0.6 else [operand, x]
        x = g.op(kind, pair)
    g.result(x)


def _mixed(g: Graph, x: Value, channels: int) -> Value:
    """Return an elementwise layer that compares, converts or chooses."""
    kind = g.pick("Greater-1", "LessEqual-1", "NotEqual-1")
    if g.rng.random() < 0.3:
        compared = g.op("LogicalNot-1", [g.op("IsNaN-10", [x])])
    else:
        compared = g.op(str(kind), [x, g.pick(g.number(0.2137), g.array(1, channels, 1, 1))])
    if g.rng.random() < 0.3:
        return g.op("Multiply-1", [x, g.op("Convert-1", [compared], {"destination_type": g.base.name})])
    return g.op("Select-1", [compared, x, g.pick(g.number(-0.5), g.array(1, channels, 1, 1))])


@pattern(
    pool=("max", "avg", "avg exclude", "convolution"),
    pad=("0", "inf", "1.5", "edge", "reflect", "channels"),
    own=("0", "1"),
)
def padding(g: Graph, *, pool: str, pad: str, own: str) -> None:
    """Build a Pad before a pooling or convolution. A compiler may merge the Pad only if it pads with the right value,
    and never along channels.
    """
    import numpy as np

    channels = g.channels(1, 2, 4, 8)
    x = g.input(["N", channels, "H", "H"])
    begin = np.array([0, 1 if pad == "channels" else 0, 1, g.pick(0, 1, 2)], np.int64)
    end = np.array([0, 0, g.pick(0, 1), 1], np.int64)
    mode = pad if pad in ("edge", "reflect") else "constant"
    value = -np.inf if pad == "inf" else 1.5 if pad == "1.5" else 0.0
    y = g.op("Pad-1", [x, begin, end, *([g.number(value)] if mode == "constant" else [])], {"pad_mode": mode})
    channels += int(begin[1])
    window = {
        "kernel": "3,3",
        "strides": g.pick("1,1", "2,2"),
        "pads_begin": f"{own},{own}",
        "pads_end": f"{own},{own}",
    }
    window |= {"rounding_type": g.pick("floor", "ceil"), "auto_pad": "explicit"}
    if pool == "max":
        y = g.op("MaxPool-1", [y], window)
    elif pool.startswith("avg"):
        y = g.op("AvgPool-1", [y], window | {"exclude-pad": "true" if pool.endswith("exclude") else "false"})
    else:
        attributes = {k: v for k, v in window.items() if k in ("strides", "pads_begin", "pads_end")}
        y = g.op("Convolution-1", [y, g.array(4, channels, 3, 3, scale=0.3)], attributes | {"dilations": "1,1"})
    g.result(y)
