"""The `axes` input of reductions: what it must be, what it means, and the shape that it leaves."""

from __future__ import annotations

import numpy as np

from irexec.ops.declare.operator import Check, require
from irexec.ops.rules.axes import axes_of, drawn_axes, integers, known_axes
from irexec.ops.rules.shapes import has_rank
from irexec.types import Array, Dimension, PartialShape, TensorType


def reduced_axes(axes: Array, rank: int) -> tuple[int, ...]:
    """The axes counted from the front. Raises ConstraintError C1, C2 or C3 (see reduction.py)."""
    require("C1", axes.ndim <= 1, f"axes has rank {axes.ndim}, expected 0 or 1", port="axes")
    given = integers(axes)
    if rank == 0 and all(a in (0, -1) for a in given):
        return ()
    found = tuple(axes_of("C3", axes, rank, "axes"))
    require("C2", len(set(found)) == len(found), f"axes {given} name an axis twice", port="axes")
    return found


def reduced_shape(check: Check, data: TensorType, axes: TensorType, *, keep_dims: bool) -> PartialShape:
    """The shape of a reduction; checks C1 to C3 as far as the axes are known."""
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
    twice = f"axes {given} name an axis twice"
    check("C2", len(along) == len(given), twice, port="axes", hint="drop the repetition")
    if keep_dims:
        return PartialShape(1 if i in along else d for i, d in enumerate(data.shape))
    return PartialShape(d for i, d in enumerate(data.shape) if i not in along)


def _unknown_axes(data: PartialShape, axes: PartialShape, keep_dims: bool) -> PartialShape:
    """What is left when only the number of axes may be known."""
    if keep_dims:
        return PartialShape(d.union(Dimension(1)) for d in data)
    if axes.rank == 0:
        return PartialShape.dynamic(max(0, len(data) - 1))
    if axes.is_static and axes.rank == 1:
        return PartialShape.dynamic(max(0, len(data) - axes[0].value))
    return PartialShape.dynamic()


def draw_axes(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    """Unique axes of `data`."""
    return drawn_axes(rng, types, port, types["data"].rank or 0)
