"""Translators of ONNX's operators that move elements: concatenation, split, transposition, padding, slices.

Source: ONNX operator pages.
"""

from __future__ import annotations

import numpy as np

from irexec.core.types import BOOLEAN, I64, STRING
from irexec.frontends.onnx.errors import Refused
from irexec.frontends.onnx.op import Input, Op
from irexec.frontends.onnx.registry import translates
from irexec.model.graph.model import Value

_LATER = (21, 23, 24, 25)


@translates("Concat", since=(1, 4, 11, 13))
def _concat(op: Op) -> Value:
    return op.make("Concat", *[op[i] for i in range(len(op))], axis=op.integer("axis", 1))


@translates("Split", since=(1, 2, 11, 13, 18))
def _split(op: Op) -> list[Value]:
    axis, data = op.integer("axis", 0), op[0]
    count = op.integer("num_outputs", len(op.node.output))
    given = op.get(1)
    op.check_shapes("input:; split: n", n=len(op.node.output))
    if op.version >= 18 and (given is None) is not op.has("num_outputs"):
        raise Refused("F004", "exactly one of split and num_outputs must be given", attribute="num_outputs")
    lengths: Input = given if given is not None else op.integers("split")
    if given is not None and given.type.shape.is_dynamic:
        # The number of lengths is the number of the node's outputs.
        lengths = op.reshape(given, [len(op.node.output)])
    if lengths is not None:
        return list(op.make_node("VariadicSplit", data, axis, lengths).outputs)
    if not 1 <= count <= max(1, len(op.node.output)):
        op.refuse(f"num_outputs is {count}, but the node has {len(op.node.output)} outputs", attribute="num_outputs")
    rank = data.type.shape.rank
    extent = data.type.shape[axis] if rank is not None and -rank <= axis < rank else None
    if op.version < 18 or (extent is not None and extent.is_static and extent.value % count == 0):
        return list(op.make_node("Split", data, axis, num_splits=count).outputs)
    # All parts except the last have the same length, rounded up.
    whole = op.extent(data, [axis])
    rounded_up = op.make("Add", whole, count - 1)
    part = op.make("Divide", rounded_up, count)
    parts = op.make("Broadcast", part, [count - 1], opset=3)
    lengths = op.make("Concat", parts, [-1], axis=0)
    return list(op.make_node("VariadicSplit", data, axis, lengths).outputs)


@translates("Transpose", since=(1, 13, *_LATER))
def _transpose(op: Op) -> Value:
    order = op.constant(np.array(op.integers("perm") or [], np.int64))
    return op.make("Transpose", op[0], order)


@translates("Tile", since=(6, 13), shapes="input:; repeats: input.rank")
def _tile(op: Op) -> Value:
    repeats = op.known(1)
    if repeats is not None and (repeats < 0).any():
        raise Refused("O001", f"repeats is {repeats.tolist()}, expected no negative number", port="repeats")
    return op.make("Tile", op[0], op[1])


@translates("Pad", since=(1, 2))
def _pad_2(op: Op) -> Value:
    pads = op.integers("pads" if op.version == 2 else "paddings") or []
    half = len(pads) // 2
    begins, ends = (op.constant(np.array(part, np.int64)) for part in (pads[:half], pads[half:]))
    return _padded(op, begins, ends, op.like(op.number("value")))


@translates("Pad", since=(11, 13, 18, 19, *_LATER))
def _pad(op: Op) -> Value:
    axes, rank = op.get(3), op.rank()
    op.check_shapes(
        f"data:; pads: 2*n; constant_value: scalar; axes: {'n' if axes is not None else ''}",
        **({"n": rank} if axes is None and rank is not None else {}),
    )
    pads = op.convert(op[1], I64)
    if axes is not None:
        pads = _pads_of_all_axes(op, pads, axes)
    halves = op.make_node("Split", pads, 0, num_splits=2).outputs
    value = op.get(2)
    if value is not None and value.type.shape.rank != 0:
        value = op.reshape(value, [])
    return _padded(op, halves[0], halves[1], value)


def _pads_of_all_axes(op: Op, pads: Value, axes: Value) -> Value:
    """Return the pads at the beginning and end of all axes: zeros except for the given axes."""
    rank = op.rank_of(op[0])
    places = op.make("FloorMod", op.convert(axes, I64), rank)
    places = op.make("Concat", places, op.make("Add", places, rank), axis=0)
    zeros: Input = [0] * 2 * rank if isinstance(rank, int) else None
    if isinstance(rank, Value):
        zeros = op.make("Broadcast", 0, op.reshape(op.make("Multiply", rank, 2), [1]), opset=3)
    return op.make("ScatterUpdate", zeros, places, pads, 0, opset=3)


def _padded(op: Op, begins: Value, ends: Value, value: Value | None) -> Value:
    mode = op.text("mode", "constant", allowed=("constant", "reflect", "edge", "wrap"))
    if mode == "wrap":
        return _wrapped(op, begins, ends)
    if mode != "constant":
        return op.make("Pad", op[0], begins, ends, opset=12, pad_mode=mode)
    if value is None:
        value = op.constant(np.array("", STRING.dtype)) if op.kind() is STRING else op.like(0)
    return op.make("Pad", op[0], begins, ends, value, opset=12, pad_mode="constant")


def _wrapped(op: Op, begins: Value, ends: Value) -> Value:
    """Pad each axis in turn, as if its elements were repeated periodically."""
    result = op[0]
    for axis in range(op.needs_rank()):
        begin, end = (op.make("Gather", pads, axis, 0, opset=8) for pads in (begins, ends))
        extent = op.extent(op[0], axis)
        first, stop = op.make("Subtract", 0, begin), op.make("Add", extent, end)
        # Elements that negative pads remove are not repeated.
        low, high = op.make("Maximum", first, 0), op.make("Minimum", stop, extent)
        places = op.make("Subtract", op.make("Range", first, stop, 1, opset=4, output_type=I64), low)
        places = op.make("FloorMod", places, op.make("Subtract", high, low))
        result = op.make("Gather", result, op.make("Add", places, low), axis, opset=8)
    return result


@translates("Slice", since=(1,))
def _slice_1(op: Op) -> Value:
    starts, ends = op.integers("starts") or [], op.integers("ends") or []
    if not len(starts) == len(ends) == len(op.integers("axes") or starts):
        op.refuse("starts, ends and axes differ in length, expected equal numbers")
    return op.make("Slice", op[0], starts, ends, [1] * len(starts), op.integers("axes"), opset=8)


@translates("Slice", since=(10, 11, 13), shapes="data:; starts: n; ends: n; axes: n; steps: n")
def _slice(op: Op) -> Value:
    starts, steps = op[1], op.get(4)
    if steps is None:
        steps = op.make("Broadcast", op.like(1, 1), op.shape_of(starts), opset=3)
    elif (known := op.known(4)) is None or (known < 0).any():
        starts = _starts(op, starts, steps, op.get(3))
    return op.make("Slice", op[0], starts, op[2], steps, op.get(3), opset=8)


def _starts(op: Op, starts: Value, steps: Value, axes: Value | None) -> Value:
    """Return adjusted starts: a backward slice that starts before the first element contains it in ONNX, and is empty
    in IR.
    """
    extents = op.shape_of(op[0])
    if axes is not None:
        extents = op.make("Gather", extents, axes, 0, opset=8)
    first = op.make("Negative", op.convert(extents, starts.element_type))
    backwards = op.make("Less", steps, op.number_of(0, steps))
    return op.make("Select", backwards, op.make("Maximum", starts, first), starts)


@translates("DepthToSpace", since=(1, 11, 13, 28), shapes="input: N C H W")
def _depth_to_space(op: Op) -> Value:
    mode = {"DCR": "blocks_first", "CRD": "depth_first"}[op.text("mode", "DCR", allowed=("DCR", "CRD"))]
    return op.make("DepthToSpace", op[0], block_size=op.integer("blocksize"), mode=mode)


@translates("SpaceToDepth", since=(1, 13, 28), shapes="input: N C H W")
def _space_to_depth(op: Op) -> Value:
    mode = {"DCR": "blocks_first", "CRD": "depth_first"}[op.text("mode", "DCR", allowed=("DCR", "CRD"))]
    return op.make("SpaceToDepth", op[0], block_size=op.integer("blocksize"), mode=mode)


@translates("Trilu", since=(14,), shapes="input: ... _ _; k: scalar")
def _triangle(op: Op) -> Value:
    shape, k = op.shape_of(op[0]), op.get(1)
    rows, columns = (
        op.make("Unsqueeze", _count_to(op, op.make("Gather", shape, place, 0, opset=8)), [axis])
        for place, axis in ((-2, 1), (-1, 0))
    )
    diagonal = op.make("Subtract", columns, rows)
    bound = k if k is not None else 0
    comparison = "GreaterEqual" if op.flag("upper", True) else "LessEqual"
    inside = op.make(comparison, diagonal, bound)
    nothing = op.constant(np.array(False)) if op.kind() is BOOLEAN else op.like(0)
    return op.make("Select", inside, op[0], nothing)


def _count_to(op: Op, count: Value) -> Value:
    return op.make("Range", 0, count, 1, opset=4, output_type=I64)


@translates("Compress", since=(9, 11, 28), shapes="input:; condition: n")
def _compress(op: Op) -> Value:
    places = op.make("NonZero", op[1], opset=3, output_type="i64")
    places = op.make("Squeeze", places, [0])
    if op.has("axis"):
        return op.make("Gather", op[0], places, op.integer("axis"), opset=7)
    return op.make("Gather", op.reshape(op[0], [-1]), places, 0, opset=7)


@translates("ReverseSequence", since=(10, 28), shapes="input: _ _ ...; sequence_lens: N")
def _reverse_sequence(op: Op) -> Value:
    options = {"batch_axis": op.integer("batch_axis", 1), "seq_axis": op.integer("time_axis", 0)}
    if sorted(options.values()) != [0, 1]:
        message = "batch_axis is {batch_axis} and time_axis is {seq_axis}, expected 0 and 1, or 1 and 0"
        raise Refused("F004", message.format(**options), attribute="batch_axis")
    # IR does not accept a length of 0, which has the same effect as 1.
    lengths = op.make("Maximum", op[1], 1)
    return op.make("ReverseSequence", op[0], lengths, **options)
