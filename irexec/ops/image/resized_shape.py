"""The shape that Interpolate makes of an image: its pads, the axes that are resized, and to how many elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irexec.ops.declare.attributes import NonNegativeInts
from irexec.ops.declare.groups import group
from irexec.ops.declare.operator import Check, require
from irexec.ops.rules.shapes import dimension_of, has_rank
from irexec.types import MAX_LENGTH, Dimension, PartialShape, TensorType


@group
class Padding:
    """Zeros around the input, a number of them per dimension."""

    pads_begin: NonNegativeInts = (0,)
    pads_end: NonNegativeInts = (0,)


def spatial_pads(pads: Sequence[int], axes: Sequence[int], rank: int) -> list[int]:
    """One pad per dimension; as many as axes are for these, and a single one for each. Raises ConstraintError C5."""
    if len(pads) <= 1 < rank:
        return [pads[0] if pads and d in axes else 0 for d in range(rank)]
    if len(pads) == len(axes) < rank:
        by_axis = dict(zip(axes, pads, strict=True))
        return [by_axis.get(d, 0) for d in range(rank)]
    full = full_pads(pads, rank)
    elsewhere = any(p and d not in axes for d, p in enumerate(full))
    require("C5", not elsewhere, f"the pads are {tuple(pads)}, expected 0 for every axis but {tuple(axes)}")
    return full


def full_pads(pads: Sequence[int], rank: int) -> list[int]:
    """One pad per dimension: missing ones are 0, those beyond the rank are dropped."""
    return [*pads[:rank], *[0] * (rank - len(pads))]


def scaled_extent(extent: int, scale: float) -> int:
    """floor(extent * scale) in f32 with OpenVINO's margin, so that 10 * f32(0.7) is 7; too many beyond f32."""
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
    """The shape rule of all versions; `given` is the input that the mode reads."""
    if axes is not None and not has_rank(check, "C1", axes, 1, "axes"):
        return PartialShape.dynamic(image.rank)
    rank = len(image.shape)
    chosen = list(range(rank)) if axes is None else axes.ints
    if chosen is None:
        return PartialShape.dynamic(rank)
    if pillow:
        check("C6", len(chosen) == 2, f"there are {len(chosen)} axes, expected two in the pillow modes", port="axes")
    if not check_axes(check, chosen, rank):
        return PartialShape.dynamic(rank)
    if given.rank == 1:
        counts = given.shape[0].compatible(len(chosen))
        if not check(
            "C3",
            counts,
            f"there are {given.shape[0]} {shape_calculation_mode}, expected one for each of the {len(chosen)} axes",
            port=port,
        ):
            return PartialShape.dynamic(rank)
    pads = [b + e for b, e in zip(full_pads(padding.pads_begin, rank), full_pads(padding.pads_end, rank), strict=True)]
    dims = [d + p for d, p in zip(image.shape, pads, strict=True)]
    sources = list(dims)
    values: Any = given.known if shape_calculation_mode == "sizes" else given.value
    for position, a in enumerate(chosen):
        value = None if values is None else values[position]
        dims[a] = dimension_of(None)
        if value is None:
            continue
        possible = isinstance(value, Dimension) or 0 <= value < np.inf
        message = f"axis {a} is resized by {shape_calculation_mode} {value}, expected a finite number, 0 or more"
        if not check("C4", possible, message, port=port):
            continue
        if shape_calculation_mode == "sizes":
            dims[a] = Dimension.of(value)
        else:
            low, high = sources[a].min, sources[a].max
            dims[a] = Dimension(scaled_extent(low, value), None if high is None else scaled_extent(high, value))
        empty = sources[a] == Dimension(0) and dims[a].min > 0
        check("C7", not empty, f"axis {a} has no elements to interpolate", port="image")
    return PartialShape(dims)
