"""TopK: the k largest or smallest elements of each slice, and their indices.

Source: operation pages TopK-1, TopK-3, TopK-11. Choices where the pages do not define the result: of equal elements the
one with the lower index is first, sort "none" sorts by value, NaN is greater than every number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np

from irexec.core.types import INTEGERS, Array, Dimension, ElementType, PartialShape, TensorType
from irexec.ops.compute.precision import is_float, widen
from irexec.ops.rules.axes import filled, first_known, in_range, integer
from irexec.ops.rules.shapes import axis_in, has_rank
from irexec.ops.sort.ties import tied_values
from irexec.ops.spec.groups import AttributesOf
from irexec.ops.spec.older import OlderForm, unchanged
from irexec.ops.spec.operator import Check, Elements, operator, require
from irexec.ops.spec.oracle import Allowed, Undefined
from irexec.ops.spec.tensors import NumericTensor, TensorOfIndexType
from irexec.ops.spec.traits import AlongAxes, Ranking, Steps

T_K: TypeAlias = Annotated[Array, Elements("T_K", INTEGERS)]
Mode: TypeAlias = Literal["max", "min"]
Sort: TypeAlias = Literal["value", "index", "none"]
IndexType: TypeAlias = Literal["i32", "i64"]


@operator("TopK", "opset11", Steps, AlongAxes, Ranking)
def top_k_11(
    data: NumericTensor,
    k: T_K,
    /,
    *,
    axis: int,
    mode: Mode,
    sort: Sort,
    stable: bool = False,
    index_element_type: IndexType = "i32",
) -> tuple[NumericTensor, TensorOfIndexType]:
    """The `k` largest ("max") or smallest ("min") elements along `axis`, and their indices.

    Sorted by "value" (the best first) or by "index". Always stable.

    Raises ConstraintError C1 for an axis outside [-rank, rank - 1], C3 for k outside [1, data.shape[axis]], or other
    than 0 for an empty axis. Shape rule: C2 k is a scalar, and C3 of a constant k.
    """
    at, count = axis % data.ndim, integer(k)
    extent = data.shape[at]
    in_range(require, "C3", "k", count, min(extent, 1), extent)
    slices = np.moveaxis(data, at, -1)
    # The data is reshaped to rows because NumPy supports some of these functions only up to 32 dimensions.
    rows = slices.reshape(math.prod(slices.shape[:-1]), extent)
    values = np.empty((len(rows), count), data.dtype)
    indices = np.empty(values.shape, ElementType.by_name[index_element_type].dtype)
    height = max(1, _BLOCK // max(1, extent))
    for begin in range(0, len(rows), height):
        part = slice(begin, begin + height)
        picks = _best(widen(rows[part]), count, mode == "max", by_index=sort == "index")
        values[part], indices[part] = np.take_along_axis(rows[part], picks, -1), picks
    shape = (*slices.shape[:-1], count)
    return np.moveaxis(values.reshape(shape), -1, at), np.moveaxis(indices.reshape(shape), -1, at)


_BLOCK = 1 << 20
"""The number of elements that are ordered at once: each needs memory for several numbers."""


@operator("TopK", "opset3", Steps, AlongAxes, Ranking)
def top_k_3(
    data: NumericTensor, k: T_K, /, **rest: Annotated[Any, AttributesOf(top_k_11, without="stable")]
) -> tuple[NumericTensor, TensorOfIndexType]:
    """As TopK-11. The same constraints."""
    values, indices = top_k_11.compute(data, k, **rest)
    return values, indices


@operator("TopK", "opset1", Steps, AlongAxes, Ranking)
def top_k_1(
    data: NumericTensor, k: T_K, /, **rest: Annotated[Any, AttributesOf(top_k_3)]
) -> tuple[NumericTensor, TensorOfIndexType]:
    """As TopK-11. The same constraints."""
    values, indices = top_k_11.compute(data, k, **rest)
    return values, indices


top_k_3.older(unchanged)


@top_k_11.older
def _(form: OlderForm, data: TensorType, k: TensorType) -> None:
    form.need_attribute("stable", False)


def _best(rows: Array, k: int, largest: bool, *, by_index: bool) -> Array:
    """Return the indices of the k best elements along the last axis, ordered by value or `by_index`; of equal elements
    the lower index is first.
    """
    extent = rows.shape[-1]
    if k == 0 or rows.size == 0:
        return np.zeros((*rows.shape[:-1], k), np.intp)
    nans = is_float(rows.dtype) and bool(np.isnan(rows).any())
    if k == 1 and not nans:
        first: Array = np.argmax(rows, -1) if largest else np.argmin(rows, -1)
        return first[..., None]
    if 4 * k >= extent or nans:
        picks: Array = _order(rows, largest)[..., :k]
        return np.sort(picks, -1) if by_index else picks
    # Select all values better than the k-th best value, then equal values in ascending index until there are k.
    place = extent - k if largest else k - 1
    limit = np.partition(rows, place, -1)[..., place : place + 1]
    taken = rows >= limit if largest else rows <= limit
    if np.count_nonzero(taken) > k * len(limit.reshape(-1)):
        better = rows > limit if largest else rows < limit
        equal = rows == limit
        room = k - np.count_nonzero(better, -1, keepdims=True)
        taken = better | (equal & (np.cumsum(equal, -1) <= room))
    picks = (np.flatnonzero(taken) % extent).reshape(*rows.shape[:-1], k)
    if by_index:
        return picks
    order = _order(np.take_along_axis(rows, picks, -1), largest)
    return np.take_along_axis(picks, order, -1)


def _order(rows: Array, descending: bool) -> Array:
    """Return a stable argsort along the last axis; NaN is the greatest."""
    # Descending: the reversed row is sorted and the result reversed, so that equal elements keep their order.
    order: Array = np.argsort(rows[..., ::-1] if descending else rows, -1, "stable")
    return rows.shape[-1] - 1 - order[..., ::-1] if descending else order


@top_k_1.shapes
@top_k_3.shapes
@top_k_11.shapes
def _(check: Check, data: TensorType, k: TensorType, *, axis: int) -> tuple[PartialShape, PartialShape]:
    check("C1", data.rank != 0, "data is a scalar, expected rank 1 or more", port="data")
    has_rank(check, "C2", k, 0, "k")
    at = axis_in(check, "C1", axis, data.rank, attribute="axis") if data.rank else None
    known = first_known(k)
    if at is None:
        return PartialShape.dynamic(data.rank), PartialShape.dynamic(data.rank)
    extent = data.shape[at]
    count = Dimension(0, extent.max)
    if isinstance(known, Dimension):
        count = known.merge(count) or count
    elif known is not None and in_range(check, "C3", "k", known, 0 if extent.max == 0 else 1, extent.max):
        count = Dimension(known)
    shape = data.shape.with_dim(at, count)
    return shape, shape


@top_k_1.oracle.draw("k")
@top_k_3.oracle.draw("k")
@top_k_11.oracle.draw("k")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType], *, axis: int) -> Array:
    return filled(types, port, min(10, types["data"].shape[axis].value))


@top_k_1.oracle.undefined_for
@top_k_3.oracle.undefined_for
@top_k_11.oracle.undefined_for
def _(*inputs: Array, sort: str) -> Undefined:
    """The order is undefined for sort "none" and for data with NaN."""
    return sort == "none" or any(bool(is_float(a.dtype) and np.isnan(widen(a)).any()) for a in inputs)


def _is_chosen(
    expected: Sequence[Array], found: Sequence[Array], data: Array, k: Array, *, axis: int, sort: str, **others: Any
) -> bool | None:
    """Return whether the values are as expected, and the indices are unique and select elements with these values."""
    if not data.size or (is_float(data.dtype) and np.isnan(widen(data)).any()):
        return None
    right, values, indices = expected[0], found[0], found[1].astype(np.int64)
    if (indices < 0).any() or (indices >= data.shape[axis]).any():
        return False
    if sort != "value":
        right, values = np.sort(right, axis), np.sort(values, axis)
    repeated = bool((np.diff(np.sort(indices, axis), axis=axis) == 0).any())
    named = np.take_along_axis(data, indices, axis)
    return not repeated and np.array_equal(right, values) and np.array_equal(named, found[0])


for _version in (top_k_1, top_k_3, top_k_11):
    _version.oracle.allowed = Allowed(chosen=_is_chosen, ties=tied_values)
