"""ExtractImagePatches: the patches that a window sees, stacked in the depth dimension.

Source: operation page ExtractImagePatches-3.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import numpy as np

from irexec.ops.declare.attributes import PositiveInts
from irexec.ops.declare.operator import Check, Elements, operator
from irexec.ops.rules.axes import into
from irexec.ops.rules.shapes import has_rank
from irexec.ops.rules.windows import meeting
from irexec.types import ANY, ANY_DIMENSION, Array, Dimension, PartialShape, TensorType

T: TypeAlias = Annotated[Array, Elements("T", ANY)]
AutoPad: TypeAlias = Literal["valid", "same_upper", "same_lower"]


@operator("ExtractImagePatches", "opset3")
def extract_image_patches_3(
    data: T,
    /,
    *,
    sizes: PositiveInts,
    strides: PositiveInts,
    rates: PositiveInts,
    auto_pad: AutoPad,
    out: Array | None = None,
) -> T:
    """[batch, depth, rows, cols] to [batch, sizes[0] * sizes[1] * depth, out rows, out cols].

    The depth of the result is [row in the patch, column in the patch, depth of data]; `rates` is the distance of a
    patch's elements, "same_upper" and "same_lower" pad with zeros to ceil(extent / stride) patches.

    Shape rule: C1 sizes, strides and rates have two values each, C2 data has rank 4.
    """
    batch, depth, *space = data.shape
    fits = [_fit(*of_axis, auto_pad) for of_axis in zip(space, sizes, strides, rates, strict=True)]
    counts = [count for count, _, _ in fits]
    patches = np.zeros((batch, *sizes, depth, *counts), data.dtype)
    # The data is not padded: with far rates the padding would be of any size.
    for place in np.ndindex(*sizes) if patches.size else ():
        down, across = (
            meeting(at * rate - before, stride, extent, count)
            for at, rate, stride, extent, (count, before, _) in zip(place, rates, strides, space, fits, strict=True)
        )
        if down is not None and across is not None:
            patches[:, *place, :, down[0], across[0]] = data[:, :, down[1], across[1]]
    return into(patches.reshape(batch, sizes[0] * sizes[1] * depth, *counts), out)


def _fit(extent: int, size: int, stride: int, rate: int, auto_pad: str) -> tuple[int, int, int]:
    """How many patches fit, and the zeros before and after."""
    reach = (size - 1) * rate + 1
    if auto_pad == "valid":
        return max((extent - reach) // stride + 1, 0), 0, 0
    count = -(-extent // stride)
    total = max((count - 1) * stride + reach - extent, 0)
    less, more = total // 2, total - total // 2
    return (count, less, more) if auto_pad == "same_upper" else (count, more, less)


@extract_image_patches_3.shapes
def _(
    check: Check,
    data: TensorType,
    *,
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    rates: tuple[int, ...],
    auto_pad: str,
) -> PartialShape:
    lists = {"sizes": sizes, "strides": strides, "rates": rates}
    pairs = [
        check("C1", len(values) == 2, f"{name} has {len(values)} values, expected 2", attribute=name)
        for name, values in lists.items()
    ]
    if not has_rank(check, "C2", data, 4, "data") or data.rank is None or not all(pairs):
        return PartialShape.dynamic(4)
    batch, depth, *space = data.shape
    dims: list[Dimension] = []
    for extent, size, stride, rate in zip(space, sizes, strides, rates, strict=True):
        low = _fit(extent.min, size, stride, rate, auto_pad)[0]
        high = None if extent.max is None else _fit(extent.max, size, stride, rate, auto_pad)[0]
        dims.append(Dimension(low, high) if low or high is not None else ANY_DIMENSION)
    return PartialShape([batch, depth * (sizes[0] * sizes[1]), *dims])
