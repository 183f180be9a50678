"""SearchSorted: the insertion positions of values in sorted sequences.

Source: operation page SearchSorted-15. On the page the attribute is `right` and the result is i64; OpenVINO reads the
attributes `right_mode` and `output_type`. irexec accepts both forms.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from irexec.core.types import ANY_DIMENSION, Array, ElementType, PartialShape, TensorType
from irexec.ops.compute.precision import widen
from irexec.ops.spec.operator import Check, TypeFrom, operator
from irexec.ops.spec.oracle import Undefined
from irexec.ops.spec.tensors import NumericTensor
from irexec.ops.spec.traits import Steps


@operator("SearchSorted", "opset15", Steps)
def search_sorted_15(
    sorted: NumericTensor,
    values: NumericTensor,
    /,
    *,
    right: bool = False,
    right_mode: bool = False,
    output_type: Literal["i64", "i32"] = "i64",
) -> Annotated[Array, TypeFrom("output_type")]:
    """For each value the first position in its row of `sorted` that keeps the order, or (`right`) the last.

    `sorted` is 1D, for all values, or has the shape of `values` except for the last dimension.

    Raises ConstraintError C1 unless the shapes fit.
    """
    rows, wanted = widen(sorted), widen(values)
    side: Literal["left", "right"] = "right" if right or right_mode else "left"
    kind = ElementType.by_name[output_type].dtype
    if rows.ndim == 1:
        return np.asarray(np.searchsorted(rows, wanted, side)).astype(kind)
    result = np.zeros(wanted.shape, kind)
    if not (rows.size and wanted.size):
        return result
    flat = [array.reshape(-1, array.shape[-1]) for array in (rows, wanted, result)]
    height = max(1, _BLOCK // max(rows.shape[-1], wanted.shape[-1]))
    for begin in range(0, len(flat[0]), height):
        lists, values, places = (array[begin : begin + height] for array in flat)
        for first in range(0, wanted.shape[-1], _BLOCK):
            part = slice(first, first + _BLOCK)
            places[:, part] = _search(lists, values[:, part], side == "right")
    return result


_BLOCK = 1 << 16
"""The number of values that are searched at once: each needs memory for several numbers."""


def _search(rows: Array, wanted: Array, right: bool) -> Array:
    """Search all rows at once by bisection."""
    low = np.zeros(wanted.shape, np.intp)
    high = np.full(wanted.shape, rows.shape[-1], np.intp)
    for _ in range(rows.shape[-1].bit_length()):
        middle = (low + high) // 2
        seen = np.take_along_axis(rows, np.minimum(middle, rows.shape[-1] - 1), -1)
        below = (seen <= wanted if right else seen < wanted) & (low < high)
        low = np.where(below, middle + 1, low)
        high = np.where(below, high, middle)
    return low


@search_sorted_15.shapes
def _(check: Check, sorted: TensorType, values: TensorType) -> PartialShape:
    check("C1", sorted.rank != 0, "sorted is a scalar, expected rank 1 or more", port="sorted")
    if sorted.rank is None or values.rank is None or sorted.rank < 2:
        return values.shape
    message = f"values has shape {values.shape}, expected {sorted.shape} as sorted, except for the last dimension"
    if not check("C1", sorted.rank == values.rank, message, port="values"):
        return values.shape
    common = values.shape.merge(sorted.shape.with_dim(-1, ANY_DIMENSION))
    check("C1", common is not None, message, port="values", found=str(values.shape), allowed=str(sorted.shape))
    return values.shape if common is None else common


@search_sorted_15.oracle.draw("sorted")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    drawn = rng.integers(0, rng.choice((8, 100)), types[port].shape.to_shape())
    return np.sort(drawn, -1).astype(types[port].element_type.dtype)


@search_sorted_15.oracle.undefined_for
def _(sorted: Array, values: Array) -> Undefined:
    """The result is undefined if an input contains NaN, which is not ordered, or a sequence does not ascend."""
    rows = widen(sorted)
    return bool(np.isnan(rows).any() or np.isnan(widen(values)).any() or (rows[..., 1:] < rows[..., :-1]).any())
