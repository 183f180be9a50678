"""The output shape of Interpolate: the pads, the axes that are resized, and their new extents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irexec.core.types import MAX_LENGTH, Dimension, PartialShape, TensorType, as_dimension
from irexec.ops.rules.axes import length_of
from irexec.ops.rules.shapes import dimension_of, has_rank
from irexec.ops.spec.attributes import NonNegativeInts
from irexec.ops.spec.groups import group
from irexec.ops.spec.operator import Check


@group
class Padding:
    """The numbers of zeros before and after the input, per dimension."""

    pads_begin: NonNegativeInts = (0,)
    pads_end: NonNegativeInts = (0,)


def spatial_pads(check: Check, pads: Sequence[int], axes: Sequence[int], rank: int) -> list[int]:
    """Check C5; return a pad for each dimension. A single pad applies to each of the axes, as many pads as axes apply
    to the axes in order, and any other number of pads to the dimensions in order.
    """
    if len(pads) <= 1 < rank:
        return [pads[0] if pads and d in axes else 0 for d in range(rank)]
    if len(pads) == len(axes) < rank:
        by_axis = dict(zip(axes, pads, strict=True))
        return [by_axis.get(d, 0) for d in range(rank)]
    full = full_pads(pads, rank)
    elsewhere = any(p and d not in axes for d, p in enumerate(full))
    message = f"the pads are {tuple(pads)}, expected 0 except on axes {tuple(axes)}"
    return full if check("C5", not elsewhere, message, attribute="pads_begin") else [0] * rank


def full_pads(pads: Sequence[int], rank: int) -> list[int]:
    """Return one pad per dimension: missing pads are 0, pads beyond the rank are dropped."""
    return [*pads[:rank], *[0] * (rank - len(pads))]


def scaled_extent(extent: int, scale: float) -> int:
    """Return floor(extent * scale) in f32 with OpenVINO's margin (10 * f32(0.7) is 7); MAX_LENGTH + 1 beyond f32."""
    factor = np.float32(scale)
    if factor == 1:
        return extent
    with np.errstate(over="ignore"):
        scaled = np.float32(extent) * (factor + np.float32(1e-6))
    return int(scaled) if np.isfinite(scaled) else MAX_LENGTH + 1


def check_axes(check: Check, axes: Sequence[int], rank: int) -> bool:
    fits = len(set(axes)) == len(axes) and all(0 <= a < rank for a in axes)
    return check("C2", fits, f"axes is {axes}, expected distinct axes in [0, {rank - 1}]", port="axes")


def resized_shape(
    check: Check,
    image: TensorType,
    given: TensorType,
    axes: TensorType | None,
    shape_calculation_mode: str,
    padding: Padding,
    pillow: bool,
    port: str,
) -> PartialShape:
    """Return the output shape, for all versions; `given` is the input (sizes or scales) that the mode reads."""
    if axes is not None and not has_rank(check, "C1", axes, 1, "axes"):
        return PartialShape.dynamic(image.rank)
    rank = len(image.shape)
    count = rank if axes is None else length_of(axes)
    if pillow and count is not None:
        check("C6", count == 2, f"there are {count} axes, expected two in the pillow modes", port="axes")
    if given.rank == 1 and count is not None:
        message = f"there are {given.shape[0]} {shape_calculation_mode}, expected one for each of the {count} axes"
        if not check("C3", given.shape[0].compatible(count), message, port=port):
            return PartialShape.dynamic(rank)
    chosen = list(range(rank)) if axes is None else axes.ints
    if chosen is None:
        return PartialShape.dynamic(rank)
    if not check_axes(check, chosen, rank):
        return PartialShape.dynamic(rank)
    pads = [b + e for b, e in zip(full_pads(padding.pads_begin, rank), full_pads(padding.pads_end, rank), strict=True)]
    dims = [d + p for d, p in zip(image.shape, pads, strict=True)]
    sources = list(dims)
    values: Any = given.known if shape_calculation_mode == "sizes" else given.value
    for position, a in enumerate(chosen):
        dims[a] = dimension_of(None)
        if values is not None:
            dims[a] = resized_extent(check, a, sources[a], values[position], shape_calculation_mode, port)
    return PartialShape(dims)


def resized_extent(check: Check, axis: int, source: Dimension, value: Any, mode: str, port: str) -> Dimension:
    """Check C4 and C7; return the extent to which a size or scale `value` changes the padded extent `source`.

    `value` is a number or, for an unknown size, a Dimension.
    """
    possible = isinstance(value, Dimension) or 0 <= value < np.inf
    message = f"axis {axis} is resized by {mode} {value}, expected a finite number, 0 or more"
    if not check("C4", possible, message, port=port):
        return dimension_of(None)
    if mode == "sizes":
        target = as_dimension(value)
    else:
        high = None if source.max is None else scaled_extent(source.max, value)
        target = Dimension(scaled_extent(source.min, value), high)
    message = f"axis {axis} of the result would have {target.min} elements, expected at most {MAX_LENGTH}"
    check("C4", target.min <= MAX_LENGTH, message, port=port)
    empty = source == Dimension(0) and target.min > 0
    check("C7", not empty, f"axis {axis} has no elements to interpolate", port="image")
    return target
