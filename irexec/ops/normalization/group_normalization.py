"""GroupNormalization: mean-variance normalization per group of channels, then a scale and a bias per channel.

Source: operation page GroupNormalization-12.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from irexec.core.types import Array, Dimension, PartialShape, TensorType
from irexec.ops.compute.precision import compute_dtype
from irexec.ops.compute.products import settle, summing_buffer
from irexec.ops.normalization.statistics import centre_rows, in_blocks, variances
from irexec.ops.rules.shapes import AnyRank, has_rank, one_per_channel
from irexec.ops.spec.attributes import Above0, AsRead, Positive
from irexec.ops.spec.operator import Check, operator, rounded
from irexec.ops.spec.tensors import FloatTensor


@operator("GroupNormalization", "opset12", inplace="data", tolerance=rounded(16))
def group_normalization_12(
    data: FloatTensor,
    scale: FloatTensor,
    bias: FloatTensor,
    /,
    *,
    num_groups: Positive,
    epsilon: Annotated[Above0, AsRead(is_f64=True)],
    out: Array | None = None,
) -> FloatTensor:
    """`scale` * (`data` - mean) / sqrt(variance + `epsilon`) + `bias`, with statistics per image and group of channels.

    C1: num_groups is at most the number of channels, and divides it. C2: data has rank 2 or more. C3: scale is 1D, with
    one value per channel. C4: bias is 1D, with one value per channel.
    """
    batch, channels = data.shape[:2]
    dtype = compute_dtype(data.dtype)
    target = summing_buffer(data.shape, dtype, out)
    if not data.size:
        return settle(target, data.dtype, out)
    per_group = channels // num_groups
    x = data.astype(dtype, copy=False).reshape(batch * num_groups, -1)
    y = target.reshape(batch * num_groups, -1)
    factors, terms = (np.tile(v.astype(dtype).reshape(num_groups, per_group, 1), (batch, 1, 1)) for v in (scale, bias))

    def block(groups: slice) -> None:
        centre_rows(x[groups], y[groups])
        deviation = np.sqrt(variances(y[groups]) + dtype.type(epsilon))
        planes = y[groups].reshape(-1, per_group, y.shape[1] // per_group)
        np.multiply(planes, factors[groups] / deviation[..., None], out=planes)
        np.add(planes, terms[groups], out=planes)

    with np.errstate(all="ignore"):
        in_blocks(len(x), x.nbytes, block)
        return settle(target, data.dtype, out)


@group_normalization_12.shapes
def _(check: Check, data: TensorType, scale: TensorType, bias: TensorType, *, num_groups: int) -> PartialShape:
    channels = Dimension(-1)
    if has_rank(check, "C2", data, AnyRank[2:], "data") and data.rank is not None:
        channels = data.shape[1]
    channels = one_per_channel(check, ("C3", "C3"), scale, "scale", channels)
    channels = one_per_channel(check, ("C4", "C4"), bias, "bias", channels)
    divides = channels.is_dynamic or (channels.min % num_groups == 0 and channels.min >= num_groups)
    message = f"num_groups is {num_groups}, which does not divide the {channels} channels"
    check("C1", divides, message, attribute="num_groups", found=str(num_groups), allowed=f"a divisor of {channels}")
    return data.shape.with_dim(1, channels) if data.rank is not None and data.rank > 1 else data.shape
