"""Translators of com.microsoft operators that are versions of ONNX's operators, or consist of a few of IR's.

Source: ONNX Runtime's list of contributed operators.
"""

from __future__ import annotations

import numpy as np

from irexec.core.types import F32, I64
from irexec.frontends.onnx.op import Op
from irexec.frontends.onnx.operators.microsoft import microsoft, moved, plus, root_mean_square
from irexec.frontends.onnx.registry import Result, translators
from irexec.model.graph.model import Value

# Operators that ONNX defines as well → the version of ONNX with the same definition.
_OF_ONNX = {"Trilu": 14, "GatherND": 11, "GridSample": 16, "Pad": 11}


@microsoft(*_OF_ONNX)
def _as_in_onnx(op: Op) -> Result:
    if op.type == "Pad":
        # The pads may be a matrix of one row.
        op.inputs[1] = op.reshape(op[1], [-1])
    op.version = _OF_ONNX[op.type]
    return translators()["", op.type, op.version](op)


@microsoft("Range")
def _range(op: Op) -> Value:
    start, stop = op.reshape(op[0], []), op.reshape(op[1], [])
    step = op.like(1) if op.get(2) is None else op.reshape(op[2], [])
    return op.make("Range", start, stop, step, opset=4, output_type=op.kind())


@microsoft("UnfoldTensor")
def _unfolded(op: Op) -> Value:
    """Return windows along an axis, with their elements along a new last axis."""
    axis, size, step, rank = op.axis("dim", -1), op.integer("size"), op.integer("step", 1), op.needs_rank()
    extent = op.extent(op[0], axis)
    last = op.make("Subtract", extent, size - 1)
    begins = op.make("Unsqueeze", op.make("Range", 0, last, step, opset=4, output_type=I64), [1])
    windows = op.make("Gather", op[0], op.make("Add", begins, op.constant(np.arange(size))), axis, opset=8)
    order = [i for i in range(rank + 1) if i != axis + 1] + [axis + 1]
    return op.make("Transpose", windows, order)


@microsoft("CDist", shapes="A: M K; B: N K")
def _distances(op: Op) -> Value:
    metric = op.text("metric", "sqeuclidean", allowed=("euclidean", "sqeuclidean"))
    apart = op.make("Subtract", op.make("Unsqueeze", op[0], [1]), op.make("Unsqueeze", op[1], [0]))
    total = op.make("ReduceSum", op.make("Multiply", apart, apart), [2], keep_dims=False)
    return total if metric == "sqeuclidean" else op.make("Sqrt", total)


@microsoft("NhwcMaxPool")
def _channels_last(op: Op) -> Value:
    rank = op.needs_rank()
    op.inputs[0] = moved(op, op[0], rank - 1, 1)
    op.version = 12
    made = translators()["", "MaxPool", 12](op)
    return moved(op, made if isinstance(made, Value) else op.same(next(v for v in made if v is not None)), 1, rank - 1)


@microsoft("CropAndResize")
def _cropped(op: Op) -> Value:
    """Return boxes of images, sampled at positions from one corner of a box to the other."""
    size = op.known(3)
    if size is None:
        op.refuse("crop_size must be constant")
    height, width = (int(extent) for extent in size)
    mode = op.text("mode", "bilinear", allowed=("bilinear", "nearest"))
    images = op.make("Gather", op[0], op[2], 0, opset=7)
    y1, x1, y2, x2 = (op.make("Gather", op[1], [i], 1, opset=8) for i in range(4))
    rows, columns = _between(op, y1, y2, height), _between(op, x1, x2, width)
    tall = op.make("Unsqueeze", rows, [2])
    wide = op.make("Unsqueeze", columns, [1])
    nothing = op.like(0)
    tall = op.make("Add", tall, op.make("Multiply", wide, nothing))
    wide = op.make("Add", wide, op.make("Multiply", tall, nothing))
    places = [op.make("Unsqueeze", part, [3]) for part in (wide, tall)]
    grid = op.make("Subtract", op.make("Multiply", op.make("Concat", *places, axis=3), op.like(2)), op.like(1))
    sampled = op.make("GridSample", images, grid, opset=9, align_corners=True, mode=mode, padding_mode="border")
    inside = [_within(op, part) for part in (tall, wide)]
    allowed = op.make("Unsqueeze", op.make("LogicalAnd", *inside), [1])
    return op.make("Select", allowed, sampled, op.like(op.number("extrapolation_value", 0.0)))


def _between(op: Op, first: Value, last: Value, count: int) -> Value:
    """Return [boxes, count]: positions from `first` to `last`; the middle if there is only one."""
    if count == 1:
        return op.make("Multiply", op.make("Add", first, last), op.like(0.5))
    steps = op.constant((np.arange(count) / (count - 1)).astype(op.kind(1).dtype), op.kind(1))
    span = op.make("Subtract", last, first)
    return op.make("Add", first, op.make("Multiply", span, steps))


def _within(op: Op, places: Value) -> Value:
    above, below = (op.make("GreaterEqual", places, op.like(0)), op.make("LessEqual", places, op.like(1)))
    return op.make("LogicalAnd", above, below)


# Gates and norms


@microsoft("GatedAdd")
def _gated_add(op: Op) -> Value:
    return op.make("Add", op[0], op.make("Multiply", op[1], op[2]))


@microsoft("ScaledSiLU")
def _scaled_silu(op: Op) -> Value:
    wide, alpha, scale = op.convert(op[0], F32), op.number("alpha", 1.0), op.get(1)
    factor = op.number_of(alpha, wide) if scale is None else op.reshape(op.convert(scale, F32), [])
    z = op.convert(op.make("Multiply", wide, factor), op.kind())
    return op.make("Multiply", z, op.make("Sigmoid", z))


@microsoft("LinearAttentionGate")
def _linear_gate(op: Op) -> list[Value]:
    soft = op.make("SoftPlus", plus(op, op.convert(op[0], F32), op[1]), opset=4)
    results = [op.convert(op.make("Multiply", soft, op[2]), op.kind())]
    if op.wants(1):
        results.append(op.make("Sigmoid", op[3]))
    return results


@microsoft("GatedRMSNorm")
def _gated_norm(op: Op) -> Value:
    """Translate a gated norm: the root mean square is taken over as many elements as the scale has."""
    wide, scale = op.convert(op[0], F32), op.convert(op[1], F32)
    size = scale.type.shape[0] if scale.type.shape.rank == 1 else None
    if size is None or not size.is_static:
        op.refuse("the size of the scale must be known")
    parts = op.reshape(wide, op.make("Concat", _but_last(op, wide), [-1, size.value], axis=0))
    normal, _ = root_mean_square(op, parts, scale, [-1], op.number("epsilon", 1e-5))
    gate = op.convert(op[2], F32)
    activation = op.text("activation", "silu", allowed=("silu", "swish", "sigmoid"))
    opened = op.make("Sigmoid", gate) if activation == "sigmoid" else op.make("Swish", gate, opset=4)
    made = op.make("Multiply", op.reshape(normal, op.shape_of(wide)), opened)
    return op.convert(made, op.kind())


@microsoft("BranchwiseRMSNorm")
def _branchwise(op: Op) -> Value:
    wide, branches, scale = op.convert(op[0], F32), op.integer("num_branches", 0), op.get(1)
    parts = wide
    if branches:
        parts = op.reshape(wide, op.make("Concat", _but_last(op, wide), [branches, -1], axis=0))
    if scale is None:
        scale = op.number_of(1, wide)
    else:
        scale = op.convert(scale, F32)
        rank, size = scale.type.shape.rank, parts.type.shape[-1]
        if not size.is_static:
            op.refuse("the size of a branch must be known")
        if rank == 1 and scale.type.shape != [size.value]:
            scale = op.reshape(scale, [-1, size.value])
    normal, _ = root_mean_square(op, parts, scale, [-1], op.number("epsilon", 1e-5))
    return op.convert(op.reshape(normal, op.shape_of(wide)), op.kind())


def _but_last(op: Op, x: Value) -> Value:
    return op.make("Slice", op.shape_of(x), [0], [-1], [1], opset=8)
