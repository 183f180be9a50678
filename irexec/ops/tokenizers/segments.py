"""Rows of tokens truncated, joined, padded, and converted: Truncate, CombineSegments, RaggedToDense and others.

Source: OpenVINO Tokenizers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any

import numpy as np

from irexec.core.types import BOOLEAN, DYNAMIC, I32, INTEGERS, Array, Dimension, PartialShape, TensorType
from irexec.ops.rules.shapes import has_rank, same_shape
from irexec.ops.spec.attributes import AsRead
from irexec.ops.spec.operator import Check, Elements, operator, require
from irexec.ops.spec.tensors import AnyTensor, EachTensor
from irexec.ops.tokenizers.strings import Index, Part, borders, places, ragged_types, rows


@operator("Truncate", "extension")
def truncate(*inputs: Part, m_num_inputs: int = 1) -> list[Part]:
    """Shorten the rows of one ragged tensor, or of two together, to a number of tokens.

    `inputs`: begins, ends and tokens of each tensor; the number of tokens; the side to shorten, `left` or `right`; and
    for two tensors, the tensor that is shortened: `only_first`, `only_second` or `longest_first`.

    C1: there are 6 or 9 inputs, of the types above. C2: begins and ends have the same number of elements. C3: side and
    mode are among the words above. C4: a row's end is not before its begin. C5: both tensors have the same number of
    rows.
    """
    most = int(inputs[-3].ravel()[0])
    side, mode = (given.tobytes().decode(errors="replace") for given in inputs[-2:])
    require("C3", side in ("left", "right"), f"the side is {side!r}, expected 'left' or 'right'")
    modes = ("only_first", "only_second", "longest_first")
    require("C3", mode in modes, f"the mode is {mode!r}, expected one of {', '.join(map(repr, modes))}")
    found = list(inputs[:-3])
    lengths = [(inputs[n + 1] - inputs[n]).ravel().tolist() for n in range(0, len(found), 3)]
    require("C4", min(map(min, filter(None, lengths)), default=0) >= 0, "a row ends before it begins")
    if len(lengths) == 1:
        kept = [[max(0, min(length, most)) for length in lengths[0]]]
    else:
        require(
            "C5", len(lengths[0]) == len(lengths[1]), f"the tensors have {len(lengths[0])} and {len(lengths[1])} rows"
        )
        pairs = [_shortened(a, b, most, mode) for a, b in zip(*lengths, strict=True)]
        kept = [[pair[0] for pair in pairs], [pair[1] for pair in pairs]]
    for number, counts in enumerate(kept):
        begins, ends = found[3 * number], found[3 * number + 1]
        count = np.array(counts, np.int32).reshape(begins.shape)
        if side == "right":
            found[3 * number + 1] = begins + count
        else:
            found[3 * number] = ends - count
    return found


def _shortened(first: int, second: int, most: int, mode: str) -> tuple[int, int]:
    """Return the lengths to which two rows are truncated: together `most` tokens, if the mode allows it."""
    if first + second <= most:
        return first, second
    if mode == "only_first":
        return min(first, most), second
    if mode == "only_second":
        return first, min(second, most)
    half, odd = divmod(most, 2)
    if first >= half + odd and second <= half:
        return most - second, second
    if first < half + odd and second > half:
        return first, most - first
    return half + odd * (first >= second), half + odd * (first < second)


@truncate.shapes
def _(check: Check, *inputs: TensorType) -> list[TensorType]:
    fits = len(inputs) in (6, 9) and inputs[-3].element_type is I32
    message = (
        f"there are {len(inputs)} inputs, expected one or two ragged tensors, the maximum length (i32), side and mode"
    )
    if not check("C1", fits, message):
        return []
    for first in range(0, len(inputs) - 3, 3):
        same_shape(check, "C2", inputs[first].shape, inputs[first + 1].shape, f"inputs[{first + 1}]")
    return list(inputs[:-3])


@operator("CombineSegments", "extension")
def combine_segments(*inputs: EachTensor) -> list[EachTensor]:
    """Join the rows of several ragged tensors, and mark each element with the number of its tensor.

    `inputs`: begins, ends and elements of each tensor, and the numbers. A tensor of one row is joined to each row of
    the other tensors. The result is the joined ragged tensor, and a ragged tensor of the numbers.

    C1: there are 3 inputs for each tensor and one for the numbers; begins and ends are i32, and elements have the same
    type and rank 1. C2: each row lies within its elements. C3: there is a number for each tensor. C4: tensors of more
    than one row have equal numbers of rows.
    """
    *parts, numbers = inputs
    tensors = [parts[n : n + 3] for n in range(0, len(parts), 3)]
    require("C3", numbers.size == len(tensors), f"there are {numbers.size} numbers for {len(tensors)} tensors")
    count = max((t[0].size for t in tensors), default=0)
    shape = next((t[0].shape for t in reversed(tensors) if t[0].ndim), ())
    wrong = next((t[0].size for t in tensors if t[0].size not in (1, count)), count)
    require("C4", wrong == count, f"the tensors have {wrong} and {count} rows, expected equal numbers, or 1")
    found = [places(t[0], t[1], t[2].size, "C2") for t in tensors]
    pieces: list[Array] = []
    origins: list[int] = []
    lengths: list[int] = []
    for row in range(count):
        length = 0
        for number, (tensor, row_places) in enumerate(zip(tensors, found, strict=True)):
            begin, end = row_places[row if len(row_places) > 1 else 0]
            pieces.append(tensor[2][begin:end])
            origins += [number] * (end - begin)
            length += end - begin
        lengths.append(length)
    first, last = borders(lengths, shape if count == int(np.prod(shape)) else (count,))
    elements = np.concatenate(pieces) if pieces else np.zeros(0, parts[2].dtype)
    return [first, last, elements, first.copy(), last.copy(), numbers.ravel()[origins]]


@combine_segments.shapes
def _(check: Check, *inputs: TensorType) -> list[TensorType]:
    count = len(inputs)
    fits = count >= 4 and count % 3 == 1
    if not check("C1", fits, f"there are {count} inputs, expected 3 for each tensor and one for the numbers"):
        return []
    shape = PartialShape([])
    elements = DYNAMIC
    for first in range(0, count - 1, 3):
        begins, ends, data = inputs[first : first + 3]
        port = f"inputs[{first}]"
        check(
            "C1", {begins.element_type, ends.element_type} <= {I32, DYNAMIC}, "begins and ends are not i32", port=port
        )
        has_rank(check, "C1", data, 1, f"inputs[{first + 2}]")
        same = elements is DYNAMIC or data.element_type in (elements, DYNAMIC)
        check(
            "C1",
            same,
            f"the elements are {data.element_type}, but those of earlier inputs are {elements}",
            port=f"inputs[{first + 2}]",
        )
        elements = data.element_type if elements is DYNAMIC else elements
        rows_of = same_shape(check, "C1", begins.shape, ends.shape, f"inputs[{first + 1}]")
        if rows_of.rank != 0:
            one = rows_of.rank == 1 and rows_of[0] == 1
            shape = rows_of if shape.rank == 0 or not one else shape
    return ragged_types(shape, elements) + ragged_types(shape, inputs[-1].element_type)


@operator("RaggedToDense", "extension")
def ragged_to_dense(
    begins: Index,
    ends: Index,
    data: AnyTensor,
    size: Annotated[Array, Elements(None, INTEGERS)],
    default: AnyTensor,
    right: Annotated[Array, Elements(None, INTEGERS | {BOOLEAN})] | None = None,
    /,
    *,
    pad_right: bool = True,
    pad_max_length: Annotated[bool, AsRead("m_pad_max_length")] = False,
) -> tuple[AnyTensor, Annotated[Array, Elements(None, {BOOLEAN})]]:
    """Return rows of `size` elements, filled with `default` on the right (or left) side, and a mask of the elements
    from `data`.

    right: replaces `pad_right`. pad_max_length: take `size` elements from each row's begin, without regard to its end.

    C1: begins and ends have the same shape, data has rank 1 or more. C2: each row lies within data. C3: size has one
    element and is not negative. C4: default is one element.
    """
    target = int(size.ravel()[0])
    _check_size(require, [target] if size.size == 1 else [])
    from_left = pad_right if right is None else bool(right.ravel()[0])
    found = places(begins, ends, data.shape[0], "C2")
    dense = np.full((len(found), target, *data.shape[1:]), default.ravel()[0], data.dtype)
    own = np.zeros(dense.shape, np.bool_)
    for row, (begin, end) in enumerate(found):
        length = target if pad_max_length else min(end - begin, target)
        require("C2", begin + length <= data.shape[0], f"a row of {length} elements from index {begin} exceeds data")
        to = slice(0, length) if from_left else slice(target - length, target)
        dense[row, to] = data[begin : begin + length]
        own[row, to] = True
    shape = (*begins.shape, target, *data.shape[1:])
    return dense.reshape(shape), own.reshape(shape)


def _check_size(check: Any, sizes: Sequence[int]) -> None:
    fits = len(sizes) == 1 and sizes[0] >= 0
    check("C3", fits, f"size is {list(sizes)}, expected one number that is not negative", port="size")


@ragged_to_dense.shapes
def _(
    check: Check,
    begins: TensorType,
    ends: TensorType,
    data: TensorType,
    size: TensorType,
    default: TensorType,
    right: TensorType | None,
) -> list[TensorType]:
    shape = same_shape(check, "C1", begins.shape, ends.shape, "ends")
    check("C1", data.rank != 0, "data is a scalar, expected rank 1 or more", port="data")
    has_rank(check, "C4", default, 0, "default")
    if size.ints is not None:
        _check_size(check, size.ints)
    if shape.rank is None or not data.rank:
        return [TensorType(DYNAMIC, PartialShape.dynamic()), TensorType(BOOLEAN, PartialShape.dynamic())]
    known = size.ints is not None and len(size.ints) == 1 and size.ints[0] >= 0
    made = PartialShape([*shape, Dimension(size.ints[0] if known and size.ints else -1), *data.shape[1:]])
    return [TensorType(DYNAMIC, made), TensorType(BOOLEAN, made)]


@operator("RaggedToSparse", "extension")
def ragged_to_sparse(begins: Index, ends: Index, /) -> Annotated[Array, Elements(None, {I32})]:
    """Return [row, position in the row] of each element.

    C1: begins and ends have the same shape. C2: a row's end is not before its begin.
    """
    lengths = (ends - begins).ravel().tolist()
    require("C2", min(lengths, default=0) >= 0, "a row ends before it begins", port="ends")
    found = [(row, place) for row, length in enumerate(lengths) for place in range(length)]
    return np.array(found, np.int32).reshape(-1, 2)


@ragged_to_sparse.shapes
def _(check: Check, begins: TensorType, ends: TensorType) -> PartialShape:
    same_shape(check, "C1", begins.shape, ends.shape, "ends")
    return PartialShape([-1, 2])


@operator("RaggedToRagged", "extension")
def ragged_to_ragged(row_ids: Index, row_count: Index, /) -> tuple[Index, Index]:
    """Return the begins and ends of `row_count` rows, given the row of each element; later rows are omitted.

    C1: row_count has one element. C2: the rows are in ascending order and not negative. C3: row_count is not negative.
    """
    ids = row_ids.ravel()
    count = int(row_count.ravel()[0])
    require("C3", count >= 0, f"row_count is {count}, expected a number that is not negative", port="row_count")
    ascending = bool((ids >= 0).all()) and all(a <= b for a, b in pairwise(ids.tolist()))
    require("C2", ascending, "row_ids contains negative values or is not in ascending order", port="row_ids")
    counts = np.bincount(ids[ids < count], minlength=count)[:count] if count else np.zeros(0, np.int64)
    return borders(counts.tolist(), (count,))


@ragged_to_ragged.shapes
def _(check: Check, row_ids: TensorType, row_count: TensorType) -> list[PartialShape]:
    size = row_count.shape.rank
    one = size in (None, 0) or (size == 1 and row_count.shape[0].contains(1))
    check("C1", one, f"row_count has shape {row_count.shape}, expected one element", port="row_count")
    known = row_count.ints is not None and len(row_count.ints) == 1 and row_count.ints[0] >= 0
    rows_of = PartialShape([row_count.ints[0] if known and row_count.ints else -1])
    return [rows_of, rows_of]


@operator("RaggedTensorPack", "extension")
def ragged_tensor_pack(begins: Index, ends: Index, data: AnyTensor, /) -> AnyTensor:
    """Return `data` unchanged, because rows of different lengths do not form one tensor.

    C1: begins and ends have the same shape.
    """
    return data


@ragged_tensor_pack.shapes
def _(check: Check, begins: TensorType, ends: TensorType, data: TensorType) -> PartialShape:
    same_shape(check, "C1", begins.shape, ends.shape, "ends")
    return data.shape


@operator("FuzeRagged", "extension")
def fuze_ragged(ragged_begins: Index, ragged_ends: Index, begins: Index, ends: Index, /) -> tuple[Index, Index]:
    """Join the strings of each row: from the begin of its first string to the end of its last string.

    An empty row becomes the string at which it begins. C1: begins and ends have the same shape. C2: each row lies
    within the strings. C3: an empty row begins at one of the strings.
    """
    first, last = begins.ravel().tolist(), ends.ravel().tolist()
    found = []
    for row in rows(ragged_begins, ragged_ends, len(first)):
        require("C3", row.start < len(first), "the last row has no strings", port="ragged_begins")
        found.append((first[row.start], last[max(row.stop - 1, row.start)]))
    joined = np.array(found, np.int32).reshape(-1, 2)
    return joined[:, 0].reshape(ragged_begins.shape).copy(), joined[:, 1].reshape(ragged_begins.shape).copy()


@fuze_ragged.shapes
def _(
    check: Check, ragged_begins: TensorType, ragged_ends: TensorType, begins: TensorType, ends: TensorType
) -> list[PartialShape]:
    same_shape(check, "C1", begins.shape, ends.shape, "ends")
    shape = same_shape(check, "C1", ragged_begins.shape, ragged_ends.shape, "ragged_ends")
    return [shape, shape]
