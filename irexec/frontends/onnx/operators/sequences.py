"""Translators of ONNX's sequences and optionals. Where positions are constant, no sequence is created.

Source: ONNX operator pages.
"""

from __future__ import annotations

import numpy as np

from irexec.core.types import F32, OPTIONALS, optional_of, sequence_of
from irexec.core.types.containers import packed
from irexec.frontends.onnx.errors import Refused
from irexec.frontends.onnx.kinds import declared_type, element_type
from irexec.frontends.onnx.op import Op
from irexec.frontends.onnx.registry import translates
from irexec.model.graph.model import Value


@translates("SequenceConstruct", since=(11,))
def _construct(op: Op) -> Value:
    return op.make("SequenceConstruct", *(op[i] for i in range(len(op))), opset="onnx11")


@translates("SequenceEmpty", since=(11,))
def _empty(op: Op) -> Value:
    kind = element_type(op.integer("dtype")) if op.has("dtype") else F32
    if kind is None:
        raise Refused("F004", f"dtype is {op.integer('dtype')}, which is not a data type", attribute="dtype")
    return op.constant(packed([]), sequence_of(kind))


@translates("SequenceAt", since=(11,), shapes="input_sequence:; position: scalar")
def _at(op: Op) -> Value:
    members, position = _members(op[0]), op.known(1)
    if members is not None and position is not None and position.size == 1:
        place = int(position.reshape(-1)[0])
        if -len(members) <= place < len(members):
            return op.same(members[place])
    return op.make("SequenceAt", op[0], op[1], opset="onnx11")


def _members(sequence: Value) -> list[Value] | None:
    """Return the tensors of a sequence that a node of the same graph builds; None if they are unknown."""
    node = sequence.node
    return [value for value in node.inputs if value is not None] if node.type == "SequenceConstruct" else None


@translates("SequenceInsert", since=(11,), shapes="input_sequence:; tensor:; position: scalar")
def _insert(op: Op) -> Value:
    return op.make("SequenceInsert", op[0], op[1], op.get(2), opset="onnx11")


@translates("SequenceErase", since=(11,), shapes="input_sequence:; position: scalar")
def _erase(op: Op) -> Value:
    return op.make("SequenceErase", op[0], op.get(1), opset="onnx11")


@translates("SequenceLength", since=(11,))
def _length(op: Op) -> Value:
    members = _members(op[0])
    if members is not None:
        return op.constant(np.array(len(members)))
    return op.make("SequenceLength", op[0], opset="onnx11")


@translates("ConcatFromSequence", since=(11,))
def _concat(op: Op) -> Value:
    axis, stacked, members = op.integer("axis"), op.flag("new_axis"), _members(op[0])
    if not members:
        return op.make("ConcatFromSequence", op[0], opset="onnx11", axis=axis, new_axis=stacked)
    if stacked:
        members = [op.make("Unsqueeze", member, [axis]) for member in members]
    return op.make("Concat", *members, axis=axis)


@translates("SplitToSequence", since=(11, 24), shapes="input:; split: | n")
def _split(op: Op) -> Value:
    axis, keepdims, lengths = op.integer("axis", 0), op.flag("keepdims", True), op.known(1)
    data = op[0]
    rank = data.type.shape.rank
    extent = data.type.shape[axis] if rank is not None and -rank <= axis < rank else None
    if lengths is not None and lengths.ndim == 0 and extent is not None and extent.is_static and lengths > 0:
        lengths = np.array([min(int(lengths), extent.value - i) for i in range(0, extent.value, int(lengths))])
    if lengths is not None and lengths.ndim == 1 and lengths.size:
        parts: list[Value] = op.make_node("VariadicSplit", data, axis, lengths.astype(np.int64)).outputs
        return op.make("SequenceConstruct", *parts, opset="onnx11")
    if op.get(1) is None and extent is not None and extent.is_static and 0 < extent.value <= _MAX_PARTS:
        split = op.make_node("Split", data, axis, num_splits=extent.value).outputs
        parts = list(split) if keepdims else [op.make("Squeeze", part, [axis]) for part in split]
        return op.make("SequenceConstruct", *parts, opset="onnx11")
    return op.make("SplitToSequence", data, op.get(1), opset="onnx11", axis=axis, keepdims=keepdims)


# The maximum number of separate values into which a tensor is split.
_MAX_PARTS = 256


@translates("Optional", since=(15, 28))
def _optional(op: Op) -> Value:
    if op.get(0) is not None:
        return op.make("Optional", op[0], opset="onnx15")
    declared = op.type_attribute("type")
    if declared is None:
        raise Refused("F004", "an optional without a value needs a type", attribute="type")
    try:
        kind = declared_type(declared).element_type
    except Refused as error:
        raise Refused(error.code, f"the type {error}", attribute="type") from None
    return op.constant(packed([]), optional_of(kind))


@translates("OptionalHasElement", since=(15, 18, 28))
def _has_element(op: Op) -> Value:
    value = op.get(0)
    if value is None or value.element_type not in OPTIONALS:
        return op.constant(np.array(value is not None))
    return op.make("OptionalHasElement", value, opset="onnx15")


@translates("OptionalGetElement", since=(15, 18, 28))
def _get_element(op: Op) -> Value:
    value = op[0]
    if value.element_type not in OPTIONALS:
        return op.same(value)
    inside = value.node.inputs[0] if value.node.type == "Optional" and value.node.inputs else None
    return op.same(inside) if inside is not None else op.make("OptionalGetElement", value, opset="onnx15")
