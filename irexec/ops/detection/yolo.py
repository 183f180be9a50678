"""RegionYolo and ReorgYolo: the last layers of YOLO v2 and v3.

Source: operation pages RegionYolo-1, ReorgYolo-1 (OpenVINO's tables contain ReorgYolo from opset2 on).
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from irexec.core.types import ANY_DIMENSION, Array, Dimension, PartialShape, TensorType
from irexec.ops.compute.precision import narrow, widen
from irexec.ops.rules.shapes import axis_in, has_rank
from irexec.ops.spec.attributes import AsRead, NonNegative, Positive
from irexec.ops.spec.groups import group
from irexec.ops.spec.operator import Check, operator, require, rounded
from irexec.ops.spec.oracle import Undefined
from irexec.ops.spec.tensors import AnyTensor, FloatTensor


@group
class Regions:
    """The contents of the channels of each region, and the axes that are flattened."""

    axis: int
    coords: NonNegative
    classes: NonNegative
    end_axis: int
    num: NonNegative
    anchors: tuple[float, ...] = ()
    do_softmax: Annotated[bool, AsRead(default=False)] = True
    mask: tuple[int, ...] = ()

    @property
    def each(self) -> int:
        """The number of channels of a region."""
        return self.coords + 1 + self.classes

    @property
    def count(self) -> int:
        return self.num if self.do_softmax else len(self.mask)


@operator("RegionYolo", "opset1", tolerance=rounded(16))
def region_yolo_1(data: FloatTensor, /, *, regions: Regions) -> FloatTensor:
    """Activations of `data` [N, C, H, W], whose channels are regions of coords + 1 + classes.

    The logistic function is applied to the first two coordinates and the objectness of each region. With do_softmax, a
    softmax is applied to the class scores, and the axes axis..end_axis are flattened; without do_softmax, the logistic
    function is applied to the class scores, and there are len(mask) regions. `anchors` have no effect on the result.

    C1: data is 4D. C2: C is (classes + coords + 1) * num (with do_softmax), or at least (classes + coords + 1) *
    len(mask). C3: axis and end_axis are in [-4, 3], and end_axis is not before axis.
    """
    batch, channels, height, width = data.shape
    _check_channels(require, Dimension(channels), regions)
    count, each, coords, do_softmax = regions.count, regions.each, regions.coords, regions.do_softmax
    result = widen(data)[:, : each * count].copy().reshape(batch, count, each, height, width)
    with np.errstate(over="ignore", invalid="ignore"):
        logistic = [result[:, :, :2], result[:, :, coords : coords + 1 + (0 if do_softmax else regions.classes)]]
        for part in logistic:
            part[...] = 1 / (1 + np.exp(-part))
    if do_softmax:
        scores = result[:, :, coords + 1 :]
        if scores.size:
            exponents = np.exp(scores - scores.max(axis=2, keepdims=True))
            scores[...] = exponents / exponents.sum(axis=2, keepdims=True)
        first, last = regions.axis % 4, regions.end_axis % 4
        flat = int(np.prod(data.shape[first : last + 1]))
        shape = (*data.shape[:first], flat, *data.shape[last + 1 :])
    else:
        shape = (batch, each * count, height, width)
    return narrow(result.reshape(shape), data.dtype)


def _check_channels(check: Check, channels: Dimension, regions: Regions) -> None:
    wanted = regions.each * regions.count
    fits = channels.compatible(wanted) if regions.do_softmax else channels.max is None or channels.max >= wanted
    least = "" if regions.do_softmax else "at least "
    message = f"data has {channels} channels; the attributes require {least}{wanted}"
    check("C2", fits, message, port="data", late=True)


@region_yolo_1.shapes
def _(check: Check, data: TensorType, *, regions: Regions) -> PartialShape:
    if not has_rank(check, "C1", data, 4, "data"):
        return PartialShape.dynamic()
    shape = data.shape if data.rank == 4 else PartialShape.dynamic(4)
    _check_channels(check, shape[1], regions)
    if not regions.do_softmax:
        return PartialShape([shape[0], regions.each * regions.count, shape[2], shape[3]])
    first = axis_in(check, "C3", regions.axis, 4, attribute="axis")
    last = axis_in(check, "C3", regions.end_axis, 4, attribute="end_axis")
    if first is None or last is None:
        return PartialShape.dynamic()
    message = f"end_axis {regions.end_axis} is before axis {regions.axis}"
    if not check("C3", first <= last, message, attribute="end_axis"):
        return PartialShape.dynamic()
    flat = shape[first : last + 1].size
    return PartialShape([*shape[:first], flat, *shape[last + 1 :]])


@operator("ReorgYolo", "opset2")
def reorg_yolo_2(data: AnyTensor, /, *, stride: Annotated[Positive, AsRead(is_first=True)]) -> AnyTensor:
    """The elements of `data` [N, C, H, W], rearranged to [N, C * stride**2, H / stride, W / stride].

    The order of the elements is that of Darknet's layer: the data is read as [N, C / stride**2, H * stride, W * stride]
    and this image is cut into blocks. If stride**2 does not divide C, OpenVINO's kernels read elements at other
    positions; irexec uses the same index arithmetic, within the batch element.

    C1: data is 4D. C2: stride divides H and W. C3: C is at least stride**2.
    """
    batch, channels, height, width = data.shape
    group = channels // stride**2
    c, h, w = np.ogrid[:channels, :height, :width]
    offset, inner = c // group, c % group
    row, column = h * stride + offset // stride, w * stride + offset % stride
    index = (inner * height * stride + row) * width * stride + column
    flat = data.reshape(batch, channels * height * width)
    shuffled: Array = flat[:, np.minimum(index, max(flat.shape[1] - 1, 0)).ravel()] if flat.size else flat
    return shuffled.reshape(batch, channels * stride**2, height // stride, width // stride)


@reorg_yolo_2.shapes
def _(check: Check, data: TensorType, *, stride: int) -> PartialShape:
    if not has_rank(check, "C1", data, 4, "data"):
        return PartialShape.dynamic(4)
    batch, channels, height, width = data.shape if data.rank == 4 else [ANY_DIMENSION] * 4
    for name, extent in (("H", height), ("W", width)):
        fits = not extent.is_static or extent.value % stride == 0
        check("C2", fits, f"stride {stride} does not divide {name}, which is {extent}", attribute="stride")
    enough = channels.max is None or channels.max >= stride**2
    check(
        "C3",
        enough,
        f"data has {channels} channels, expected at least {stride**2}, the square of the stride",
        port="data",
    )
    return PartialShape([batch, channels * stride**2, _divided(height, stride), _divided(width, stride)])


def _divided(extent: Dimension, divisor: int) -> Dimension:
    return Dimension(extent.min // divisor, None if extent.max is None else extent.max // divisor)


@reorg_yolo_2.oracle.undefined_for
def _(data: Array, *, stride: int) -> Undefined:
    """Return "no result" if stride**2 does not divide the channels: the page's indices would exceed the tensor."""
    return "no result" if data.shape[1] % stride**2 else False


@region_yolo_1.oracle.undefined_for
def _(data: Array, *, regions: Regions) -> Undefined:
    """Return "no result" for an axis other than 1 or a number of channels that contradicts the attributes."""
    fits = regions.axis == 1 and data.shape[1] == regions.count * regions.each
    return False if fits else "no result"
