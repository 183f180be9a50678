"""Sequences of tensors, and optionals: the operators of ONNX that create and read them.

Source: ONNX operator pages. A sequence is a tensor of rank 1 whose elements are tensors; an optional is a sequence of
at most one element (irexec.core.types.containers).
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from irexec.core.types import (
    ANY,
    BOOLEAN,
    CONTAINERS,
    DYNAMIC,
    FOREIGN,
    I64,
    OPTIONALS,
    SEQUENCES,
    Array,
    Dimension,
    ElementType,
    PartialShape,
    TensorType,
    member_of,
    optional_of,
    sequence_of,
)
from irexec.core.types.containers import packed
from irexec.ops.spec.operator import Check, Elements, operator, require
from irexec.ops.spec.tensors import EachIndexTensor

T: TypeAlias = Annotated[Array, Elements("T", ANY | FOREIGN)]
V: TypeAlias = Annotated[Array, Elements(None, ANY | FOREIGN | CONTAINERS)]
S: TypeAlias = Annotated[Array, Elements("S", SEQUENCES)]
O: TypeAlias = Annotated[Array, Elements("O", OPTIONALS)]  # noqa: E741 - as the pages call it


def _place(sequence: Array, position: Array, least: int, most: int) -> int:
    """Return a position as an index from the front. Raises ConstraintError C1."""
    place = int(position.reshape(-1)[0]) if position.size == 1 else None
    message = f"position {position.tolist()} is out of range for a sequence of {len(sequence)} tensors"
    require("C1", place is not None and least <= place < most, message, port="position")
    assert place is not None
    return place + len(sequence) if place < 0 else place


@operator("SequenceConstruct", "onnx11")
def sequence_construct_11(*tensors: T) -> S:
    """The tensors as a sequence."""
    return packed(tensors)


@sequence_construct_11.shapes
def _(check: Check, *tensors: TensorType) -> TensorType:
    kind = next((t.element_type for t in tensors if t.element_type is not DYNAMIC), DYNAMIC)
    return TensorType(sequence_of(kind), PartialShape([len(tensors)]))


@operator("SequenceAt", "onnx11")
def sequence_at_11(sequence: S, position: EachIndexTensor, /) -> Annotated[Array, Elements(None, ANY | FOREIGN)]:
    """The tensor at a position; a negative position counts from the end. C1: the position exists."""
    found: Array = sequence[_place(sequence, position, -len(sequence), len(sequence))]
    return found


@sequence_at_11.shapes
def _(check: Check, sequence: TensorType, position: TensorType) -> TensorType:
    return TensorType(member_of(sequence.element_type), PartialShape.dynamic())


@operator("SequenceInsert", "onnx11")
def sequence_insert_11(sequence: S, tensor: T, position: EachIndexTensor | None = None, /) -> S:
    """The sequence with the tensor inserted before the position, or at the end. C1: the position is within [-n, n].

    C2: the tensor is of the sequence's type.
    """
    place = len(sequence)
    if position is not None:
        place = _place(sequence, position, -len(sequence), len(sequence) + 1)
    return packed([*sequence[:place], tensor, *sequence[place:]])


@sequence_insert_11.shapes
def _(check: Check, sequence: TensorType, tensor: TensorType, position: TensorType | None) -> TensorType:
    member, kind = member_of(sequence.element_type), tensor.element_type
    fits = DYNAMIC in (member, kind) or member is kind
    check(
        "C2",
        fits,
        f"the tensor is {kind}, expected {member}, the type of the sequence",
        port="tensor",
        allowed=str(member),
    )
    return TensorType(sequence.element_type, PartialShape([d + 1 for d in sequence.shape]))


@operator("SequenceErase", "onnx11")
def sequence_erase_11(sequence: S, position: EachIndexTensor | None = None, /) -> S:
    """The sequence without the tensor at a position, or without the last. C1: the position exists."""
    at = np.array(-1) if position is None else position
    place = _place(sequence, at, -len(sequence), len(sequence))
    return packed([*sequence[:place], *sequence[place + 1 :]])


@sequence_erase_11.shapes
def _(check: Check, sequence: TensorType, position: TensorType | None) -> TensorType:
    return TensorType(sequence.element_type, PartialShape([Dimension(-1)]))


@operator("SequenceLength", "onnx11")
def sequence_length_11(sequence: S, /) -> Annotated[Array, Elements(None, {I64})]:
    """The number of tensors in the sequence."""
    return np.array(len(sequence))


@sequence_length_11.shapes
def _(check: Check, sequence: TensorType) -> PartialShape:
    return PartialShape([])


@operator("ConcatFromSequence", "onnx11")
def concat_from_sequence_11(
    sequence: S, /, *, axis: int, new_axis: bool = False
) -> Annotated[Array, Elements(None, ANY | FOREIGN)]:
    """The tensors joined along an axis, or (`new_axis`) stacked. C1: the sequence is not empty, and the shapes fit."""
    require("C1", len(sequence) > 0, "the sequence is empty", port="sequence")
    try:
        return np.stack(list(sequence), axis) if new_axis else np.concatenate(list(sequence), axis)
    except (ValueError, np.exceptions.AxisError) as error:
        require("C1", False, f"the tensors cannot be joined: {error}", port="sequence")
        raise


@concat_from_sequence_11.shapes
def _(check: Check, sequence: TensorType, *, axis: int, new_axis: bool) -> TensorType:
    return TensorType(member_of(sequence.element_type), PartialShape.dynamic())


@operator("SplitToSequence", "onnx11")
def split_to_sequence_11(
    data: T, split: EachIndexTensor | None = None, /, *, axis: int = 0, keepdims: bool = True
) -> Annotated[Array, Elements(None, SEQUENCES)]:
    """`data` cut along an axis: into single elements (without their axis, unless `keepdims`), into parts of one length
    (the last may be shorter), or of given lengths. C1: the lengths are positive and add up to the extent.
    """
    require(
        "C1",
        -data.ndim <= axis < data.ndim,
        f"axis {axis} is outside [{-data.ndim}, {data.ndim - 1}]",
        port="data",
    )
    extent = data.shape[axis]
    if split is None:
        parts = np.split(data, extent, axis) if extent else []
        return packed(parts if keepdims else [np.squeeze(part, axis) for part in parts])
    lengths = split.reshape(-1).tolist()
    if split.ndim == 0:
        require("C1", lengths[0] > 0, f"split is {lengths[0]}, expected a positive number", port="split")
        lengths = [min(lengths[0], extent - first) for first in range(0, extent, lengths[0])]
    fits = min(lengths, default=0) >= 0 and sum(lengths) == extent
    require("C1", fits, f"the lengths {lengths[:8]} do not add up to {extent}", port="split")
    return packed(np.split(data, np.cumsum(lengths)[:-1], axis) if lengths else [])


@split_to_sequence_11.shapes
def _(check: Check, data: TensorType, split: TensorType | None, *, axis: int, keepdims: bool) -> TensorType:
    return TensorType(sequence_of(data.element_type), PartialShape([Dimension(-1)]))


@operator("Optional", "onnx15")
def optional_15(value: V | None = None, /, *, type: ElementType | None = None) -> O:
    """An optional that contains this value, or an empty optional of this type."""
    return packed([] if value is None else [value])


@optional_15.shapes
def _(check: Check, value: TensorType | None, *, type: ElementType | None) -> TensorType:
    kind = type if value is None or type is not None else optional_of(value.element_type)
    return TensorType(kind or DYNAMIC, PartialShape([0 if value is None else 1]))


@operator("OptionalHasElement", "onnx15")
def optional_has_element_15(value: O, /) -> Annotated[Array, Elements(None, {BOOLEAN})]:
    """True if the optional has a value."""
    return np.array(len(value) > 0)


@optional_has_element_15.shapes
def _(check: Check, value: TensorType) -> PartialShape:
    return PartialShape([])


@operator("OptionalGetElement", "onnx15")
def optional_get_element_15(value: O, /) -> V:
    """The value of an optional. C1: it has a value."""
    require("C1", len(value) > 0, "the optional is empty", port="value")
    found: Any = value[0]
    return found  # type: ignore[no-any-return]


@optional_get_element_15.shapes
def _(check: Check, value: TensorType) -> TensorType:
    kind = member_of(value.element_type)
    return TensorType(kind, PartialShape([-1]) if kind in SEQUENCES else PartialShape.dynamic())
