"""Layers that a compiler removes, merges or shares, and near misses of such layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from irexec.model.graph.model import Value
from irexec.tools.conformance.builder import Graph
from irexec.tools.conformance.registry import pattern

_PLAIN, _ZERO = {"special_zero": "false"}, {"special_zero": "true"}
_UNIT = {"strides": "1,1", "dilations": "1,1", "pads_begin": "0,0", "pads_end": "0,0"}


def _axes(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


_UNCHANGED = (
    "convert", "reshape", "transpose", "pad", "slice", "strided", "concat", "split", "multiply", "add", "gather",
    "squeeze", "broadcast", "tile", "roll", "reduce", "interpolate", "identity", "clamp", "subtract", "divide", "power",
    "maximum", "select", "double transpose", "double negative", "there and back",
)  # fmt: skip


@pattern(
    form=_UNCHANGED,
    near=("none", "larger rank", "almost"),
    around=("none", "relu before", "relu after", "both", "second result"),
    kind=("f32", "i32", "u8", "f16", "i64"),
    other=_UNCHANGED,
)
def unchanged(g: Graph, *, form: str, near: str, around: str, kind: str, other: str) -> None:
    """Build layers that change nothing, alone between an input and a result, or next to other layers."""
    base = g.base.name if kind == "f32" else kind
    x = g.input(["N", 3, "S"], base, low=1 if base[0] == "u" else None)
    y = g.op("ReLU-1", [x]) if around in ("relu before", "both") else x
    y = _after(g, y, form, base, near)
    if y.type.rank == 3 and around == "none":
        y = _after(g, y, other, base, "none") if other != form else y
    if around in ("relu after", "both"):
        y = g.op("ReLU-1", [y])
    elif around == "second result":
        g.result(g.op("Add-1", [x, g.number(1, base)]))
    g.result(y)


def _after(g: Graph, x: Value, form: str, base: str, near: str) -> Value:
    """Return a value after a layer that changes nothing, or almost nothing."""
    wide, almost = near == "larger rank", near == "almost"
    one, zero = ((1, 1, 1, 1) if wide else ()), ((1, 1, 1, 1) if wide else (1,))

    def full(shape: tuple[int, ...], value: float) -> np.ndarray:
        return np.broadcast_to(g.number(value, base), shape).copy()

    shape = g.op("ShapeOf-3", [x])
    target = g.op("Concat-1", [_axes(2), shape], {"axis": 0}) if wide and form == "broadcast" else shape
    low, high = "-3e8" if base[0] != "u" else "0", "2" if almost else "3e8"
    strided = {"begin_mask": "1,1,1", "end_mask": "1,1,1"}
    more = 2.0 if almost else 1.0
    made: dict[str, Any] = {
        "convert": lambda: g.op("Convert-1", [x], {"destination_type": base}),
        "reshape": lambda: g.op("Reshape-1", [x, _axes(0, -1, 3) if almost else shape], _ZERO if almost else _PLAIN),
        "transpose": lambda: g.op("Transpose-1", [x, _axes(0, 2, 1) if almost else _axes(0, 1, 2)]),
        "pad": lambda: g.op("Pad-1", [x, _axes(0, 0, 0), _axes(0, int(almost), 0), g.number(0, base)],
                            {"pad_mode": "constant"}),
        "slice": lambda: g.op("Slice-8", [x, _axes(0), _axes(2**31 - 1), _axes(2 if almost else 1), _axes(1)]),
        "strided": lambda: g.op("StridedSlice-1", [x, _axes(0, 0, 0), _axes(0, 0, 0), _axes(1, -1 if almost else 1, 1)],
                                strided),
        "concat": lambda: g.op("Concat-1", [x, x] if almost else [x], {"axis": 1}),
        "split": lambda: g.ops("Split-1", [x, np.int64(1)], {"num_splits": "3" if almost else "1"})[-1],
        "multiply": lambda: g.op("Multiply-1", [x, full(one, more)]),
        "add": lambda: g.op("Add-1", [full(zero, more - 1.0), x]),
        "subtract": lambda: g.op("Subtract-1", [x, full(zero, more - 1.0)]),
        "divide": lambda: g.op("Divide-1", [x, full(one, more)]),
        "power": lambda: g.op("Power-1", [x, full(one, more)]),
        "maximum": lambda: g.op("Maximum-1", [x, x if not almost else full(one, 1.0)]),
        "select": lambda: g.op("Select-1", [np.array([True, True, not almost]).reshape(3, 1), x,
                                            g.op("Add-1", [x, full((), 1)])]),
        "gather": lambda: g.op("Gather-8", [x, _axes(0, 2, 1) if almost else _axes(0, 1, 2), np.int64(1)]),
        "squeeze": lambda: g.op("Squeeze-1", [g.op("Unsqueeze-1", [x, _axes(1)]), _axes(1)]),
        "broadcast": lambda: g.op("Broadcast-3", [x, target], {"mode": "bidirectional"}),
        "tile": lambda: g.op("Tile-1", [x, _axes(1, 1, 1, 1) if wide else _axes(1, 2 if almost else 1, 1)]),
        "roll": lambda: g.op("Roll-7", [x, _axes(1 if almost else 3), _axes(1)]),
        "reduce": lambda: g.op("ReduceMax-1", [g.op("Unsqueeze-1", [x, _axes(0)]), _axes(1 if almost else 0)],
                               {"keep_dims": "false"}),
        "interpolate": lambda: _resized(g, x, almost),
        "identity": lambda: g.op("Identity-16", [x]),
        "clamp": lambda: g.op("Clamp-1", [x], {"min": low, "max": high}),
        "double transpose": lambda: g.op("Transpose-1", [g.op("Transpose-1", [x, _axes(1, 2, 0)]),
                                                         _axes(1, 2, 0) if almost else _axes(2, 0, 1)]),
        "double negative": lambda: g.op("Negative-1", [g.op("Negative-1", [x])]),
        "there and back": lambda: g.op("Convert-1", [g.op("Convert-1", [x], {"destination_type": "i32"})],
                                       {"destination_type": base}),
    }  # fmt: skip
    if form == "double negative" and base[0] == "u":
        return x
    found: Value = made[form]()
    return found


def _resized(g: Graph, x: Value, almost: bool) -> Value:
    attributes = {"mode": "nearest", "shape_calculation_mode": "scales", "nearest_mode": "floor"}
    attributes |= {"coordinate_transformation_mode": "asymmetric"}
    return g.op("Interpolate-11", [x, np.array([2.0 if almost else 1.0], np.float32), _axes(1)], attributes)


@pattern(
    form=("softmax", "reduce", "reshape", "convert", "gather", "topk", "cumsum", "slice", "pad", "interpolate",
          "transpose", "clamp", "mvn", "normalize", "pool", "one hot", "split", "squeeze", "matmul", "shape of"),
    how=("attribute", "input", "both"),
)  # fmt: skip
def twins(g: Graph, *, form: str, how: str) -> None:
    """Build two layers of one type with the same input that differ in one attribute or one small input only."""
    x = g.input(["N", 4, 4, 4])
    first, second = ((0, 1), (0, 2), (1, 3), (2, 3))[int(g.rng.integers(4))]
    wide, tall, edge = _axes(0, 4, -1), _axes(0, -1, 8), _axes(0, 1, 1, 1)
    made: dict[str, Any] = {
        "softmax": lambda k: g.op("SoftMax-8", [x], {"axis": str(k)}),
        "reduce": lambda k: g.op("ReduceSum-1", [x, _axes(k) if how != "attribute" else _axes(1)],
                                 {"keep_dims": "true" if how == "input" or k == first else "false"}),
        "reshape": lambda k: g.op("Reshape-1", [x, wide if k == first or how == "attribute" else tall], _ZERO),
        "convert": lambda k: g.op("Convert-1", [x], {"destination_type": "i32" if k == first else "f32"}),
        "gather": lambda k: g.op("Gather-8", [x, _axes(2, 0), np.int64(max(1, k))]),
        "topk": lambda k: g.ops("TopK-11", [x, np.int64(2)], {"axis": str(max(1, k)), "sort": "value",
                                "mode": "max" if k == first else "min", "index_element_type": "i32"})[0],
        "cumsum": lambda k: g.op("CumSum-3", [x, np.int64(1)], {"reverse": "true" if k == first else "false"}),
        "slice": lambda k: g.op("Slice-8", [x, _axes(1), _axes(3), _axes(1), _axes(max(1, k))]),
        "pad": lambda k: g.op("Pad-1", [x, edge, edge, *([g.number(0.5)] if k == first else [])],
                              {"pad_mode": "constant" if k == first else "reflect"}),
        "interpolate": lambda k: g.op("Interpolate-11", [x, np.array([2, 2], np.float32), _axes(2, 3)],
                                      {"mode": "nearest" if k == first else "linear_onnx", "nearest_mode": "floor",
                                       "shape_calculation_mode": "scales"}),
        "transpose": lambda k: g.op("Transpose-1", [x, _axes(0, 1, 3, 2) if k == first else _axes(0, 2, 1, 3)]),
        "clamp": lambda k: g.op("Clamp-1", [x], {"min": "-1", "max": "1" if k == first else "0.5"}),
        "mvn": lambda k: g.op("MVN-6", [x, _axes(2, 3)], {"eps": "1e-3", "eps_mode": "inside_sqrt",
                              "normalize_variance": "true" if k == first else "false"}),
        "normalize": lambda k: g.op("NormalizeL2-1", [x, _axes(1)],
                                    {"eps": "1" if k == first else "0.1", "eps_mode": "add"}),
        "pool": lambda k: g.op("AvgPool-1", [x], {"kernel": "2,2", "strides": "1,1", "pads_begin": "1,1",
                               "pads_end": "0,0", "exclude-pad": "true" if k == first else "false"}),
        "one hot": lambda k: g.op("OneHot-1", [_axes(0, 2, 1), np.int64(4), g.number(1.0), g.number(0.5)],
                                  {"axis": "0" if k == first else "1"}),
        "split": lambda k: g.ops("Split-1", [x, np.int64(max(1, k))], {"num_splits": "2" if k == first else "4"})[1],
        "squeeze": lambda k: g.op("Unsqueeze-1", [x, _axes(k)]),
        "matmul": lambda k: g.op("MatMul-1", [x, x], {"transpose_b": "true" if k == first else "false"}),
        "shape of": lambda k: g.op("ShapeOf-3", [x], {"output_type": "i64" if k == first else "i32"}),
    }  # fmt: skip
    g.result(made[form](first), made[form](second))


@pattern(
    first=("ReduceMean-1", "ReduceSum-1", "ReduceMax-1", "ReduceMin-1", "ReduceProd-1", "ReduceL2-4", "ReduceL1-4"),
    second=("the same", "ReduceMax-1", "ReduceSum-1", "ReduceMean-1"),
    keep=("true", "false", "only the first", "only the second"),
    axes=("the next", "the one before", "apart", "the same", "negative"),
    between=("none", "relu", "read", "transpose"),
    before=("none", "transpose", "unsqueeze", "reshape"),
    kind=("f32", "i64", "i32", "u8", "f64"),
    extents=("mixed", "ones before", "ones after", "equal"),
    after=("none", "transpose", "relu", "unsqueeze"),
)
def reductions(
    g: Graph, *, first: str, second: str, keep: str, axes: str, between: str, before: str, kind: str, extents: str,
    after: str,
) -> None:  # fmt: skip
    """Build two reductions over different axes, with layers between and around them that move axes of extent 1."""
    base = g.base.name if kind == "f32" else kind
    dims: dict[str, list[int | str]] = {
        "mixed": ["N", 3, 4, "S"], "ones before": [1, 1, 3, "S"], "ones after": ["S", 3, 1, 1], "equal": [1, 2, 2, 2],
    }  # fmt: skip
    x = g.input(dims[extents], base)
    if kind in ("i64", "i32", "u8") and (first, second) != ("ReduceProd-1", "the same"):
        first = first if first in ("ReduceSum-1", "ReduceMin-1") else "ReduceMax-1"
        second = second if second in ("the same", "ReduceSum-1") else "ReduceMax-1"
    if before == "transpose":
        x = g.op("Transpose-1", [x, _axes(0, 2, 3, 1)])
    elif before == "unsqueeze":
        x = g.op("Squeeze-1", [g.op("Unsqueeze-1", [x, _axes(0)]), _axes(0)])
    elif before == "reshape" and extents == "mixed":
        x = g.op("Reshape-1", [x, _axes(0, 4, 3, -1)], _ZERO)
    one, two = {
        "the next": (2, 3),
        "the one before": (3, 2),
        "apart": (1, 3),
        "the same": (2, 2),
        "negative": (-1, -2),
    }[axes]
    kept = keep in ("true", "only the first")
    if not kept and two > one > 0:
        two -= 1
    y = g.op(first, [x, _axes(one)], {"keep_dims": "true" if kept else "false"})
    if between == "relu":
        y = g.op("ReLU-1", [y])
    elif between == "read":
        g.result(y)
    elif between == "transpose" and y.type.rank == 4:
        y = g.op("Transpose-1", [y, _axes(0, 1, 3, 2)])
    reduction = first if second == "the same" else second
    y = g.op(reduction, [y, _axes(two)], {"keep_dims": "true" if keep in ("true", "only the second") else "false"})
    if after == "transpose":
        y = g.op("Transpose-1", [y, np.arange(y.type.rank or 2)[::-1].astype(np.int64).copy()])
    elif after == "unsqueeze":
        y = g.op("Unsqueeze-1", [y, _axes(1)])
    g.result(g.op("Maximum-1", [y, g.number(1, base)]) if after == "relu" else y)


@pattern(
    start=("f32", "i32", "u8", "i8", "f16", "boolean", "i64", "bf16"),
    chain=("i32", "i8", "u8", "f16", "bf16", "boolean", "i64", "i32 then f32", "u8 then f32", "f16 then f32",
           "boolean then i32", "bf16 then f32", "i8 then u8", "i64 then i32", "f32 then i32 then f16"),
    layer=("none", "before", "between", "after", "concat", "select"),
    data=("plain", "ties"),
)  # fmt: skip
def conversions(g: Graph, *, start: str, chain: str, layer: str, data: str) -> None:
    """Build conversions between element types, with layers around them."""
    x = g.input(["N", 3, "S"], start if start != "f32" else g.base.name, data=data)
    kind = x.element_type.name
    y = x
    if layer == "before" and kind != "boolean":
        y = g.op("Maximum-1", [y, g.number(0, kind)])
    types = chain.split(" then ")
    if types[0] == "u8" and kind not in ("boolean", "u8"):
        y = g.op("Maximum-1", [y, g.number(0, kind)])
    for number, name in enumerate(types):
        y = g.op("Convert-1", [y], {"destination_type": name})
        if layer == "between" and not number and name != "boolean":
            y = g.op("Maximum-1", [y, g.number(1, name)])
    if layer == "after" and types[-1] != "boolean":
        y = g.op("Multiply-1", [y, g.number(2, types[-1])])
    elif layer == "concat":
        y = g.op("Concat-1", [y, y], {"axis": "1"})
    elif layer == "select":
        y = g.op("Select-1", [g.op("Convert-1", [x], {"destination_type": "boolean"}), y, g.number(0, types[-1])])
    g.result(y)


@pattern(
    form=("clamp clamp", "relu clamp", "clamp relu", "maximum minimum", "minimum maximum", "clamp apart",
          "maximum clamp", "negative relu", "relu relu", "abs relu", "relu negative", "clamp round", "relu scaled",
          "hswish parts", "leaky leaky"),
    limits=("within", "crossing", "beyond", "equal"),
    kind=("f32", "i32", "i8"),
    after=("none", "add", "read between"),
)  # fmt: skip
def limits(g: Graph, *, form: str, limits: str, kind: str, after: str) -> None:
    """Build consecutive layers that limit values."""
    base = g.base.name if kind == "f32" else kind
    x = g.input(["N", 3, "S"], base)
    low, high = {"within": (-2, 3), "crossing": (3, -2), "beyond": (-70, 70), "equal": (1, 1)}[limits]

    def step(value: Value, name: str) -> Value:
        if name == "clamp" or name == "apart":
            pair = (min(low, high), max(low, high)) if name == "clamp" else (4, 6)
            return g.op("Clamp-1", [value], {"min": str(pair[0]), "max": str(pair[1])})
        if name in ("maximum", "minimum"):
            return g.op(f"{name.title()}-1", [value, g.number(low if name == "maximum" else high, base)])
        if name == "scaled":
            return g.op("Multiply-1", [value, g.number(-2, base)])
        if name == "parts":
            return g.op("Multiply-1", [value, g.op("Clamp-1", [value], {"min": "0", "max": "6"})])
        if name == "leaky":
            return g.op("PReLU-1", [value, np.array([2 if kind != "f32" else -0.5], value.element_type.dtype)])
        types = {"relu": "ReLU-1", "negative": "Negative-1", "abs": "Abs-1", "round": "Round-5", "hswish": "HSwish-4"}
        return value if kind != "f32" and name in ("round", "hswish") else g.op(types[name], [value])

    first, second = form.split(" ")
    y = step(x, first)
    if after == "read between":
        g.result(y)
    y = step(y, second)
    g.result(g.op("Add-1", [y, g.number(1, base)]) if after == "add" else y)
