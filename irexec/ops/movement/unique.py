"""Unique: the different elements, or slices, of a tensor.

Source: operation page Unique-10.
"""

from __future__ import annotations

from math import prod
from typing import Annotated, Literal, TypeAlias

import numpy as np

from irexec.core.types import ANY_DIMENSION, Array, Dimension, ElementType, PartialShape, TensorType
from irexec.ops.compute.precision import is_float, widen
from irexec.ops.rules.axes import axis_of, filled, integer, known_axis, one_element
from irexec.ops.spec.operator import Check, TypeFrom, operator
from irexec.ops.spec.oracle import Undefined
from irexec.ops.spec.tensors import AnyTensor, Axis, TensorOfIndexType
from irexec.ops.spec.traits import Steps

IndexType: TypeAlias = Literal["i64", "i32"]
Counts: TypeAlias = Annotated[Array, TypeFrom("count_element_type")]


@operator("Unique", "opset10", Steps)
def unique_10(
    data: AnyTensor,
    axis: Axis | None = None,
    /,
    *,
    sorted: bool = True,
    index_element_type: IndexType = "i64",
    count_element_type: IndexType = "i64",
) -> tuple[AnyTensor, TensorOfIndexType, TensorOfIndexType, Counts]:
    """The unique elements; the index of the first occurrence of each; for each element of `data` the index of its
    unique element; and the number of occurrences.

    With `axis` (a scalar or one element) slices are compared, otherwise the elements of the flattened tensor. Without
    `sorted`, unique elements are in the order of their first occurrence. NaNs are equal to each other.

    Raises ConstraintError C1 for an axis outside [-rank, rank - 1]. Shape rule: C2 axis is a scalar or one element.
    """
    if axis is None:
        rows, shape = data.reshape(-1, 1), (-1,)
        at = 0
    else:
        at = axis_of("C1", integer(axis), data.ndim, "axis")
        moved = np.moveaxis(data, at, 0)
        rows, shape = moved.reshape(moved.shape[0], prod(moved.shape[1:])), moved.shape[1:]
    _, first, inverse, counts = np.unique(_keys(rows), return_index=True, return_inverse=True, return_counts=True)
    if not sorted:
        order = np.argsort(first, kind="stable")
        first, counts = first[order], counts[order]
        places = np.empty_like(order)
        places[order] = np.arange(order.size)
        inverse = places[inverse]
    picked = rows[first]
    values = picked.reshape(-1) if axis is None else np.moveaxis(picked.reshape(first.size, *shape), 0, at)
    index_dtype = ElementType.by_name[index_element_type].dtype
    return (
        values,
        first.astype(index_dtype),
        inverse.astype(index_dtype),
        counts.astype(ElementType.by_name[count_element_type].dtype),
    )


def _keys(rows: Array) -> Array:
    """Return a key for each row; keys compare as the rows do, lexicographically."""
    count, width = rows.shape
    if width == 0:
        return np.zeros(count, np.intp)
    if width == 1:
        return widen(rows).reshape(-1)
    _, ranks = np.unique(widen(rows).reshape(-1), return_inverse=True)
    ranks = ranks.reshape(rows.shape)
    if width <= _WIDE:
        _, places = np.unique(ranks, axis=0, return_inverse=True)
        return np.asarray(places).reshape(-1)
    texts = [row.tobytes() for row in ranks.astype(">u8")]
    order = {text: place for place, text in enumerate(sorted(set(texts)))}
    return np.array([order[text] for text in texts], np.intp)


_WIDE = 64
"""The number of columns above which comparing bytes is faster than NumPy's comparison of records."""


@unique_10.shapes
def _(check: Check, data: TensorType, axis: TensorType | None = None) -> list[PartialShape] | tuple[PartialShape, ...]:
    total = ANY_DIMENSION if data.rank is None else Dimension.product(data.shape.dims)
    if axis is None:
        found = Dimension(min(total.min, 1), total.max)
        return PartialShape([found]), PartialShape([found]), PartialShape([total]), PartialShape([found])
    one_element(check, "C2", axis, "axis")
    at = known_axis(check, "C1", axis, data.rank, "axis")
    if at is None:
        flat = PartialShape.dynamic(1)
        return PartialShape.dynamic(data.rank), flat, flat, flat
    extent = data.shape[at]
    found = Dimension(min(extent.min, 1), extent.max)
    flat = PartialShape([found])
    return data.shape.with_dim(at, found), flat, PartialShape([extent]), flat


@unique_10.oracle.draw("axis")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    return filled(types, port, 0)


@unique_10.oracle.undefined_for
def _(data: Array, axis: Array | None = None) -> Undefined:
    """The result is undefined for NaN: the page defines neither the order of NaNs nor whether they are equal."""
    return bool(is_float(data.dtype) and np.isnan(widen(data)).any())
