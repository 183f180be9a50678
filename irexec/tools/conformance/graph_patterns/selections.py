"""Shapes that depend on values, joined values that are reduced, and images that are prepared for the first layer."""

from __future__ import annotations

from typing import Any

import numpy as np

from irexec.core.types import F32
from irexec.model.graph.model import Value
from irexec.tools.conformance.builder import Graph
from irexec.tools.conformance.registry import pattern

_PLAIN = {"special_zero": "false"}


def _axes(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


@pattern(
    source=("non zero", "boxes", "unique", "range", "mask"),
    reader=("gather", "elements", "scatter", "reduce", "reshape", "none"),
    then=("none", "relu", "concat", "transpose", "matmul", "softmax", "slice", "shape"),
    readers=("one", "two"),
)
def selected(g: Graph, *, source: str, reader: str, then: str, readers: str) -> None:
    """Build layers whose number of results depends on values, and layers that read their results."""
    x = g.input(["S", 4])
    indices = _indices(g, x, source)
    y = _selection(g, x, indices, reader)
    ends = [_after(g, y, then)]
    if readers == "two":
        ends.append(g.op("ReduceSum-1", [indices, _axes(0)], {"keep_dims": "true"}))
    g.result(*ends)


def _indices(g: Graph, x: Value, source: str) -> Value:
    """Return the indices [n] of some rows."""
    row = g.op("ReduceMax-1", [x, _axes(1)], {"keep_dims": "false"})
    chosen = g.op("Greater-1", [row, g.number(0.5)])
    if source in ("non zero", "mask"):
        given = chosen if source == "non zero" else g.op("Convert-1", [chosen], {"destination_type": "i32"})
        return g.op("Reshape-1", [g.op("NonZero-3", [given], {"output_type": "i64"}), _axes(-1)], _PLAIN)
    if source == "unique":
        count = g.op("Convert-1", [g.op("Clamp-1", [row], {"min": "0", "max": "0.9"})], {"destination_type": "i64"})
        return g.op("Unique-10", [count], {"sorted": "true"})
    if source == "range":
        wanted = g.op("Convert-1", [chosen], {"destination_type": "i64"})
        count = g.op("ReduceSum-1", [wanted, _axes(0)], {"keep_dims": "false"})
        return g.op("Range-4", [np.int64(0), count, np.int64(1)], {"output_type": "i64"})
    corners = g.op("Abs-1", [x])
    boxes = g.op("Unsqueeze-1", [g.op("CumSum-3", [corners, np.int64(1)]), _axes(0)])
    scores = g.op("Reshape-1", [g.op("Sigmoid-1", [row]), _axes(1, 1, -1)], _PLAIN)
    limits = [np.array(3, np.int64), np.array(0.5, g.base.dtype), np.array(0.55, g.base.dtype)]
    found = g.op("NonMaxSuppression-9", [boxes, scores, *limits], {"box_encoding": "corner"})
    return g.op("Gather-8", [found, np.int64(2), np.int64(1)])


def _selection(g: Graph, x: Value, indices: Value, reader: str) -> Value:
    """Return rows [n, 4] of x, or values computed from them."""
    column = g.op("Reshape-1", [indices, _axes(-1, 1)], _PLAIN)
    if reader == "elements":
        return g.op("GatherND-8", [x, column], {"batch_dims": "0"})
    rows = g.op("Gather-8", [x, indices, np.int64(0)])
    if reader == "scatter":
        return g.op("ScatterNDUpdate-4", [x, column, g.op("Multiply-1", [rows, g.number(2.0)])])
    if reader == "reduce":
        return g.op("Subtract-1", [x, g.op("ReduceSum-1", [rows, _axes(0)], {"keep_dims": "true"})])
    if reader == "reshape":
        return g.op("Reshape-1", [g.op("Reshape-1", [rows, _axes(-1, 2)], _PLAIN), _axes(-1, 4)], _PLAIN)
    return rows if reader == "gather" else g.op("Convert-1", [column], {"destination_type": g.base.name})


def _after(g: Graph, y: Value, then: str) -> Value:
    made: dict[str, Any] = {
        "none": lambda: y,
        "relu": lambda: g.op("ReLU-1", [g.op("Subtract-1", [y, g.number(0.25)])]),
        "concat": lambda: g.op("Concat-1", [y, g.array(2, y.type.shape[1].value), y], {"axis": "0"}),
        "transpose": lambda: g.op("Transpose-1", [y, _axes(1, 0)]),
        "matmul": lambda: g.op("MatMul-1", [y, g.array(y.type.shape[1].value, 3, scale=0.4)]),
        "softmax": lambda: g.op("SoftMax-8", [y], {"axis": "0"}),
        "slice": lambda: g.op("Slice-8", [y, _axes(0), _axes(1), _axes(1), _axes(0)]),
        "shape": lambda: g.op("ShapeOf-3", [y], {"output_type": "i64"}),
    }
    found: Value = made[then]()
    return found


@pattern(
    reduction=("ReduceMax-1", "ReduceMin-1", "ReduceSum-1", "ReduceMean-1", "ReduceProd-1"),
    count=("2", "3", "1"),
    made=("unsqueeze", "reshape", "none"),
    axis=("0", "1", "last"),
    near=("none", "other axis", "two axes", "keep_dims", "one twice", "other axis of one"),
    kind=("f32", "i32", "u8", "boolean"),
    after=("none", "relu", "read between", "transpose"),
    between=("none", "unsqueeze", "reshape"),
)
def stacked(
    g: Graph, *, reduction: str, count: str, made: str, axis: str, near: str, kind: str, after: str, between: str
) -> None:
    """Build values joined along a new axis, which is reduced: the result is, or almost is, their maximum or sum."""
    base = g.base.name if kind == "f32" else kind
    values = [g.input(["N", 3, 1], base) for _ in range(int(count))]
    if near == "one twice":
        values.append(values[0])
    place = {"0": 0, "1": 1, "last": 3 if made != "none" else 2}[axis]
    if made != "none":
        values = [_raised(g, x, place, made) for x in values]
    y = g.op("Concat-1", values, {"axis": str(place)})
    if after == "read between":
        g.result(y)
    rank = 4 if made != "none" else 3
    if between != "none":
        # A further axis at the front.
        y = _raised(g, y, 0, "unsqueeze") if between == "unsqueeze" else _flat(g, y)
        rank, place = rank + 1, place + 1
    along = (place + 1) % rank if near == "other axis" else place
    axes = _axes(along, (along + 1) % rank) if near == "two axes" else _axes(along)
    keep = {"keep_dims": "true" if near == "keep_dims" else "false"}
    if kind == "boolean":
        reduction = "ReduceLogicalAnd-1" if reduction in ("ReduceMin-1", "ReduceProd-1") else "ReduceLogicalOr-1"
    y = g.op(reduction, [y, axes], keep)
    if after == "relu" and kind != "boolean":
        y = g.op("Maximum-1", [y, g.number(1, base)])
    elif after == "transpose":
        y = g.op("Transpose-1", [y, np.arange(y.type.rank or 2)[::-1].astype(np.int64).copy()])
    g.result(y)


def _flat(g: Graph, y: Value) -> Value:
    """Return a value with a further first axis, by a Reshape to a computed shape."""
    shape = g.op("Concat-1", [_axes(1), g.op("ShapeOf-3", [y], {"output_type": "i64"})], {"axis": "0"})
    return g.op("Reshape-1", [y, shape], _PLAIN)


def _raised(g: Graph, x: Value, place: int, made: str) -> Value:
    """Return a value with a further axis of one element."""
    if made == "unsqueeze":
        return g.op("Unsqueeze-1", [x, _axes(place)])
    target = [0, 3, 1]
    target.insert(place, 1)
    if place == 0:
        target[1] = -1
    return g.op("Reshape-1", [x, _axes(*target)], {"special_zero": "true" if place else "false"})


@pattern(
    kind=("u8", "f32", "i8", "f16"),
    steps=("subtract then divide", "multiply then add", "divide then subtract", "subtract then multiply"),
    scale=("channels", "scalar", "all"),
    layout=("last to first", "first", "last", "reversed channels"),
    layer=("convolution", "none", "pool", "grouped", "interpolate"),
    near=("none", "read between", "another reader", "convert back", "rounded"),
)
def prepared(g: Graph, *, kind: str, steps: str, scale: str, layout: str, layer: str, near: str) -> None:
    """Build an image that is converted, normalized and transposed before the first layer, as preprocessing does."""
    if near in ("convert back", "rounded") and g.base is not F32:
        raise ValueError("16-bit values are too often halfway between two integers")
    first = layout in ("first", "reversed channels")
    x = g.input(["N", 3, "H", 6] if first else ["N", "H", 6, 3], kind)
    y = g.op("Convert-1", [x], {"destination_type": g.base.name}) if kind != g.base.name else x
    row = (1, 3, 1, 1) if first else (1, 1, 1, 3)
    shape: tuple[int, ...] = {"channels": row, "scalar": (), "all": (1, 1, 1, 1)}[scale]
    for word in steps.split(" then "):
        y = g.op(f"{word.title()}-1", [y, g.array(*shape, low=0.5)])
        if near == "read between" and word == steps.split(" ")[0]:
            g.result(y)
    if near == "rounded":
        y = g.op("Round-5", [y], {"mode": "half_to_even"})
    elif near == "convert back":
        y = g.op("Convert-1", [g.op("Convert-1", [y], {"destination_type": "i32"})], {"destination_type": g.base.name})
    if layout == "last to first":
        y = g.op("Transpose-1", [y, _axes(0, 3, 1, 2)])
    elif layout == "reversed channels":
        y = g.op("Gather-8", [y, _axes(2, 1, 0), np.int64(1)])
    if near == "another reader":
        g.result(g.op("ReduceMean-1", [y, _axes(2)], {"keep_dims": "false"}))
    g.result(y if layout == "last" else _layer(g, y, layer))


def _layer(g: Graph, y: Value, layer: str) -> Value:
    window = {"strides": "1,1", "dilations": "1,1", "pads_begin": "1,1", "pads_end": "1,1"}
    if layer == "convolution":
        return g.op("Convolution-1", [y, g.array(g.channels(4, 8, 16), 3, 3, 3, scale=0.3)], window)
    if layer == "grouped":
        return g.op("GroupConvolution-1", [y, g.array(3, 2, 1, 3, 3, scale=0.3)], window)
    if layer == "pool":
        attributes = {"strides": "2,2", "pads_begin": "1,1", "pads_end": "1,1", "kernel": "3,3", "exclude-pad": "true"}
        return g.op("AvgPool-1", [y], attributes)
    if layer == "interpolate":
        attributes = {"mode": "linear_onnx", "shape_calculation_mode": "scales"}
        return g.op("Interpolate-11", [y, np.array([2.0, 1.5], np.float32), _axes(2, 3)], attributes)
    return y
