"""Chains of layers that move elements (transposes, reshapes, slices, concatenations) with other layers between them."""

from __future__ import annotations

import numpy as np

from irexec.model.graph.model import Value
from irexec.tools.conformance.builder import Graph
from irexec.tools.conformance.graph_patterns.layers import ACTIVATIONS, activated
from irexec.tools.conformance.registry import pattern


def _axes(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


@pattern(
    middle=(
        "softmax",
        "reduce",
        "matmul",
        "elementwise",
        "convolution",
        "mvn",
        "interpolate",
        "topk",
        "cumsum",
        "gather",
    ),
    before=("transpose", "reshape", "both", "none"),
    after=("transpose", "inverse", "reshape", "none"),
)
def layouts(g: Graph, *, middle: str, before: str, after: str) -> None:
    """Build a layer between changes of the layout."""
    channels = g.channels(2, 3, 4, 8, 16)
    x = g.input(["N", channels, 4, 6])
    order = [int(i) for i in g.rng.permutation(4)]
    if before in ("transpose", "both"):
        x = g.op("Transpose-1", [x, _axes(*order)])
    if before in ("reshape", "both") and before == "reshape":
        x = g.op("Reshape-1", [x, _axes(0, -1, 2, 3)], {"special_zero": "true"})
    axis = int(g.pick(-1, 1, 2, -2))
    y = _middle(g, x, middle, axis)
    if after in ("transpose", "inverse") and y.type.rank == 4:
        back = np.argsort(order) if after == "inverse" else g.rng.permutation(4)
        y = g.op("Transpose-1", [y, _axes(*(int(i) for i in back))])
    elif after == "reshape":
        y = g.op("Reshape-1", [y, _axes(0, -1)], {"special_zero": "true"})
    g.result(y)


def _middle(g: Graph, x: Value, middle: str, axis: int) -> Value:
    if middle == "softmax":
        return g.op("SoftMax-8", [x], {"axis": axis})
    if middle == "reduce":
        kind = g.pick("ReduceMean-1", "ReduceMax-1", "ReduceSum-1", "ReduceL2-4")
        return g.op(kind, [x, _axes(axis)], {"keep_dims": g.pick("true", "false")})
    if middle == "matmul":
        extent = x.type.shape[3]
        return (
            g.op("MatMul-1", [x, g.array(extent.value, 5)])
            if extent.is_static
            else g.op("MatMul-1", [x, x], {"transpose_b": "true"})
        )
    if middle == "mvn":
        return g.op("MVN-6", [x, _axes(axis)], {"eps": "1e-3", "eps_mode": "inside_sqrt", "normalize_variance": "true"})
    if middle == "topk":
        found = g.ops(
            "TopK-11", [x, np.int64(1)], {"axis": axis, "mode": "max", "sort": "value", "index_element_type": "i32"}
        )
        return found[0]
    if middle == "cumsum":
        return g.op("CumSum-3", [x, np.int64(axis)], {"reverse": g.pick("true", "false")})
    if middle == "gather":
        return g.op("Gather-8", [x, _axes(0, -1, 0), np.int64(axis)])
    if middle == "convolution" and x.type.shape[1].is_static:
        weights = g.array(4, x.type.shape[1].value, 1, 1)
        unit = {"strides": "1,1", "dilations": "1,1", "pads_begin": "0,0", "pads_end": "0,0"}
        return g.op("Convolution-1", [x, weights], unit)
    if middle == "interpolate":
        attributes = {"mode": g.pick("nearest", "linear_onnx"), "shape_calculation_mode": "scales"}
        attributes |= {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        scales = np.array([2.0, 2.0], np.float32)
        return g.op("Interpolate-11", [x, scales, _axes(2, 3)], attributes)
    return activated(g, x, str(g.pick("relu", "swish", "tanh", "hswish", "gelu")), 1)


@pattern(
    parts=("2", "3", "4"),
    axis=("1", "0", "-1", "2"),
    inner=("none", "activation", "one changed", "order", "one twice", "constant part"),
    wide=("no", "180 channels", "17 channels"),
    split=("variadic", "slices", "strided", "even"),
)
def joined(g: Graph, *, parts: str, axis: str, inner: str, wide: str, split: str) -> None:
    """Build a Concat of slices."""
    count, place = int(parts), int(axis)
    size = {"no": g.channels(1, 2, 3, 8), "180 channels": 180, "17 channels": 17}[wide]
    dims: list[int | str] = ["N", count * size, 3, 4] if place == 1 else ["N", size, 3 * count if place == 2 else 3, 4]
    if place == -1:
        dims[3] = 4 * count
    if place == 0:
        dims[0] = count
    x = g.input(dims)
    extent = int(dims[place])
    step = extent // count
    lengths = [step] * (count - 1) + [extent - step * (count - 1)]
    if split == "variadic":
        pieces = g.ops("VariadicSplit-1", [x, np.int64(place), _axes(*lengths)])
    elif split == "even" and extent % count == 0:
        pieces = g.ops("Split-1", [x, np.int64(place)], {"num_splits": parts})
    elif split == "strided" and place >= 0:
        pieces = [_strided(g, x, place, i * step, sum(lengths[: i + 1])) for i in range(count)]
    else:
        ends = [(i * step, sum(lengths[: i + 1])) for i in range(count)]
        pieces = [g.op("Slice-8", [x, _axes(lo), _axes(hi), _axes(1), _axes(place)]) for lo, hi in ends]
    if inner in ("activation", "one changed"):
        names = [str(g.pick(*ACTIVATIONS[:-3])) if inner == "activation" else "none" for _ in pieces]
        names[-1] = "relu" if inner == "one changed" else names[-1]
        names = ["relu" if "channels" in name else name for name in names]
        pieces = [activated(g, piece, name, 1) for piece, name in zip(pieces, names, strict=True)]
    elif inner == "order":
        pieces = pieces[::-1]
    elif inner == "one twice":
        pieces = [*pieces, pieces[0]]
    elif inner == "constant part" and place == 1 and isinstance(dims[0], str) is False:
        pieces = [*pieces, g.op("Concat-1", [g.array(int(dims[0]), 2, 3, 4)], {"axis": 0})]
    g.result(g.op("Concat-1", pieces, {"axis": place}))


def _strided(g: Graph, x: Value, axis: int, low: int, high: int) -> Value:
    begin, end = [0] * (axis + 1), [0] * (axis + 1)
    begin[axis], end[axis] = low, high
    mask = ",".join(["0" if i == axis else "1" for i in range(axis + 1)])
    kept = [0 if i == axis else 1 for i in range(axis + 1)]
    assert len(kept) == axis + 1
    attributes = {"begin_mask": mask, "end_mask": mask}
    return g.op("StridedSlice-1", [x, _axes(*begin), _axes(*end), _axes(*[1] * (axis + 1))], attributes)


@pattern(
    length=("2", "3", "4", "6"),
    kind=("i32", "i64", "u8", "i8", "boolean"),
    end=("f32", "same", "boolean", "u8"),
)
def integers(g: Graph, *, length: str, kind: str, end: str) -> None:
    """Build a chain of integer layers, with conversions around it."""
    if kind == "boolean":
        x = g.op("Greater-1", [g.input(["N", 5, "S"], "f32"), np.float32(0.1)])
        for _ in range(int(length)):
            other = g.op("Less-1", [g.input(["N", 5, "S"], "f32"), np.float32(0.5)])
            x = g.op(str(g.pick("LogicalAnd-1", "LogicalOr-1", "LogicalXor-2")), [x, other])
        g.result(g.op("Convert-1", [x], {"destination_type": "f32"}))
        return
    x = g.input(["N", 5, "S"], kind, data="ties" if kind in ("u8", "i8") else "plain")
    for _ in range(int(length)):
        choice = g.pick(
            "Add-1", "Multiply-1", "Maximum-1", "Minimum-1", "Subtract-1", "Mod-1", "convert", "Abs-1", "Select-1"
        )
        if choice == "convert":
            x = g.op("Convert-1", [g.op("Convert-1", [x], {"destination_type": "f32"})], {"destination_type": kind})
        elif choice == "Abs-1":
            x = g.op("Abs-1", [x]) if kind[0] == "i" else x
        elif choice == "Select-1":
            small = g.number(2, kind)
            x = g.op("Select-1", [g.op("Greater-1", [x, small]), x, small])
        else:
            value = g.pick(1, 2, 3)
            x = x if choice == "Subtract-1" and kind == "u8" else g.op(str(choice), [x, g.number(value, kind)])
    g.result(x if end == "same" else g.op("Convert-1", [x], {"destination_type": end}))


@pattern(
    form=("squeeze", "unsqueeze", "flatten", "merge", "split", "shape of", "broadcast", "tile"),
    act=("relu", "none", "swish", "softmax"),
)
def reshapes(g: Graph, *, form: str, act: str) -> None:
    """Build changes of the shape between elementwise layers."""
    channels = g.channels(2, 4, 6, 8)
    x = activated(g, g.input(["N", channels, 1, "S"]), str(g.pick("relu", "none", "tanh")), channels)
    if form == "squeeze":
        y = g.op("Squeeze-1", [x, _axes(2)])
    elif form == "unsqueeze":
        y = g.op("Unsqueeze-1", [x, _axes(g.pick(0, 1, -1))])
    elif form == "flatten":
        y = g.op("Reshape-1", [x, _axes(0, -1)], {"special_zero": "true"})
    elif form == "merge":
        y = g.op("Reshape-1", [x, _axes(-1, channels // 2, 2)], {"special_zero": "false"})
    elif form == "split":
        y = g.op("Reshape-1", [x, _axes(0, 2, channels // 2, 0)], {"special_zero": "true"})
        y = g.op("Transpose-1", [y, _axes(0, 2, 1, 3)])
    elif form == "shape of":
        y = g.op(
            "Reshape-1",
            [g.op("Transpose-1", [x, _axes(3, 1, 2, 0)]), g.op("ShapeOf-3", [x])],
            {"special_zero": "false"},
        )
    elif form == "broadcast":
        target = g.op("Concat-1", [_axes(2), g.op("ShapeOf-3", [x])], {"axis": 0})
        y = g.op("Broadcast-3", [x, target], {"mode": "bidirectional"})
    else:
        y = g.op("Tile-1", [x, _axes(1, 2, 3, 1)])
    if act == "softmax":
        y = g.op("SoftMax-8", [y], {"axis": g.pick(1, -1)})
    g.result(y if act == "softmax" else activated(g, y, act, 1))


@pattern(
    shift=("0", "2", "-1"),
    window=("4", "2"),
    inner=("softmax", "matmul", "add", "norm", "none"),
    back=("same", "transposed"),
)
def windows(g: Graph, *, shift: str, window: str, inner: str, back: str) -> None:
    """Build an image that is divided into windows and reassembled, as in Swin transformers."""
    size, extent, channels = int(window), 8, g.channels(2, 4, 8, 12)
    count, moved = extent // size, int(shift)
    x = g.input(["N", extent, extent, channels])
    if moved:
        x = g.op("Roll-7", [x, _axes(-moved, -moved), _axes(1, 2)])
    split = _axes(-1, count, size, count, size, channels)
    y = g.op("Transpose-1", [g.op("Reshape-1", [x, split], _PLAIN), _axes(0, 1, 3, 2, 4, 5)])
    y = g.op("Reshape-1", [y, _axes(-1, size * size, channels)], _PLAIN)
    if inner == "softmax":
        scores = g.op("MatMul-1", [y, y], {"transpose_b": "true"})
        y = g.op("MatMul-1", [g.op("SoftMax-8", [scores], {"axis": "-1"}), y])
    elif inner == "matmul":
        y = g.op("Add-1", [g.op("MatMul-1", [y, g.array(channels, channels, scale=0.3)]), g.array(channels)])
    elif inner == "add":
        y = g.op("Add-1", [y, g.array(1, size * size, 1)])
    elif inner == "norm":
        y = g.op("MVN-6", [y, _axes(-1)], {"eps": "1e-3", "eps_mode": "inside_sqrt", "normalize_variance": "true"})
    y = g.op("Reshape-1", [y, _axes(-1, count, count, size, size, channels)], _PLAIN)
    order = _axes(0, 1, 3, 2, 4, 5) if back == "same" else _axes(0, 2, 4, 1, 3, 5)
    y = g.op("Reshape-1", [g.op("Transpose-1", [y, order]), _axes(-1, extent, extent, channels)], _PLAIN)
    g.result(g.op("Roll-7", [y, _axes(moved, moved), _axes(1, 2)]) if moved else y)


_PLAIN = {"special_zero": "false"}
