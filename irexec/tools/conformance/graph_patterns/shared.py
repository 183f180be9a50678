"""Values that several layers read or write in place, products and convolutions in other arrangements."""

from __future__ import annotations

from typing import Any

import numpy as np

from irexec.model.graph.model import Value
from irexec.tools.conformance.builder import Graph
from irexec.tools.conformance.graph_patterns.layers import activated
from irexec.tools.conformance.registry import pattern

_PLAIN, _ZERO = {"special_zero": "false"}, {"special_zero": "true"}


def _axes(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


@pattern(
    kind=("ScatterUpdate-3", "ScatterNDUpdate-4", "ScatterElementsUpdate-3", "ScatterElementsUpdate-12", "Slice"),
    length=("2", "1", "3"),
    data=("input", "computed", "constant", "part of a split", "reshaped"),
    reader=("none", "relu", "result", "before"),
    dtype=("f32", "i32", "u8"),
)
def scatters(g: Graph, *, kind: str, length: str, data: str, reader: str, dtype: str) -> None:
    """Build consecutive updates of parts of a value that other layers also read."""
    base = g.base.name if dtype == "f32" else dtype
    x = g.input(["N", 5, 3], base)
    y: Any = x
    if data == "computed":
        y = g.op("Maximum-1", [x, g.number(1, base)])
    elif data == "constant":
        y = g.constant(g.array(2, 5, 3, kind=base) if base[0] != "u" else np.full((2, 5, 3), 7, np.uint8))
    elif data == "part of a split":
        y = g.ops("VariadicSplit-1", [g.op("Concat-1", [x, x], {"axis": "1"}), np.int64(1), _axes(5, 5)])[1]
    elif data == "reshaped":
        y = g.op("Reshape-1", [g.op("Reshape-1", [x, _axes(0, -1)], _ZERO), _axes(0, 5, 3)], _ZERO)
    origin = y
    if reader == "before":
        g.result(g.op("Multiply-1", [origin, g.number(2, base)]))
    for number in range(int(length)):
        y = _update(g, y, kind, base, number)
    if reader == "relu":
        g.result(g.op("Maximum-1", [origin, g.number(2, base)]))
    elif reader == "result":
        g.result(origin)
    g.result(y)


def _update(g: Graph, y: Value, kind: str, base: str, number: int) -> Value:
    """Return the value with a part replaced."""
    extra = g.input([2, 3], base)
    if kind == "ScatterUpdate-3":
        rows = g.op("ReduceMax-1", [y, _axes(1)], {"keep_dims": "true"})
        updates = g.op("Concat-1", [rows, g.op("Add-1", [rows, g.number(1, base)])], {"axis": "1"})
        return g.op(kind, [y, _axes(number, 4), updates, np.int64(1)])
    if kind == "ScatterNDUpdate-4":
        return g.op(kind, [y, np.array([[0, number], [0, 4]], np.int64), extra])
    if kind == "Slice":
        kept = g.op("Slice-8", [y, _axes(2), _axes(5), _axes(1), _axes(1)])
        return g.op("Concat-1", [kept, g.op("Slice-8", [y, _axes(0), _axes(2), _axes(1), _axes(1)])], {"axis": "1"})
    indices = np.array([[[number, 4, 2], [3, 0, 1]]], np.int64)
    attributes = {} if kind.endswith("-3") else {"reduction": "sum", "use_init_val": "true"}
    updates = g.op("Unsqueeze-1", [extra, _axes(0)])
    return g.op(kind, [y, indices, updates, np.int64(1)], attributes)


@pattern(
    source=("relu", "input", "concat", "split", "convolution", "constant"),
    view=("reshape", "unsqueeze", "squeeze", "flatten", "none", "slice", "split"),
    first=("relu", "add", "softmax", "result", "scatter", "concat"),
    second=("result", "multiply", "transpose", "reshape and add", "concat", "none"),
)
def views(g: Graph, *, source: str, view: str, first: str, second: str) -> None:
    """Build a value in another shape, which shares its memory, and several layers that read or overwrite it."""
    x = g.input(["N", 4, 1, "S"])
    y: Any = x
    if source == "relu":
        y = g.op("ReLU-1", [x])
    elif source == "concat":
        y = g.op("Concat-1", [x, g.input(["N", 4, 1, "S"])], {"axis": "1"})
    elif source == "split":
        y = g.ops("Split-1", [x, np.int64(1)], {"num_splits": "2"})[1]
    elif source == "convolution":
        unit = {"strides": "1,1", "dilations": "1,1", "pads_begin": "0,0", "pads_end": "0,0"}
        y = g.op("Convolution-1", [x, g.array(4, 4, 1, 1, scale=0.4)], unit)
    elif source == "constant":
        y = g.constant(g.array(2, 4, 1, 3))
    z = _viewed(g, y, view)
    g.result(*(_read(g, value, reader, x) for value, reader in ((z, first), (y, second), (z, "multiply"))))


def _viewed(g: Graph, y: Value, view: str) -> Value:
    made: dict[str, Any] = {
        "reshape": lambda: g.op("Reshape-1", [y, _axes(0, 0, -1)], _ZERO),
        "unsqueeze": lambda: g.op("Unsqueeze-1", [y, _axes(0)]),
        "squeeze": lambda: g.op("Squeeze-1", [y, _axes(2)]),
        "flatten": lambda: g.op("Reshape-1", [y, _axes(0, -1)], _ZERO),
        "none": lambda: y,
        "slice": lambda: g.op("Slice-8", [y, _axes(1), _axes(2), _axes(1), _axes(1)]),
        "split": lambda: g.ops("VariadicSplit-1", [y, np.int64(1), _axes(1, -1)])[1],
    }
    found: Value = made[view]()
    return found


def _read(g: Graph, value: Value, reader: str, x: Value) -> Value:
    if reader == "relu":
        return g.op("ReLU-1", [value])
    if reader == "add":
        return g.op("Add-1", [value, g.number(1.5)])
    if reader == "softmax":
        return g.op("SoftMax-8", [value], {"axis": "1"})
    if reader == "scatter":
        shape = g.op("ShapeOf-3", [g.op("Gather-8", [value, _axes(0), np.int64(1)])])
        updates = g.op("Broadcast-3", [g.number(2.5), shape], {"mode": "numpy"})
        return g.op("ScatterUpdate-3", [value, _axes(0), updates, np.int64(1)])
    if reader == "concat":
        return g.op("Concat-1", [value, value], {"axis": "1"})
    if reader == "transpose":
        return g.op("Transpose-1", [value, np.arange(value.type.rank or 2)[::-1].astype(np.int64).copy()])
    if reader == "reshape and add":
        return g.op("Add-1", [g.op("Reshape-1", [value, _axes(-1)], _PLAIN), g.number(0.5)])
    return g.op("Multiply-1", [value, g.number(-2.0)]) if reader == "multiply" else value


_ORDERS = {
    "none": (0, 1, 2, 3),
    "last": (0, 1, 3, 2),
    "heads": (0, 2, 1, 3),
    "reversed": (3, 2, 1, 0),
    "first": (1, 0, 2, 3),
}


@pattern(
    left=tuple(_ORDERS), right=tuple(_ORDERS), flags=("none", "a", "b", "both"),
    after=("none", "heads", "reshape", "last"), second=("input", "constant", "the same", "vector", "broadcast"),
    fused=("none", "add", "scale before", "scale after", "relu"),
)  # fmt: skip
def transposed_product(g: Graph, *, left: str, right: str, flags: str, after: str, second: str, fused: str) -> None:
    """Build a MatMul with transpose attributes, and with Transposes before and after it."""
    size = 4
    x = g.input(
        [size, size, size, size] if "reversed" in (left, right) or "first" in (left, right) else ["N", size, size, size]
    )
    b: Any = x
    if second == "input":
        b = g.input([size, size, size, size] if right in ("reversed", "first") else ["N", size, size, size])
    elif second == "constant":
        b = g.constant(g.array(1, size, size, size, scale=0.5))
    elif second == "broadcast":
        b = g.input([size, size])
    elif second == "vector":
        b = g.input([size])
    a = g.op("Transpose-1", [x, _axes(*_ORDERS[left])]) if left != "none" else x
    if right != "none" and second not in ("vector", "broadcast"):
        b = g.op("Transpose-1", [b, _axes(*_ORDERS[right])])
    if fused == "scale before":
        a = g.op("Multiply-1", [a, g.number(0.4)])
    names = {"transpose_a": flags in ("a", "both"), "transpose_b": flags in ("b", "both") and second != "vector"}
    y = g.op("MatMul-1", [a, b], {name: str(value).lower() for name, value in names.items()})
    if fused == "add":
        y = g.op("Add-1", [y, g.array(size)])
    elif fused == "scale after":
        y = g.op("Multiply-1", [y, g.number(-1.5)])
    elif fused == "relu":
        y = g.op("ReLU-1", [y])
    if after in _ORDERS and after != "none" and y.type.rank == 4:
        y = g.op("Transpose-1", [y, _axes(*_ORDERS[after])])
    g.result(g.op("Reshape-1", [y, _axes(0, -1)], _ZERO) if after == "reshape" else y)


@pattern(
    strides=("1 then 2", "2 then 1", "2 then 2", "1 then 2 twice"),
    kernel=("1x1", "3x3"),
    between=("relu", "none", "add", "add of branches", "maximum", "read", "sigmoid"),
    branch=("none", "strided", "plain"),
)
def strided(g: Graph, *, strides: str, kernel: str, between: str, branch: str) -> None:
    """Build consecutive convolutions with strides: a stride may be moved only through layers that keep positions."""
    channels = g.channels(2, 4, 8)
    x = g.input(["N", channels, 8, "H"])
    one, two = (int(strides[0]), int(strides[7]))

    def convolved(value: Value, stride: int, size: int) -> Value:
        pad = "1,1" if size == 3 else "0,0"
        attributes = {"strides": f"{stride},{stride}", "dilations": "1,1", "pads_begin": pad, "pads_end": pad}
        return g.op("Convolution-1", [value, g.array(channels, channels, size, size, scale=0.3)], attributes)

    y = convolved(x, one, 3 if kernel == "3x3" else 1)
    if between == "add of branches":
        y = g.op("Add-1", [y, convolved(x, one, 1)])
    elif between == "add":
        y = g.op("Add-1", [y, g.array(1, channels, 1, 1)])
    elif between == "maximum":
        y = g.op("Maximum-1", [y, g.number(0.1)])
    elif between == "read":
        g.result(y)
    elif between != "none":
        y = activated(g, y, between, channels)
    z = convolved(y, two, 1)
    if strides.endswith("twice"):
        z = g.op("Add-1", [z, convolved(y, two, 1)])
    if branch == "strided":
        z = g.op("Add-1", [z, convolved(y, two, 3)])
    elif branch == "plain":
        g.result(activated(g, y, "tanh", channels))
    g.result(z)


@pattern(
    form=("depth to space", "space to depth", "shuffle", "dilated", "patches", "pixel"),
    near=("none", "other order", "other block", "two axes"),
    depth=("first", "last"),
)
def rearranged(g: Graph, *, form: str, near: str, depth: str) -> None:
    """Build Reshape, Transpose, Reshape that are one layer, and convolutions between SpaceToBatch and its inverse."""
    x = g.input(["N", 8, 4, 4])
    block = 4 if near == "other block" and form == "shuffle" else 2
    if form == "dilated":
        unit = {"strides": "1,1", "dilations": "1,1", "pads_begin": "0,0", "pads_end": "0,0"}
        edge = _axes(0, 0, 1, 1) if near != "other block" else _axes(0, 0, 2, 1)
        end = _axes(0, 0, 1, 1) if near != "other block" else _axes(0, 0, 0, 1)
        y = g.op("SpaceToBatch-2", [x, _axes(1, 1, 2, 2), edge, end])
        y = g.op("Convolution-1", [y, g.array(4, 8, 2, 2, scale=0.3)], unit)
        crop = _axes(0, 0, 0, 1 if near == "other order" else 0)
        g.result(g.op("BatchToSpace-2", [y, _axes(1, 1, 2, 2), _axes(0, 0, 0, 0), crop]))
        return
    to_depth, to_space = ([0, 3, 5, 1, 2, 4], [0, 3, 4, 1, 5, 2])
    if depth == "last":
        to_depth, to_space = ([0, 1, 3, 5, 2, 4], [0, 1, 4, 2, 5, 3])
    halves = [0, 8, 2, 2, 2, 2]
    plans: dict[str, tuple[list[int], list[int], list[int]]] = {
        "depth to space": ([0, 2, 2, 2, 4, 4], to_space, [0, 2, 8, 8]),
        "space to depth": (halves, to_depth, [0, 32, 2, 2]),
        "shuffle": ([0, block, 8 // block, 4, 4], [0, 2, 1, 3, 4], [0, 8, 4, 4]),
        "patches": (halves, [0, 2, 4, 1, 3, 5], [0, 4, 32]),
        "pixel": ([0, 4, 2, 4, 4], [0, 1, 3, 4, 2], [0, 4, 16, 2]),
    }
    shape, order, back = plans[form]
    if near == "other order":
        order = [0, *(int(i) + 1 for i in g.rng.permutation(len(shape) - 1))]
    y = g.op("Transpose-1", [g.op("Reshape-1", [x, _axes(*shape)], _ZERO), _axes(*order)])
    if near == "two axes":
        y = g.op("ReLU-1", [y])
    g.result(g.op("Reshape-1", [y, _axes(*back)], _ZERO))
