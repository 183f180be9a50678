"""EmbeddingBag* and EmbeddingSegmentsSum: rows of a table, gathered and reduced bag by bag.

Source: operation pages EmbeddingBagOffsetsSum-3, EmbeddingBagOffsets-15, EmbeddingBagPackedSum-3,
EmbeddingBagPacked-15, EmbeddingSegmentsSum-3.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np

from irexec.core.types import Array, Dimension, PartialShape, TensorType
from irexec.ops.compute.precision import narrow, widen
from irexec.ops.rules.axes import drawn_below, in_range, integer, last_of
from irexec.ops.rules.shapes import has_rank, same_shape
from irexec.ops.spec.operator import Check, operator, require, summed
from irexec.ops.spec.oracle import Undefined
from irexec.ops.spec.signature import InputsOf
from irexec.ops.spec.tensors import Indices, NumericTensor

Reduction = Literal["sum", "mean"]


@operator("EmbeddingBagOffsets", "opset15", tolerance=summed(4))
def embedding_bag_offsets_15(
    emb_table: NumericTensor,
    indices: Indices,
    offsets: Indices,
    default_index: Indices | None = None,
    per_sample_weights: NumericTensor | None = None,
    /,
    *,
    reduction: Reduction = "sum",
) -> NumericTensor:
    """Rows [bags, ...]: row b reduces the rows `indices[offsets[b]:offsets[b + 1]]` of `emb_table` [rows, ...].

    An empty bag becomes row `default_index`, or zeros if that is -1 or omitted.
    C1: indices has rank 1. C2: offsets has rank 1, begins at 0 or later, ascends and stays within indices. C3: an index
    is in [0, rows - 1]. C4: default_index is a scalar in [-1, rows - 1]. C5: per_sample_weights has the shape of
    indices. C6: only the reduction "sum" accepts weights. C8: emb_table is not a scalar.
    """
    borders = np.append(offsets, len(indices)).astype(np.int64)
    _check_offsets(require, offsets.tolist(), len(indices))
    bags = np.repeat(np.arange(len(offsets)), np.diff(borders)) if len(offsets) else np.zeros(0, np.int64)
    first = int(borders[0]) if len(offsets) else len(indices)
    weights = None if per_sample_weights is None else per_sample_weights[first:]
    return _bags(emb_table, indices[first:], bags, len(offsets), default_index, weights, reduction == "mean")


def _check_offsets(check: Check, offsets: list[int], most: int | None) -> None:
    fits = offsets == sorted(offsets) and min(offsets, default=0) >= 0
    fits = fits and (most is None or not offsets or offsets[-1] <= most)
    allowed = "of at least 0" if most is None else f"from 0 to {most}"
    check("C2", fits, f"offsets is {offsets}, expected ascending values {allowed}", port="offsets")


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
    if offsets.ints is not None and indices.rank == 1:
        _check_offsets(check, offsets.ints, indices.shape[0].max)
    _check_default(check, emb_table, default_index)
    _check_weights(check, indices, per_sample_weights, reduction)
    return _output(offsets.shape[0] if offsets.rank == 1 and ranked else Dimension(-1), emb_table)


@operator("EmbeddingBagOffsetsSum", "opset3", tolerance=summed(4), shapes=embedding_bag_offsets_15.rule)
def embedding_bag_offsets_sum_3(*inputs: Annotated[Any, InputsOf(embedding_bag_offsets_15)]) -> NumericTensor:
    """EmbeddingBagOffsets-15 with reduction sum."""
    return np.asarray(embedding_bag_offsets_15.compute(*inputs))


@operator("EmbeddingBagPacked", "opset15", tolerance=summed(4))
def embedding_bag_packed_15(
    emb_table: NumericTensor,
    indices: Indices,
    per_sample_weights: NumericTensor | None = None,
    /,
    *,
    reduction: Reduction = "sum",
) -> NumericTensor:
    """Rows [batch, ...]: row b reduces the rows `indices[b]` of `emb_table` [rows, ...], for indices [batch, per bag].

    C1: indices has rank 2. C3: an index is in [0, rows - 1]. C5: per_sample_weights has the shape of indices.
    C6: only the reduction "sum" accepts weights. C8: emb_table is not a scalar.
    """
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


@operator("EmbeddingBagPackedSum", "opset3", tolerance=summed(4), shapes=embedding_bag_packed_15.rule)
def embedding_bag_packed_sum_3(*inputs: Annotated[Any, InputsOf(embedding_bag_packed_15)]) -> NumericTensor:
    """EmbeddingBagPacked-15 with reduction sum."""
    return np.asarray(embedding_bag_packed_15.compute(*inputs))


@operator("EmbeddingSegmentsSum", "opset3", tolerance=summed(4))
def embedding_segments_sum_3(
    emb_table: NumericTensor,
    indices: Indices,
    segment_ids: Indices,
    num_segments: Indices,
    default_index: Indices | None = None,
    per_sample_weights: NumericTensor | None = None,
    /,
) -> NumericTensor:
    """Rows [num_segments, ...]: row s is the sum of the rows `indices[segment_ids == s]` of `emb_table` [rows, ...].

    An empty segment becomes row `default_index`, or zeros. C1: indices has rank 1. C2: segment_ids has the shape of
    indices, ascends and is in [0, num_segments - 1]. C3: an index is in [0, rows - 1]. C4: default_index is a scalar in
    [-1, rows - 1]. C5: per_sample_weights has the shape of indices. C7: num_segments is a scalar, not negative. C8:
    emb_table is not a scalar.
    """
    count = integer(num_segments)
    _check_segments(require, count, segment_ids.tolist())
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
    count = num_segments.scalar
    _check_segments(check, count, segment_ids.ints or [])
    return _output(Dimension(count) if count is not None and count >= 0 else Dimension(-1), emb_table)


def _check_segments(check: Check, count: int | None, ids: list[int]) -> None:
    """Check C7: the number of segments is not negative; C2: ids ascend and are less than the number of segments."""
    in_range(check, "C7", "num_segments", count, 0)
    fits = ids == sorted(ids) and (not ids or (ids[0] >= 0 and (count is None or ids[-1] < count)))
    allowed = "of at least 0" if count is None else f"of at least 0 and less than {count}"
    message = f"segment_ids is {ids}, expected ascending values {allowed}"
    check("C2", fits, message, port="segment_ids")


def _bags(
    table: Array,
    indices: Array,
    bags: Array,
    count: int,
    default_index: Array | None,
    weights: Array | None,
    mean: bool,
) -> Array:
    """Return the sum (or mean) of the table's rows for each bag; `bags` is the bag of each index, ascending."""
    rows = len(table)
    in_range(require, "C3", "indices", indices, 0, rows - 1)
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
            # The operation page divides in floating point; for an integer table the result is truncated.
            sums, divisor = result[filled], divisor.astype(wide.dtype)
            result[filled] = np.sign(sums) * (np.abs(sums) // divisor) if wide.dtype.kind == "i" else sums // divisor
        else:
            result[filled] /= divisor.astype(wide.dtype)
    if default_index is not None:
        index = integer(default_index)
        in_range(require, "C4", "default_index", index, -1, rows - 1)
        if index >= 0:
            result[~filled] = wide[index]
    return narrow(result, table.dtype)


def _check_indices(check: Check, table: TensorType, indices: TensorType) -> None:
    check("C8", table.rank != 0, "emb_table is a scalar, expected rank 1 or more", port="emb_table")
    in_range(check, "C3", "indices", indices.value, 0, last_of(table.shape[0]) if table.rank else None)


def _check_default(check: Check, table: TensorType, default_index: TensorType | None) -> None:
    if default_index is None:
        return
    has_rank(check, "C4", default_index, 0, "default_index")
    last = last_of(table.shape[0]) if table.rank else None
    in_range(check, "C4", "default_index", default_index.scalar, -1, last)


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
    _op.oracle.draw("indices", "default_index")(_draw_indices)
    _op.oracle.draw("offsets", "segment_ids")(_draw_ascending)


@embedding_segments_sum_3.oracle.undefined_for
def _(
    emb_table: Array, indices: Array, ids: Array, count: Array, default: Array | None = None, *weights: Array | None
) -> Undefined:
    """The result is undefined for a default index of -1, which only the pages of EmbeddingBag define."""
    return "no result" if default is not None and integer(default) < 0 else False
