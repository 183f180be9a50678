"""Operators written as several layers, shapes that are computed, and chains of joins and splits."""

from __future__ import annotations

import numpy as np

from irexec.model.graph.model import Value
from irexec.tools.conformance.builder import Graph
from irexec.tools.conformance.registry import pattern


def _axes(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


_PLAIN = {"special_zero": "false"}


@pattern(
    form=("softmax", "log softmax", "log sum exp", "l2", "standard deviation", "cosine", "mean square", "softmin",
          "entropy", "argmax"),
    near=("none", "no maximum", "axis beside", "two axes", "no keep_dims", "extra factor"),
    after=("none", "add of channels", "relu", "multiply of a row"),
)  # fmt: skip
def reduced(g: Graph, *, form: str, near: str, after: str) -> None:
    """Build reductions composed with elementwise layers, as frameworks decompose a single operator."""
    channels, width = g.channels(2, 3, 4, 8, 16), g.channels(3, 5, 8, 17)
    x = g.input(["N", channels, "S", width])
    axes = _axes(2, 3) if near == "two axes" else _axes(1) if near == "axis beside" else _axes(3)
    keep = {"keep_dims": "true"}

    def total(value: Value, kind: str = "ReduceSum-1") -> Value:
        return g.op(kind, [value, axes], keep)

    shifted = x if near == "no maximum" else g.op("Subtract-1", [x, total(x, "ReduceMax-1")])
    if near == "extra factor":
        shifted = g.op("Multiply-1", [shifted, g.number(0.7)])
    powers = g.op("Exp-1", [shifted])
    if form in ("softmax", "softmin"):
        if form == "softmin":
            powers = g.op("Exp-1", [g.op("Negative-1", [g.op("Abs-1", [shifted])])])
        y = g.op("Divide-1", [powers, total(powers)])
    elif form == "log softmax":
        y = g.op("Subtract-1", [shifted, g.op("Log-1", [total(powers)])])
    elif form == "log sum exp":
        y = g.op("Log-1", [total(powers)])
    elif form == "l2":
        norm = g.op("Sqrt-1", [g.op("Add-1", [total(g.op("Multiply-1", [x, x])), g.number(1e-3)])])
        y = g.op("Divide-1", [x, norm])
    elif form == "cosine":
        other = g.input(["N", channels, "S", width])
        product = total(g.op("Multiply-1", [x, other]))
        norms = g.op("Multiply-1", [total(x, "ReduceL2-4"), total(other, "ReduceL2-4")])
        y = g.op("Divide-1", [product, g.op("Maximum-1", [norms, g.number(1e-3)])])
    elif form in ("standard deviation", "mean square"):
        centred = x if form == "mean square" else g.op("Subtract-1", [x, total(x, "ReduceMean-1")])
        y = total(g.op("Power-1", [centred, g.number(2.0)]), "ReduceMean-1")
        y = g.op("Sqrt-1", [y]) if form == "standard deviation" else y
    elif form == "entropy":
        chances = g.op("SoftMax-8", [x], {"axis": "3"})
        y = g.op("Negative-1", [total(g.op("Multiply-1", [chances, g.op("LogSoftmax-5", [x], {"axis": "3"})]))])
    else:
        attributes = {"axis": "3", "mode": "max", "sort": "value", "index_element_type": "i32"}
        y = g.op("Convert-1", [g.ops("TopK-11", [x, np.int64(1)], attributes)[1]], {"destination_type": g.base.name})
    if near == "no keep_dims":
        y = g.op("ReduceSum-1", [y, axes], {"keep_dims": "false"})
    rank = y.type.rank or 4
    if after == "add of channels":
        y = g.op("Add-1", [y, g.array(channels, *[1] * (rank - 2))])
    elif after == "multiply of a row":
        y = g.op("Multiply-1", [y, g.array(*[1] * (rank - 1), 1)])
    g.result(g.op("ReLU-1", [y]) if after == "relu" else y)


@pattern(
    kind=("f32", "u8", "i8", "i32", "f16", "i64", "boolean"),
    axis=("0", "1", "2"),
    levels=("1", "2", "3"),
    form=("split and join", "the same twice", "nested", "with an input", "empty part", "one part", "reordered"),
    between=("none", "reshape", "transpose", "elementwise"),
)
def chained(g: Graph, *, kind: str, axis: str, levels: str, form: str, between: str) -> None:
    """Build consecutive joins and splits, with few or no layers between them."""
    place = int(axis)
    dims: list[int | str] = [g.channels(1, 2, 4), g.channels(2, 3, 8), 4]
    dims[(place + 1) % 3] = "S"
    x = g.input(dims, kind)
    y = x
    for _ in range(int(levels)):
        if form == "the same twice":
            y = g.op("Concat-1", [y, y], {"axis": place})
        elif form == "nested":
            y = g.op("Concat-1", [g.op("Concat-1", [x, y], {"axis": place}), x], {"axis": place})
        elif form == "with an input":
            y = g.op("Concat-1", [y, g.input(dims, kind)], {"axis": place})
        elif form == "empty part":
            none = g.op("Slice-8", [x, _axes(0), _axes(0), _axes(1), _axes(place)])
            y = g.op("Concat-1", [none, y, none], {"axis": place})
        elif form == "one part":
            y = g.op("Concat-1", [y], {"axis": place})
        extent = y.type.shape[place]
        if extent.is_static and extent.value % 2 == 0 and form in ("split and join", "nested", "reordered"):
            parts = g.ops("Split-1", [y, np.int64(place)], {"num_splits": "2"})
            y = g.op("Concat-1", parts[::-1] if form == "reordered" else parts, {"axis": place})
        if between == "reshape":
            pattern_ = g.op("ShapeOf-3", [y])
            y = g.op("Reshape-1", [g.op("Reshape-1", [y, _axes(-1)], _PLAIN), pattern_], _PLAIN)
        elif between == "transpose":
            y = g.op("Transpose-1", [g.op("Transpose-1", [y, _axes(2, 0, 1)]), _axes(1, 2, 0)])
        elif between == "elementwise" and kind not in ("boolean",):
            y = g.op("Maximum-1", [y, g.number(0, kind)])
    g.result(y)


@pattern(
    form=("flatten two", "round trip", "broadcast", "slice", "range", "tile", "expand", "heads", "last step", "half"),
    kind=("f32", "u8", "i32"),
    source=("shape of", "shape of convert"),
    act=("none", "relu"),
)
def shapes(g: Graph, *, form: str, kind: str, source: str, act: str) -> None:
    """Build shapes that are computed from other shapes, as in models that are exported with dynamic shapes."""
    base = kind if kind != "f32" else g.base.name
    channels = g.channels(2, 4, 8)
    x = g.input(["N", channels, "H", "S"], base)

    def extent(value: Value, place: int) -> Value:
        shape = g.op("ShapeOf-3", [value], {"output_type": "i64"})
        if source == "shape of convert":
            shape = g.op("Convert-1", [g.op("Convert-1", [shape], {"destination_type": "i32"})], _I64)
        return g.op("Gather-8", [shape, _axes(place), np.int64(0)])

    def joined(*parts: Value | np.ndarray) -> Value:
        return g.op("Concat-1", list(parts), {"axis": 0})

    if form in ("flatten two", "round trip"):
        rows = g.op("Multiply-1", [extent(x, 2), extent(x, 3)])
        y = g.op("Reshape-1", [x, joined(extent(x, 0), _axes(channels), rows)], {"special_zero": "true"})
        if form == "round trip":
            y = g.op("Reshape-1", [y, g.op("ShapeOf-3", [x])], {"special_zero": "true"})
    elif form == "broadcast":
        y = g.op("Broadcast-3", [g.op("ReduceMax-1", [x, _axes(3)], {"keep_dims": "true"}), g.op("ShapeOf-3", [x])],
                 {"mode": "numpy"})  # fmt: skip
    elif form in ("slice", "half", "last step"):
        end = extent(x, 3)
        begin = g.op("Divide-1", [end, _axes(2)]) if form == "half" else g.op("Subtract-1", [end, _axes(1)])
        begin = _axes(0) if form == "slice" else begin  # type: ignore[assignment]
        stop = g.op("Maximum-1", [g.op("Subtract-1", [end, _axes(1)]), _axes(1)]) if form == "slice" else end
        y = g.op("Slice-8", [x, begin, stop, _axes(1), _axes(3)])
    elif form == "range":
        count = g.op("Squeeze-1", [extent(x, 3), _axes(0)])
        numbers = g.op("Range-4", [np.int64(0), count, np.int64(1)], {"output_type": base})
        y = g.op("Add-1", [x, numbers])
    elif form == "tile":
        y = g.op("Tile-1", [x, joined(_axes(1, 1, 1), _axes(2))])
    elif form == "expand":
        y = g.op("Broadcast-3", [g.op("Unsqueeze-1", [x, _axes(1)]),
                                 joined(extent(x, 0), _axes(2), _axes(channels), extent(x, 2), extent(x, 3))],
                 {"mode": "bidirectional"})  # fmt: skip
    else:
        y = g.op("Reshape-1", [x, joined(extent(x, 0), _axes(2), _axes(channels // 2), _axes(-1))], _PLAIN)
        y = g.op("Transpose-1", [y, _axes(0, 2, 1, 3)])
    g.result(g.op("ReLU-1", [y]) if act == "relu" and base[0] != "u" else y)


_I64 = {"destination_type": "i64"}


@pattern(
    table=("f32", "f16 convert", "u8 convert", "i8 scaled"),
    kind=("i32", "i64", "u8"),
    negative=("no", "yes", "beyond"),
    form=("gather", "elements", "sum", "sum of bags", "twice"),
)
def embedding(g: Graph, *, table: str, kind: str, negative: str, form: str) -> None:
    """Build rows selected by indices, from a constant table in various types."""
    rows, width = g.channels(5, 8, 17), g.channels(1, 3, 8, 16)
    if table == "f32":
        y: Value | np.ndarray = g.array(rows, width)
    elif table == "f16 convert":
        y = g.op("Convert-1", [g.array(rows, width, kind="f16")], {"destination_type": g.base.name})
    else:
        packed = g.integers(0 if table[0] == "u" else -100, 100, rows, width, kind=table[:2])
        y = g.op("Convert-1", [packed], {"destination_type": g.base.name})
        if table.endswith("scaled"):
            y = g.op("Multiply-1", [y, g.array(rows, 1, low=0.01, scale=0.02)])
    indices = g.input(["N", "S"], kind, data="ties")
    if negative != "no" and kind != "u8" and form == "gather":
        indices = g.op("Subtract-1", [indices, g.number(2 if negative == "yes" else rows + 2, kind)])
    if form == "elements":
        index = g.op("Reshape-1", [indices, _axes(1, -1)], _PLAIN)
        g.result(g.op("GatherND-8", [y, g.op("Transpose-1", [index, _axes(1, 0)])], {"batch_dims": "0"}))
        return
    if kind == "u8" and form.startswith("sum of"):
        indices = g.op("Convert-1", [indices], {"destination_type": "i32"})
    if form == "sum of bags":
        g.result(g.op("EmbeddingBagPackedSum-3", [y, indices]))
        return
    found = g.op("Gather-8", [y, indices, np.int64(0)])
    if form == "sum":
        found = g.op("ReduceSum-1", [found, _axes(1)], {"keep_dims": "false"})
    elif form == "twice":
        found = g.op("Add-1", [found, g.op("Gather-8", [y, indices, np.int64(0)])])
    g.result(found)
