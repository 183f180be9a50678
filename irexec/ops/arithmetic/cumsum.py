"""CumSum: running sums along one axis.

Source: operation page CumSum-3.
"""

from __future__ import annotations

import numpy as np

from irexec.core.types import Array, PartialShape, TensorType
from irexec.ops.compute.precision import compute_dtype, narrow
from irexec.ops.rules.axes import axis_of, integer
from irexec.ops.rules.shapes import axis_in
from irexec.ops.spec.operator import Check, operator, rounded
from irexec.ops.spec.oracle import Allowed
from irexec.ops.spec.tensors import Axis, NumericTensor
from irexec.ops.spec.traits import AlongAxes, MayOverflow, NeedsOptional


@operator("CumSum", "opset3", NeedsOptional, MayOverflow, AlongAxes, tolerance=rounded(8))
def cumsum_3(
    x: NumericTensor,
    axis: Axis | None = None,
    /,
    *,
    exclusive: bool = False,
    reverse: bool = False,
    out: Array | None = None,
) -> NumericTensor:
    """The sums of all elements of x along `axis` (default 0) up to each element, or before it if `exclusive`; from the
    end if `reverse`. Integers wrap.

    C1: x has at least one axis. C2: `axis` is a scalar (one element of rank 1 is also accepted). C3: `axis` lies in
    [-rank, rank - 1].
    """
    along = 0 if axis is None else axis_of("C3", integer(axis), x.ndim, "axis")
    view = np.flip(x, along) if reverse else x
    with np.errstate(all="ignore"):
        sums = np.cumsum(view, along, dtype=compute_dtype(x.dtype))
    if exclusive:
        first = [slice(None)] * x.ndim
        first[along] = slice(0, 1)
        kept = [slice(None)] * x.ndim
        kept[along] = slice(0, -1)
        sums = np.concatenate([np.zeros_like(sums[tuple(first)]), sums[tuple(kept)]], along)
    return narrow(np.flip(sums, along) if reverse else sums, x.dtype, out)


@cumsum_3.shapes
def _(check: Check, x: TensorType, axis: TensorType | None) -> PartialShape:
    check(
        "C1",
        x.rank != 0,
        "x is a scalar, expected rank 1 or more: there is no axis to sum along",
        port="x",
        allowed="rank 1 or more",
    )
    if axis is not None:
        scalar = axis.rank in (None, 0) or axis.shape.compatible(PartialShape([1]))
        check("C2", scalar, f"axis has shape {axis.shape}, expected a scalar", port="axis", found=str(axis.shape))
        if axis.scalar is not None and x.rank != 0:
            axis_in(check, "C3", int(axis.scalar), x.rank, port="axis")
    return x.shape


@cumsum_3.oracle.draw("axis")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    rank = types["x"].rank or 1
    dtype = types["axis"].element_type.dtype
    return np.asarray(rng.integers(-rank if dtype is not None and dtype.kind == "i" else 0, rank)).astype(dtype)


cumsum_3.oracle.allowed = Allowed(special=False, mixes=True)
