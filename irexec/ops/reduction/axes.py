"""The `axes` input of reductions: its constraints, its meaning, and the resulting shape."""

from __future__ import annotations

import numpy as np

from irexec.ops.declare.operator import Check, require
from irexec.ops.rules.axes import axes_of, distinct, drawn_axes, integers, known_axes
from irexec.ops.rules.shapes import has_rank
from irexec.types import Array, Dimension, PartialShape, TensorType


def reduced_axes(axes: Array, rank: int) -> tuple[int, ...]:
    """Return the axes counted from the front. Raises ConstraintError C2 or C3 (see reduction.py)."""
    given = integers(axes)
    if rank == 0 and all(a in (0, -1) for a in given):
        return ()
    found = tuple(axes_of("C3", axes, rank, "axes"))
    distinct(require, "C2", found, given)
    return found


def reduced_shape(check: Check, data: TensorType, axes: TensorType, *, keep_dims: bool) -> PartialShape:
    """Return the shape of a reduction; checks C1 to C3 as far as the axes are known."""
    has_rank(check, "C1", axes, (0, 1), "axes")
    rank, given = data.rank, axes.ints
    if rank is None:
        return PartialShape.dynamic()
    if given is None:
        return _unknown_axes(data.shape, axes.shape, keep_dims)
    if rank == 0 and all(a in (0, -1) for a in given):
        return data.shape
    found = known_axes(check, "C3", axes, rank, "axes")
    if found is None:
        return PartialShape.dynamic(rank if keep_dims else None)
    along = set(found)
    distinct(check, "C2", found, given)
    if keep_dims:
        return PartialShape(1 if i in along else d for i, d in enumerate(data.shape))
    return PartialShape(d for i, d in enumerate(data.shape) if i not in along)


def _unknown_axes(data: PartialShape, axes: PartialShape, keep_dims: bool) -> PartialShape:
    """Return the shape if the axes themselves are unknown, as far as their number determines it."""
    if keep_dims:
        return PartialShape(d.union(Dimension(1)) for d in data)
    if axes.rank == 0:
        return PartialShape.dynamic(max(0, len(data) - 1))
    if axes.is_static and axes.rank == 1:
        return PartialShape.dynamic(max(0, len(data) - axes[0].value))
    return PartialShape.dynamic()


def draw_axes(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    """Return unique axes of `data`."""
    return drawn_axes(rng, types, port, types["data"].rank or 0)
