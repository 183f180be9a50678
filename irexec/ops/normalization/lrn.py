"""LRN: local response normalization.

Source: operation page LRN-1. A region of even size extends size / 2 to both sides according to the page, (size - 1) / 2
in OpenVINO. irexec follows the page, whose divisor is size ** len(axes) in either case.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from irexec.core.types import Array, PartialShape, TensorType
from irexec.ops.compute.precision import compute_dtype, wider
from irexec.ops.compute.products import settle
from irexec.ops.normalization.mvn import draw_axes
from irexec.ops.normalization.statistics import check_axes
from irexec.ops.rules.axes import axes_of, distinct, integers, not_too_many
from irexec.ops.rules.shapes import has_rank
from irexec.ops.spec.attributes import Above0, AsRead, Double, Positive
from irexec.ops.spec.operator import Check, operator, require, rounded
from irexec.ops.spec.tensors import FloatTensor, IntegerIndices


@operator("LRN", "opset1", tolerance=rounded(16))
def lrn_1(
    data: FloatTensor,
    axes: IntegerIndices,
    /,
    *,
    alpha: Double,
    beta: Annotated[Above0, AsRead(is_f64=True)],
    bias: Double,
    size: Positive,
) -> FloatTensor:
    """`data` / (`bias` + `alpha` / size ** len(`axes`) * sum of squares in the region around each element) ** `beta`.

    C1: axes is 1D. C2: its values are in [-rank, rank - 1]. C3: no axis is repeated.
    """
    places = axes_of("C2", axes, data.ndim, "axes")
    distinct(require, "C3", places, integers(axes))
    dtype = compute_dtype(data.dtype)
    with np.errstate(all="ignore"):
        for kind in (dtype, wider(dtype)):
            x = data.astype(kind, copy=False)
            total = np.asarray(x * x)
            for axis in set(places):
                total = _region(total, axis, size // 2)
            total *= dtype.type(alpha / float(size) ** len(places))
            total += dtype.type(bias)
            if np.isfinite(total).all():
                break
        np.power(total, dtype.type(beta), out=total)
        return settle(np.divide(x, total, out=total), data.dtype)


def _region(x: Array, axis: int, reach: int) -> Array:
    """Return sums over the elements up to `reach` away along an axis."""
    moved = np.moveaxis(x, axis, 0)
    extent = len(moved)
    total = moved.copy()
    for step in range(1, min(reach, extent - 1) + 1):
        total[:-step] += moved[step:]
        total[step:] += moved[:-step]
    return np.moveaxis(total, 0, axis)


@lrn_1.shapes
def _(check: Check, data: TensorType, axes: TensorType) -> PartialShape:
    has_rank(check, "C1", axes, 1, "axes")
    if not_too_many(check, "C3", axes, data.rank):
        check_axes(check, "C2", axes.ints, data.rank, "C3", port="axes")
    return data.shape


@lrn_1.oracle.draw("axes")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array | None:
    return draw_axes(rng, types[port], types["data"])
