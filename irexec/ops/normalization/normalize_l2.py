"""NormalizeL2: division by the Euclidean norm over some axes.

Source: operation page NormalizeL2-1.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from irexec.core.types import Array, PartialShape, TensorType
from irexec.ops.compute.precision import compute_dtype, holds, wider
from irexec.ops.compute.products import settle, summing_buffer
from irexec.ops.normalization.mvn import draw_axes
from irexec.ops.normalization.statistics import check_axes
from irexec.ops.rules.axes import axes_of, distinct, integers
from irexec.ops.rules.shapes import has_rank
from irexec.ops.spec.attributes import Above0
from irexec.ops.spec.operator import Check, operator, require, rounded
from irexec.ops.spec.oracle import ROUNDED
from irexec.ops.spec.tensors import FloatTensor, IntegerIndices
from irexec.ops.spec.traits import AlongAxes


@operator("NormalizeL2", "opset1", AlongAxes, inplace="data", tolerance=rounded(16))
def normalize_l2_1(
    data: FloatTensor,
    axes: IntegerIndices,
    /,
    *,
    eps: Above0,
    eps_mode: Literal["add", "max"],
    out: Array | None = None,
) -> FloatTensor:
    """`data` / sqrt(sum of squares over `axes`, combined with `eps`). Without axes each element but zero becomes 1.

    C1: axes is a scalar or 1D. C2: no axis is repeated. C3: its values are in [-rank, rank - 1].
    """
    if axes.size == 0:
        return settle((data != 0).astype(data.dtype), data.dtype, out)
    places = tuple(axes_of("C3", axes, data.ndim, "axes"))
    distinct(require, "C2", places, integers(axes))
    dtype = compute_dtype(data.dtype)
    with np.errstate(all="ignore"):
        for kind in (dtype, wider(dtype)):
            x = data.astype(kind, copy=False)
            total = np.square(x).sum(axis=places, keepdims=True, dtype=kind)
            total = total + dtype.type(eps) if eps_mode == "add" else np.maximum(total, dtype.type(eps))
            if holds(total):
                break
        result = np.divide(x, np.sqrt(total), out=summing_buffer(data.shape, total.dtype, out))
        return settle(result, data.dtype, out)


@normalize_l2_1.shapes
def _(check: Check, data: TensorType, axes: TensorType) -> PartialShape:
    has_rank(check, "C1", axes, (0, 1), "axes")
    check_axes(check, "C3", axes.ints, data.rank, "C2", port="axes")
    return data.shape


@normalize_l2_1.oracle.draw("axes")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array | None:
    return draw_axes(rng, types[port], types["data"])


normalize_l2_1.oracle.allowed = ROUNDED
