"""The `axes` input of reductions: what it must be, what it means, and the shape that it leaves."""

from __future__ import annotations

import numpy as np

from irexec.ops.operator import Array, Check, require
from irexec.types import Dimension, PartialShape, TensorType


def normalized(axes: Array, rank: int) -> tuple[int, ...]:
    """The axes counted from the front. Raises ConstraintError C1, C2 or C3 (see reduction.py)."""
    require("C1", axes.ndim <= 1, f"axes has rank {axes.ndim}, expected a scalar or 1D", port="axes")
    given = [int(a) for a in axes.reshape(-1)]
    if rank == 0 and all(a in (0, -1) for a in given):
        return ()
    for axis in given:
        require("C3", -rank <= axis < rank, f"axis {axis} is outside [{-rank}, {rank - 1}]", port="axes")
    found = tuple(axis % rank for axis in given)
    require("C2", len(set(found)) == len(found), f"axes {given} name an axis twice", port="axes")
    return found


def reduced_shape(check: Check, data: TensorType, axes: TensorType, *, keep_dims: bool) -> PartialShape:
    """The shape of a reduction; checks C1 to C3 as far as the axes are known."""
    check(
        "C1",
        axes.rank in (None, 0, 1),
        f"axes has shape {axes.shape}, expected a scalar or 1D",
        port="axes",
        found=str(axes.shape),
        allowed="rank 0 or 1",
    )
    rank, given = data.rank, axes.ints
    if rank is None:
        return PartialShape.dynamic()
    if given is None:
        return _unknown_axes(data.shape, axes.shape, keep_dims)
    if rank == 0 and all(a in (0, -1) for a in given):
        return data.shape
    allowed = f"[{-rank}, {rank - 1}]"
    outside = [a for a in given if not -rank <= a < rank]
    for a in outside:
        check("C3", False, f"axis {a} is outside {allowed}", port="axes", found=str(a), allowed=allowed)
    if outside:
        return PartialShape.dynamic(rank if keep_dims else None)
    along = {a % rank for a in given}
    twice = "name the same axis more than once; a repeated axis is reduced once"
    check("C2", len(along) == len(given), f"axes {given} {twice}", port="axes", hint="drop the repetition")
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


def draw_axes(
    rng: np.random.Generator, port: str, types: dict[str, TensorType], attributes: dict[str, object]
) -> Array:
    """Unique axes of `data`."""
    rank, shape = types["data"].rank or 0, types["axes"].shape.to_shape()
    count = int(np.prod(shape))
    return rng.permutation(max(rank, count))[:count].reshape(shape).astype(types["axes"].element_type.dtype)
