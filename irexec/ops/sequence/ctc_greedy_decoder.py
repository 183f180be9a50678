"""CTCGreedyDecoder and CTCGreedyDecoderSeqLen: the most probable class of each step, as a sequence without blanks.

Source: operation pages CTCGreedyDecoder-1, CTCGreedyDecoderSeqLen-6. Of equally probable classes the first is used.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import numpy as np

from irexec.core.types import INDICES, Array, ElementType, PartialShape, TensorType
from irexec.ops.compute.precision import widen
from irexec.ops.rules.axes import drawn_below, filled, in_range, one_element
from irexec.ops.rules.extents import Extents
from irexec.ops.sequence.ctc import blank_of, known_blank, packed
from irexec.ops.spec.operator import Check, Elements, TypeFrom, operator, require
from irexec.ops.spec.oracle import Allowed
from irexec.ops.spec.tensors import FloatTensorF

T_I: TypeAlias = Annotated[Array, Elements("T_I", INDICES)]
IndexType = Literal["i64", "i32"]


@operator("CTCGreedyDecoderSeqLen", "opset6")
def ctc_greedy_decoder_seq_len_6(
    data: FloatTensorF,
    sequence_length: T_I,
    blank_index: T_I | None = None,
    /,
    *,
    merge_repeated: bool = True,
    classes_index_type: IndexType = "i32",
    sequence_length_type: IndexType = "i32",
) -> tuple[Annotated[Array, TypeFrom("classes_index_type")], Annotated[Array, TypeFrom("sequence_length_type")]]:
    """`data` [N, T, C] decoded: classes [N, T], followed by -1, and the number of classes [N].

    Each of the first `sequence_length` [N] steps adds its most probable class, except for blanks and, with
    `merge_repeated`, the class of the previous step. The default blank is class C - 1.

    C1: data has rank 3 and, unless it is empty, a class. C2: sequence_length has shape [N] and is in [0, T].
    C3: blank_index is a scalar or one element. C4: blank_index is in [0, C - 1].
    """
    steps = data.shape[1]
    in_range(require, "C2", "sequence_length", sequence_length, 0, steps)
    live = np.arange(steps) < sequence_length[:, None]
    classes, counts = _decoded(data, live, blank_of("C4", blank_index, data.shape[2]), merge_repeated)
    kinds = [ElementType.by_name[name].dtype for name in (classes_index_type, sequence_length_type)]
    return classes.astype(kinds[0]), counts.astype(kinds[1])


@ctc_greedy_decoder_seq_len_6.shapes
def _(
    check: Check, data: TensorType, sequence_length: TensorType, blank_index: TensorType | None
) -> list[PartialShape]:
    extents = Extents(check)
    _check_data(check, extents, data, "N", "T", "C")
    extents.match("C2", "sequence_length", sequence_length, "N")
    in_range(check, "C2", "sequence_length", sequence_length.ints, 0, extents["T"].max)
    if blank_index is not None:
        one_element(check, "C3", blank_index, "blank_index")
    known_blank(check, "C4", blank_index, extents["C"])
    return [extents.shape("N", "T"), extents.shape("N")]


@operator("CTCGreedyDecoder", "opset1")
def ctc_greedy_decoder_1(
    data: FloatTensorF, sequence_mask: FloatTensorF, /, *, ctc_merge_repeated: bool = True
) -> FloatTensorF:
    """`data` [T, N, C] decoded, as by CTCGreedyDecoderSeqLen-6 with blank C - 1: classes [N, T, 1, 1], followed by -1.

    The length of a sequence is the number of ones in its column of `sequence_mask` [T, N].

    C1: data has rank 3 and, unless it is empty, a class. C2: sequence_mask has shape [T, N]. C3: its columns are ones,
    then zeros.
    """
    mask = widen(sequence_mask).T
    _check_mask(require, mask)
    classes, _ = _decoded(data.transpose(1, 0, 2), mask != 0, data.shape[2] - 1, ctc_merge_repeated)
    return classes[:, :, None, None].astype(data.dtype)


@ctc_greedy_decoder_1.shapes
def _(check: Check, data: TensorType, sequence_mask: TensorType) -> PartialShape:
    extents = Extents(check)
    _check_data(check, extents, data, "T", "N", "C")
    if extents.match("C2", "sequence_mask", sequence_mask, "T", "N") and sequence_mask.value is not None:
        _check_mask(check, widen(sequence_mask.value).T)
    return extents.shape("N", "T", 1, 1)


def _decoded(data: Array, live: Array, blank: int, merge: bool) -> tuple[Array, Array]:
    """Return the packed classes [N, T] of `data` [N, T, C], and their number [N]. `live`: mask [N, T] of the steps."""
    best = np.zeros(live.shape, np.int64) if live.size == 0 else np.argmax(widen(data), axis=2)
    keep = live & (best != blank)
    if merge:
        keep[:, 1:] &= best[:, 1:] != best[:, :-1]
    return packed(best, keep, -1)


def _check_data(check: Check, extents: Extents, data: TensorType, *pattern: str) -> None:
    if extents.match("C1", "data", data, *pattern):
        empty = extents["N"].contains(0) or extents["T"].contains(0)
        check("C1", extents["C"].max != 0 or empty, "data has no classes", port="data")


def _check_mask(check: Check, mask: Array) -> None:
    """Check C3 for the mask [N, T]."""
    wrong, again = np.argwhere((mask != 0) & (mask != 1)).tolist(), np.argwhere(mask[:, 1:] > mask[:, :-1]).tolist()
    message = ""
    if wrong:
        sequence, step = wrong[0]
        message = f"sequence_mask is {mask[sequence, step]:g} at step {step} of sequence {sequence}, expected 0 or 1"
    elif again:
        sequence, step = again[0]
        message = f"sequence_mask is 1 at step {step + 1} of sequence {sequence}, after a 0"
    check("C3", not message, message, port="sequence_mask")


@ctc_greedy_decoder_1.oracle.draw("sequence_mask")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    steps, sequences = types[port].shape.to_shape()
    lengths = rng.integers(0, steps + 1, sequences)
    return filled(types, port, np.arange(steps)[:, None] < lengths)


@ctc_greedy_decoder_seq_len_6.oracle.draw("sequence_length", "blank_index")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    _, steps, classes = types["data"].shape.to_shape()
    return drawn_below(rng, types, port, classes if port == "blank_index" else steps + 1)


ctc_greedy_decoder_seq_len_6.oracle.allowed = ctc_greedy_decoder_1.oracle.allowed = Allowed(composes=False)
