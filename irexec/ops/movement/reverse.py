"""Reverse and ReverseSequence: a tensor with some axes, or the first part of each sequence, in reverse order.

Source: operation pages Reverse-1, ReverseSequence-1.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import numpy as np

from irexec.core.types import BOOLEAN, DYNAMIC, INTEGERS, NUMERIC, Array, PartialShape, TensorType
from irexec.ops.compute.along import take_along
from irexec.ops.rules.axes import axes_of, drawn_below, filled, has_length, in_range, into, known_axes
from irexec.ops.rules.shapes import AnyRank, axis_in, has_rank
from irexec.ops.spec.operator import Check, Elements, operator, require
from irexec.ops.spec.oracle import Undefined
from irexec.ops.spec.tensors import AnyTensor
from irexec.ops.spec.traits import CarriesSizes

T_AXIS: TypeAlias = Annotated[Array, Elements("T_AXIS", INTEGERS | {BOOLEAN})]
T_LENGTHS: TypeAlias = Annotated[Array, Elements("T_LENGTHS", NUMERIC)]


@operator("Reverse", "opset1", CarriesSizes, view="data")
def reverse_1(data: AnyTensor, axis: T_AXIS, /, *, mode: Literal["index", "mask"]) -> AnyTensor:
    """`data` reversed along the axes that `axis` (1D) lists ("index") or marks ("mask").

    Raises ConstraintError C1 for an axis outside [-rank, rank - 1], C2 unless a mask has one value per axis.
    Shape rule: C3 axis is 1D, C4 axis is boolean for "mask" and not boolean for "index".
    """
    axes = axes_of("C1", axis, data.ndim, "axis") if mode == "index" else np.flatnonzero(axis).tolist()
    # An axis that is listed twice is reversed once.
    return np.flip(data, tuple(set(axes)))


@reverse_1.shapes
def _(check: Check, data: TensorType, axis: TensorType, *, mode: str) -> PartialShape:
    has_rank(check, "C3", axis, 1, "axis")
    boolean = axis.element_type is BOOLEAN
    found = f"axis is {axis.element_type}, which mode {mode!r} does not accept"
    check("C4", axis.element_type is DYNAMIC or boolean == (mode == "mask"), found, port="axis")
    if mode == "index":
        known_axes(check, "C1", axis, data.rank, "axis")
    else:
        has_length(check, "C2", axis, data.rank, "axis")
    return data.shape


@reverse_1.oracle.draw("axis")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    return filled(types, port, np.arange(types[port].shape[0].value) % max(len(types["data"].shape), 1))


@operator("ReverseSequence", "opset1")
def reverse_sequence_1(
    data: AnyTensor, seq_lengths: T_LENGTHS, /, *, batch_axis: int = 0, seq_axis: int = 1, out: Array | None = None
) -> AnyTensor:
    """For each index i along `batch_axis`, `data` with its first seq_lengths[i] elements along `seq_axis` reversed.

    Raises ConstraintError C1 for a batch_axis and C2 for a seq_axis outside [-rank, rank - 1], C4 unless there is one
    length per batch, C5 for a length outside [1, data.shape[seq_axis]]. Shape rule: C3 data has rank 2 or more.
    """
    batch, along = batch_axis % data.ndim, seq_axis % data.ndim
    lengths, extent = seq_lengths.astype(np.intp), data.shape[along]
    in_range(require, "C5", "seq_lengths", seq_lengths, 1, extent)
    places = np.arange(extent)
    index = np.where(places < lengths[:, None], lengths[:, None] - 1 - places, places)
    if batch == along:  # Element i belongs to sequence i.
        return into(np.take(data, index.diagonal(), along), out)
    wide = [1] * data.ndim
    wide[batch], wide[along] = index.shape
    index = index.reshape(wide) if batch < along else index.T.reshape(wide)
    return into(take_along(data, index, along), out)


@reverse_sequence_1.shapes
def _(check: Check, data: TensorType, seq_lengths: TensorType, *, batch_axis: int, seq_axis: int) -> PartialShape:
    has_rank(check, "C3", data, AnyRank[2:], "data")
    batch = axis_in(check, "C1", batch_axis, data.rank, attribute="batch_axis")
    along = axis_in(check, "C2", seq_axis, data.rank, attribute="seq_axis")
    has_length(check, "C4", seq_lengths, None if batch is None else data.shape[batch], "seq_lengths")
    if along is not None:
        in_range(check, "C5", "seq_lengths", seq_lengths.ints, 1, data.shape[along].max)
    if batch is None or seq_lengths.rank != 1:
        return data.shape
    return data.shape.with_dim(batch, data.shape[batch].merge(seq_lengths.shape[0]) or data.shape[batch])


@reverse_sequence_1.oracle.draw("seq_lengths")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType], *, seq_axis: int) -> Array:
    extent = types["data"].shape[seq_axis].value
    return drawn_below(rng, types, port, extent) + np.ones((), types[port].element_type.dtype)


@reverse_sequence_1.oracle.undefined_for
def _(data: Array, seq_lengths: Array) -> Undefined:
    """The result is undefined for a length that is not an integer."""
    return bool((seq_lengths != seq_lengths.astype(np.intp)).any())
