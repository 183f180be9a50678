"""EmbeddingBag* and EmbeddingSegmentsSum: rows of a table, gathered and reduced bag by bag.

Source: operation pages EmbeddingBagOffsetsSum-3, EmbeddingBagOffsets-15, EmbeddingBagPackedSum-3,
EmbeddingBagPacked-15, EmbeddingSegmentsSum-3.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import numpy as np

from irexec.ops.compute.precision import narrow, widen
from irexec.ops.declare.checks import holds
from irexec.ops.declare.operator import Check, ConstraintError, Elements, operator, require, rounded
from irexec.ops.rules.axes import drawn_below, integer
from irexec.ops.rules.shapes import has_rank, same_shape
from irexec.types import INDICES, NUMERIC, Array, Dimension, PartialShape, TensorType

T: TypeAlias = Annotated[Array, Elements("T", NUMERIC)]
T_IND: TypeAlias = Annotated[Array, Elements("T_IND", INDICES)]
Reduction = Literal["sum", "mean"]


@operator("EmbeddingBagOffsets", "opset15", tolerance=rounded(16))
def embedding_bag_offsets_15(
    emb_table: T,
    indices: T_IND,
    offsets: T_IND,
    default_index: T_IND | None = None,
    per_sample_weights: T | None = None,
    /,
    *,
    reduction: Reduction = "sum",
) -> T:
    """Bag b reduces the rows `indices[offsets[b]:offsets[b + 1]]` of `emb_table` [rows, ...]: [bags, ...].

    An empty bag holds row `default_index`, or zeros for -1 or nothing.
    C1: indices has rank 1. C2: offsets has rank 1, begins at 0 or later, ascends and stays within indices. C3: an index
    is in [0, rows - 1]. C4: default_index is a scalar in [-1, rows - 1]. C5: per_sample_weights has the shape of
    indices. C6: weights go with reduction sum only. C8: emb_table is no scalar.
    """
    _require_weights(indices, per_sample_weights, reduction)
    borders = np.append(offsets, len(indices)).astype(np.int64)
    ascending = len(offsets) == 0 or (borders[0] >= 0 and bool((np.diff(borders) >= 0).all()))
    require(
        "C2",
        ascending,
        f"offsets is {offsets.tolist()}, expected ascending values from 0 to {len(indices)}",
        port="offsets",
    )
    bags = np.repeat(np.arange(len(offsets)), np.diff(borders)) if len(offsets) else np.zeros(0, np.int64)
    first = int(borders[0]) if len(offsets) else len(indices)
    weights = None if per_sample_weights is None else per_sample_weights[first:]
    return _bags(emb_table, indices[first:], bags, len(offsets), default_index, weights, reduction == "mean")


@embedding_bag_offsets_15.shapes
def _(
    check: Check,
    emb_table: TensorType,
    indices: TensorType,
    offsets: TensorType,
    default_index: TensorType | None,
    per_sample_weights: TensorType | None,
    *,
    reduction: str = "sum",
) -> PartialShape:
    has_rank(check, "C1", indices, 1, "indices")
    ranked = has_rank(check, "C2", offsets, 1, "offsets")
    _check_indices(check, emb_table, indices)
    known = offsets.ints
    if known is not None and indices.rank == 1:
        most = indices.shape[0].max
        fits = all(b >= a >= 0 for a, b in zip(known, [*known[1:], *known[-1:]], strict=True))
        fits = fits and (most is None or not known or known[-1] <= most)
        check("C2", fits, f"offsets is {known}, expected ascending values from 0 to {indices.shape[0]}", port="offsets")
    _check_default(check, emb_table, default_index)
    _check_weights(check, indices, per_sample_weights, reduction)
    return _output(offsets.shape[0] if offsets.rank == 1 and ranked else Dimension(-1), emb_table)


@operator("EmbeddingBagOffsetsSum", "opset3", tolerance=rounded(16), shapes=embedding_bag_offsets_15.rule)
def embedding_bag_offsets_sum_3(
    emb_table: T,
    indices: T_IND,
    offsets: T_IND,
    default_index: T_IND | None = None,
    per_sample_weights: T | None = None,
    /,
) -> T:
    """EmbeddingBagOffsets-15 with reduction sum."""
    result: Array = embedding_bag_offsets_15(emb_table, indices, offsets, default_index, per_sample_weights)
    return result


@operator("EmbeddingBagPacked", "opset15", tolerance=rounded(16))
def embedding_bag_packed_15(
    emb_table: T, indices: T_IND, per_sample_weights: T | None = None, /, *, reduction: Reduction = "sum"
) -> T:
    """Bag b reduces the rows `indices[b]` of `emb_table` [rows, ...]: [batch, ...] for indices [batch, per bag].

    C1: indices has rank 2. C3: an index is in [0, rows - 1]. C5: per_sample_weights has the shape of indices.
    C6: weights go with reduction sum only. C8: emb_table is no scalar.
    """
    _require_weights(indices, per_sample_weights, reduction)
    batch, size = indices.shape
    weights = None if per_sample_weights is None else per_sample_weights.ravel()
    bags = np.repeat(np.arange(batch), size)
    return _bags(emb_table, indices.ravel(), bags, batch, None, weights, reduction == "mean")


@embedding_bag_packed_15.shapes
def _(
    check: Check,
    emb_table: TensorType,
    indices: TensorType,
    per_sample_weights: TensorType | None,
    *,
    reduction: str = "sum",
) -> PartialShape:
    ranked = has_rank(check, "C1", indices, 2, "indices")
    _check_indices(check, emb_table, indices)
    _check_weights(check, indices, per_sample_weights, reduction)
    return _output(indices.shape[0] if indices.rank == 2 and ranked else Dimension(-1), emb_table)


@operator("EmbeddingBagPackedSum", "opset3", tolerance=rounded(16), shapes=embedding_bag_packed_15.rule)
def embedding_bag_packed_sum_3(emb_table: T, indices: T_IND, per_sample_weights: T | None = None, /) -> T:
    """EmbeddingBagPacked-15 with reduction sum."""
    result: Array = embedding_bag_packed_15(emb_table, indices, per_sample_weights)
    return result


@operator("EmbeddingSegmentsSum", "opset3", tolerance=rounded(16))
def embedding_segments_sum_3(
    emb_table: T,
    indices: T_IND,
    segment_ids: T_IND,
    num_segments: T_IND,
    default_index: T_IND | None = None,
    per_sample_weights: T | None = None,
    /,
) -> T:
    """Segment s sums the rows `indices[segment_ids == s]` of `emb_table` [rows, ...]: [num_segments, ...].

    An empty segment holds row `default_index`, or zeros. C1: indices has rank 1. C2: segment_ids has its shape, ascends
    and is in [0, num_segments - 1]. C3: an index is in [0, rows - 1]. C4: default_index is a scalar in [-1, rows - 1].
    C5: per_sample_weights has the shape of indices. C7: num_segments is a scalar, not negative.
    C8: emb_table is no scalar.
    """
    _require_weights(indices, per_sample_weights, "sum")
    count = integer(num_segments)
    require("C7", count >= 0, f"num_segments is {count}, expected at least 0", port="num_segments")
    inside = segment_ids.size == 0 or (segment_ids[0] >= 0 and segment_ids[-1] < count)
    ascending = bool((np.diff(segment_ids) >= 0).all())
    message = f"segment_ids is {segment_ids.tolist()}, expected ascending values from 0 to {count - 1}"
    require("C2", inside and ascending, message, port="segment_ids")
    return _bags(emb_table, indices, segment_ids, count, default_index, per_sample_weights, False)


@embedding_segments_sum_3.shapes
def _(
    check: Check,
    emb_table: TensorType,
    indices: TensorType,
    segment_ids: TensorType,
    num_segments: TensorType,
    default_index: TensorType | None,
    per_sample_weights: TensorType | None,
) -> PartialShape:
    has_rank(check, "C1", indices, 1, "indices")
    same_shape(check, "C2", indices.shape, segment_ids.shape, "segment_ids")
    has_rank(check, "C7", num_segments, 0, "num_segments")
    _check_indices(check, emb_table, indices)
    _check_default(check, emb_table, default_index)
    _check_weights(check, indices, per_sample_weights, "sum")
    count, known = num_segments.scalar, segment_ids.ints
    if count is not None:
        check("C7", count >= 0, f"num_segments is {count}, expected at least 0", port="num_segments")
    if known:
        fits = known == sorted(known) and known[0] >= 0 and (count is None or known[-1] < count)
        segments = "the" if count is None else count
        check(
            "C2", fits, f"segment_ids is {known}, expected ascending numbers of {segments} segments", port="segment_ids"
        )
    return _output(Dimension(count) if count is not None and count >= 0 else Dimension(-1), emb_table)


def _bags(
    table: Array,
    indices: Array,
    bags: Array,
    count: int,
    default_index: Array | None,
    weights: Array | None,
    mean: bool,
) -> Array:
    """Row b of the result sums (or averages) the table's rows at the indices whose bag is b; `bags` ascends."""
    require("C8", table.ndim > 0, "emb_table is a scalar, expected rank 1 or more", port="emb_table")
    rows = len(table)
    _require_inside(indices, rows)
    wide = widen(table)
    gathered = wide[indices]
    if weights is not None:
        gathered = gathered * widen(weights).reshape(-1, *[1] * (table.ndim - 1))
    result = np.zeros((count, *table.shape[1:]), wide.dtype)
    sizes = np.bincount(bags, minlength=count) if len(bags) else np.zeros(count, np.int64)
    filled = sizes > 0
    if len(bags):
        starts = np.concatenate([[0], np.cumsum(sizes[filled])[:-1]])
        result[filled] = np.add.reduceat(gathered, starts, axis=0, dtype=wide.dtype)
    if mean:
        divisor = sizes[filled].reshape(-1, *[1] * (table.ndim - 1))
        if wide.dtype.kind in "iu":
            # The page divides in floating point; an integer table takes the whole part.
            sums, divisor = result[filled], divisor.astype(wide.dtype)
            result[filled] = np.sign(sums) * (np.abs(sums) // divisor) if wide.dtype.kind == "i" else sums // divisor
        else:
            result[filled] /= divisor.astype(wide.dtype)
    if default_index is not None:
        index = integer(default_index)
        message = f"default_index is {index}, expected -1 to {rows - 1}"
        require("C4", -1 <= index < rows, message, port="default_index")
        if index >= 0:
            result[~filled] = wide[index]
    return narrow(result, table.dtype)


def _require_inside(indices: Array, rows: int) -> None:
    wrong = np.flatnonzero((indices < 0) | (indices >= rows))
    if len(wrong):
        place = int(wrong[0])
        message = f"index {int(indices.ravel()[place])} at {place} is outside [0, {rows - 1}]"
        raise ConstraintError("C3", message, port="indices")
    holds("C3")


def _require_weights(indices: Array, weights: Array | None, reduction: str) -> None:
    if weights is None:
        return
    require(
        "C6",
        reduction == "sum",
        f"reduction is {reduction!r}, expected 'sum' where per_sample_weights are given",
        port="per_sample_weights",
    )
    same = weights.shape == indices.shape
    message = f"per_sample_weights has shape {list(weights.shape)}, expected {list(indices.shape)} as indices has"
    require("C5", same, message, port="per_sample_weights")


def _check_indices(check: Check, table: TensorType, indices: TensorType) -> None:
    check("C8", table.rank != 0, "emb_table is a scalar, expected rank 1 or more", port="emb_table")
    known, rows = indices.ints, table.shape[0].max if table.rank else None
    if known and rows is not None:
        wrong = [i for i in known if not 0 <= i < rows]
        message = f"index {wrong[0] if wrong else ''} is outside [0, {rows - 1}]"
        check("C3", not wrong, message, port="indices", allowed=f"[0, {rows - 1}]")


def _check_default(check: Check, table: TensorType, default_index: TensorType | None) -> None:
    if default_index is None:
        return
    has_rank(check, "C4", default_index, 0, "default_index")
    known, rows = default_index.scalar, table.shape[0].max if table.rank else None
    if known is not None and rows is not None:
        message = f"default_index is {known}, expected -1 to {rows - 1}"
        check("C4", -1 <= known < rows, message, port="default_index")


def _check_weights(check: Check, indices: TensorType, weights: TensorType | None, reduction: str) -> None:
    if weights is not None:
        message = f"reduction is {reduction!r}, expected 'sum' where per_sample_weights are given"
        check("C6", reduction == "sum", message, port="per_sample_weights")
        same_shape(check, "C5", indices.shape, weights.shape, "per_sample_weights")


def _output(bags: Dimension, table: TensorType) -> PartialShape:
    return PartialShape([bags, *list(table.shape)[1:]])


def _draw_indices(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    return drawn_below(rng, types, port, types["emb_table"].shape[0].value)


def _draw_ascending(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    segments = types["num_segments"].scalar if "num_segments" in types else None
    most = types["indices"].shape[0].value if port == "offsets" else (segments or 1) - 1
    return np.sort(drawn_below(rng, types, port, most + 1))


for _op in (
    embedding_bag_offsets_15,
    embedding_bag_offsets_sum_3,
    embedding_bag_packed_15,
    embedding_bag_packed_sum_3,
    embedding_segments_sum_3,
):
    _op.draw("indices", "default_index")(_draw_indices)
    _op.draw("offsets", "segment_ids")(_draw_ascending)
