"""ExtractImagePatches: the patches under a sliding window, stacked in the depth dimension.

Source: operation page ExtractImagePatches-3.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Literal

import numpy as np

from irexec.core.types import ANY_DIMENSION, Array, Dimension, PartialShape, TensorType
from irexec.ops.rules.axes import into
from irexec.ops.rules.shapes import has_rank
from irexec.ops.rules.windows import meeting
from irexec.ops.spec.attributes import PositiveInts
from irexec.ops.spec.groups import group
from irexec.ops.spec.operator import Check, operator
from irexec.ops.spec.tensors import AnyTensor


@group
class Patches:
    """The placement of patches: their sizes, the strides between patches, the rates (strides within a patch), the
    padding.
    """

    sizes: PositiveInts
    strides: PositiveInts
    rates: PositiveInts
    auto_pad: Literal["valid", "same_upper", "same_lower"]

    @property
    def axes(self) -> Iterator[tuple[int, int, int]]:
        """Return size, stride and rate along each axis."""
        return zip(self.sizes, self.strides, self.rates, strict=True)


@operator("ExtractImagePatches", "opset3")
def extract_image_patches_3(data: AnyTensor, /, *, patches: Patches, out: Array | None = None) -> AnyTensor:
    """The patches of `data` [batch, depth, rows, cols]: [batch, sizes[0] * sizes[1] * depth, out rows, out cols].

    The depth of the result is [row in the patch, column in the patch, depth of data]. `rates` is the distance between
    the elements of a patch. "same_upper" and "same_lower" pad with zeros to ceil(extent / stride) patches.

    Shape rule: C1 sizes, strides and rates have two values each, C2 data has rank 4.
    """
    batch, depth, *space = data.shape
    fits = [_fit(extent, *axis, patches.auto_pad) for extent, axis in zip(space, patches.axes, strict=True)]
    counts = [count for count, _, _ in fits]
    result = np.zeros((batch, *patches.sizes, depth, *counts), data.dtype)
    # The data is not copied with its padding, which large rates can make arbitrarily large.
    for place in np.ndindex(*patches.sizes) if result.size else ():
        down, across = (
            meeting(at * rate - before, stride, extent, count)
            for at, (_, stride, rate), extent, (count, before, _) in zip(place, patches.axes, space, fits, strict=True)
        )
        if down is not None and across is not None:
            result[:, *place, :, down[0], across[0]] = data[:, :, down[1], across[1]]
    return into(result.reshape(batch, prod(patches.sizes) * depth, *counts), out)


def _fit(extent: int, size: int, stride: int, rate: int, auto_pad: str) -> tuple[int, int, int]:
    """Return the number of patches along an axis, and the numbers of zeros before and after the data."""
    reach = (size - 1) * rate + 1
    if auto_pad == "valid":
        return max((extent - reach) // stride + 1, 0), 0, 0
    count = -(-extent // stride)
    total = max((count - 1) * stride + reach - extent, 0)
    less, more = total // 2, total - total // 2
    return (count, less, more) if auto_pad == "same_upper" else (count, more, less)


@extract_image_patches_3.shapes
def _(check: Check, data: TensorType, *, patches: Patches) -> PartialShape:
    lists = {"sizes": patches.sizes, "strides": patches.strides, "rates": patches.rates}
    pairs = [
        check("C1", len(values) == 2, f"{name} has {len(values)} values, expected 2", attribute=name)
        for name, values in lists.items()
    ]
    if not has_rank(check, "C2", data, 4, "data") or data.rank is None or not all(pairs):
        return PartialShape.dynamic(4)
    batch, depth, *space = data.shape
    dims: list[Dimension] = []
    for extent, axis in zip(space, patches.axes, strict=True):
        low = _fit(extent.min, *axis, patches.auto_pad)[0]
        high = None if extent.max is None else _fit(extent.max, *axis, patches.auto_pad)[0]
        dims.append(Dimension(low, high) if low or high is not None else ANY_DIMENSION)
    return PartialShape([batch, depth * prod(patches.sizes), *dims])
