"""Pooling of ONNX that IR lacks: by a norm, of regions, and unpooling.

Source: ONNX operator pages LpPool-18, AveragePool-19, MaxUnpool-9, MaxRoiPool-1, RoiAlign-16; for the maximum over the
samples of a region, which the page does not define, ONNX's reference implementation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from irexec.core.types import ANY_DIMENSION, Array, Dimension, PartialShape, TensorType
from irexec.ops.compute.precision import narrow, widen
from irexec.ops.detection.roi_align import Between, bin_samples
from irexec.ops.detection.roi_pooling import batches_of, check_batches
from irexec.ops.pooling.rule import PoolWindowing, pooled_shape
from irexec.ops.pooling.slide import slide
from irexec.ops.rules.axes import has_length, in_range, integers, last_of
from irexec.ops.rules.extents import Extents
from irexec.ops.rules.shapes import has_rank, same_shape
from irexec.ops.spec.attributes import NonNegative, NonNegativeInts, Positive, PositiveInts
from irexec.ops.spec.groups import group
from irexec.ops.spec.operator import Check, operator, require, rounded
from irexec.ops.spec.tensors import FloatTensor, I64Tensor, NumericTensor


@operator("LpPool", "onnx18", tolerance=rounded(64))
def lp_pool_18(data: FloatTensor, /, *, windows: PoolWindowing, p: float = 2.0) -> FloatTensor:
    """The `p`-norm of each window of `data` `[N, C, *X]`; padding is 0.

    C1: data has rank 3, 4 or 5. C2: kernel, strides, dilations and pads have one value per spatial axis. C3: the
    kernel fits into the padded data. C4: p is positive.
    """
    over = windows.over(data.shape[2:])
    powers = np.abs(widen(data)) ** p
    total = np.empty((*data.shape[:2], *over.counts), powers.dtype)
    slide(np.add, powers, over, 0, total)
    return narrow(total ** total.dtype.type(1 / p), data.dtype)


@lp_pool_18.shapes
def _(check: Check, data: TensorType, *, windows: PoolWindowing, p: float) -> PartialShape:
    check("C4", p > 0, f"p is {p}, expected a positive number", attribute="p")
    return pooled_shape(check, data, windows=windows)


@operator("AveragePool", "onnx19", tolerance=rounded(16))
def average_pool_19(data: FloatTensor, /, *, windows: PoolWindowing) -> FloatTensor:
    """The mean of each window of `data` `[N, C, *X]`, padding included; positions beyond the padding are not counted.

    C1 to C3 as in LpPool.
    """
    over = windows.over(data.shape[2:])
    wide = widen(data)
    total = np.empty((*data.shape[:2], *over.counts), wide.dtype)
    slide(np.add, wide, over, 0, total)
    sizes = np.ones((), np.int64)
    axes = zip(
        over.counts, over.strides, over.kernel, over.dilations, over.extents, over.begins, over.ends, strict=True
    )
    for count, stride, kernel, dilation, extent, begin, end in axes:
        room = extent + begin + end - np.arange(count) * stride
        sizes = sizes[..., None] * np.minimum(-(-room // dilation), kernel)
    return narrow(total / np.maximum(sizes, 1).astype(wide.dtype), data.dtype)


@average_pool_19.shapes
def _(check: Check, data: TensorType, *, windows: PoolWindowing) -> PartialShape:
    return pooled_shape(check, data, windows=windows)


@group
class Unpooling:
    """The windows of the pooling that is reversed, along each spatial axis."""

    kernel: PositiveInts
    strides: PositiveInts
    pads_begin: NonNegativeInts
    pads_end: NonNegativeInts

    def extents(self, pooled: Iterable[Any]) -> list[Any]:
        """Return the spatial extents (numbers or dimensions) before pooling."""
        axes = zip(pooled, self.kernel, self.strides, self.pads_begin, self.pads_end, strict=True)
        return [(extent - 1) * s + (k - b - e) for extent, k, s, b, e in axes]


@operator("MaxUnpool", "onnx9")
def max_unpool_9(
    x: NumericTensor, indices: I64Tensor, output_shape: I64Tensor | None = None, /, *, windows: Unpooling
) -> NumericTensor:
    """Reverse MaxPool: the elements of `x` at the positions in `indices`, and zeros elsewhere.

    A larger `output_shape` adds zeros at the ends of the axes.

    C1: x has rank 3 to 5. C2: kernel, strides and pads have one value per spatial axis, and pooling with them can have
    the shape of x. C3: indices has x's shape, and lies within the result. C4: output_shape is 1D, has a value for each
    axis of x, and is no smaller than the result.
    """
    shape = [*x.shape[:2], *windows.extents(x.shape[2:])]
    size = math.prod(shape)
    in_range(require, "C3", "indices", indices, 0, size - 1)
    flat = np.zeros(size, x.dtype)
    flat[indices.ravel()] = x.ravel()
    result = flat.reshape(shape)
    if output_shape is None:
        return result
    wanted = integers(output_shape)
    _check_room(require, wanted, [Dimension(extent) for extent in shape])
    return np.pad(result, [(0, w - s) for w, s in zip(wanted, shape, strict=True)])


def _check_room(check: Check, wanted: Sequence[int], shape: Sequence[Dimension]) -> bool:
    """Check C4: each wanted extent is at least the result's extent."""
    fits = all(extent >= least.min for extent, least in zip(wanted, shape, strict=True))
    message = f"output_shape is {list(wanted)}, expected at least {PartialShape(shape)}"
    return check("C4", fits, message, port="output_shape")


@max_unpool_9.shapes
def _(
    check: Check, x: TensorType, indices: TensorType, output_shape: TensorType | None, *, windows: Unpooling
) -> PartialShape:
    rank = len(x.shape)
    has_rank(check, "C1", x, (3, 4, 5), "x")
    for name in ("kernel", "strides", "pads_begin", "pads_end"):
        values = getattr(windows, name)
        message = f"{name} has {len(values)} values, expected one for each of the {rank - 2} spatial axes"
        if not check("C2", len(values) == rank - 2, message, attribute=name):
            return PartialShape.dynamic(rank)
    same_shape(check, "C3", x.shape, indices.shape, "indices")
    space = x.shape[2:]
    least = windows.extents([extent.value if extent.is_static else 1 for extent in space])
    if not check(
        "C2", min(least) >= 0, f"x has shape {x.shape}, which no pooling with these windows produces", port="x"
    ):
        return PartialShape.dynamic(rank)
    made = zip(space, windows.extents(space), strict=True)
    shape = PartialShape([*x.shape[:2], *(extent if given.is_static else ANY_DIMENSION for given, extent in made)])
    if shape.is_static:
        in_range(check, "C3", "indices", indices.value, 0, math.prod(shape.to_shape()) - 1)
    if output_shape is None:
        return shape
    wanted = output_shape.ints if has_length(check, "C4", output_shape, rank, "output_shape") else None
    fits = wanted is not None and _check_room(check, wanted, shape.dims)
    return PartialShape(wanted) if wanted and fits else PartialShape.dynamic(rank)


@operator("MaxRoiPool", "onnx1", tolerance=rounded(32))
def max_roi_pool_1(
    x: FloatTensor, rois: FloatTensor, /, *, pooled_shape: PositiveInts, spatial_scale: float = 1.0
) -> FloatTensor:
    """Bins [rois, C, *pooled_shape] of regions of `x` [N, C, H, W], each with its largest element.

    rois: [rois, 5], each a batch and a box (x1, y1, x2, y2). Empty bins give 0. C1: x has rank 4. C2: rois is [R, 5].
    C3: pooled_shape has two values. C4: each batch is the index of an image of x.
    """
    height, width = x.shape[2:]
    result = np.zeros((len(rois), x.shape[1], *pooled_shape), x.dtype)
    batches_of("C4", rois, len(x))
    for number, (batch, *box) in enumerate(rois.astype(np.float64).tolist()):
        left, top, right, bottom = (math.floor(c * spatial_scale + 0.5) for c in box)
        rows = _bins(top, bottom, pooled_shape[0], height)
        columns = _bins(left, right, pooled_shape[1], width)
        for i, (first, last) in enumerate(rows):
            for j, (begin, end) in enumerate(columns):
                if last > first and end > begin:
                    result[number, :, i, j] = x[int(batch), :, first:last, begin:end].max(axis=(1, 2))
    return result


def _bins(first: int, last: int, count: int, extent: int) -> list[tuple[int, int]]:
    """Return the start and end of each of `count` bins along a side of a region, clipped to the image."""
    size = max(last - first + 1, 1) / count
    edges = [(math.floor(i * size) + first, math.ceil((i + 1) * size) + first) for i in range(count)]
    return [(min(max(begin, 0), extent), min(max(end, 0), extent)) for begin, end in edges]


@max_roi_pool_1.shapes
def _(
    check: Check, x: TensorType, rois: TensorType, *, pooled_shape: Sequence[int], spatial_scale: float
) -> PartialShape:
    extents = Extents(check)
    extents.match("C1", "x", x, "N", "C", "H", "W")
    extents.match("C2", "rois", rois, "ROIS", 5)
    check_batches(check, "C4", rois, extents["N"])
    if not check("C3", len(pooled_shape) == 2, f"pooled_shape has {len(pooled_shape)} values, expected 2"):
        return PartialShape.dynamic(4)
    return extents.shape("ROIS", "C", *pooled_shape)


@operator("RoiAlign", "onnx16", tolerance=rounded(64))
def roi_align_16(
    x: FloatTensor,
    rois: FloatTensor,
    batch_indices: I64Tensor,
    /,
    *,
    output_height: Positive,
    output_width: Positive,
    sampling_ratio: NonNegative,
    spatial_scale: float,
    half_pixel: bool,
) -> FloatTensor:
    """Bins [rois, C, output_height, output_width], each with its largest sample (mode max).

    A sample is the largest of the four pixels around it, each multiplied by its weight in the interpolation.

    C1: x has rank 4. C2: rois is [rois, 4]. C3: batch_indices is [rois], each the index of an image of x.
    """
    in_range(require, "C3", "batch_indices", batch_indices, 0, len(x) - 1)
    wide, boxes = widen(x), widen(rois) * np.float32(spatial_scale) - np.float32(0.5 if half_pixel else 0)
    sizes = boxes[:, 2:] - boxes[:, :2]
    if not half_pixel:
        sizes = np.maximum(sizes, 1)
    result = np.zeros((len(rois), x.shape[1], output_height, output_width), wide.dtype)
    for number, (batch, box, (width, height)) in enumerate(zip(batch_indices, boxes, sizes, strict=True)):
        rows, _ = bin_samples(box[1], height, output_height, sampling_ratio, -1, x.shape[2])
        columns, _ = bin_samples(box[0], width, output_width, sampling_ratio, -1, x.shape[3])
        samples = _largest(wide[batch], *np.broadcast_arrays(rows[:, :, None, None], columns))
        if samples.shape[2] * samples.shape[4]:
            result[number] = samples.max(axis=(2, 4))
    return narrow(result, x.dtype)


def _largest(feature: Array, y: Array, x: Array) -> Array:
    """Return the largest of the four weighted pixels around each position; 0 for a position outside the image."""
    if not math.prod(feature.shape[1:]):
        return np.zeros((len(feature), *y.shape), feature.dtype)
    v, h = Between.pixels(y, feature.shape[1]), Between.pixels(x, feature.shape[2])
    corners = [
        (one * other, i, j)
        for one, i in ((v.before, v.low), (v.after, v.high))
        for other, j in ((h.before, h.low), (h.after, h.high))
    ]
    values: Array = np.max([weight * feature[:, i, j] for weight, i, j in corners], axis=0)
    values[:, v.outside | h.outside] = 0
    return values


@roi_align_16.shapes
def _(
    check: Check,
    x: TensorType,
    rois: TensorType,
    batch_indices: TensorType,
    *,
    output_height: int,
    output_width: int,
    **attributes: Any,
) -> PartialShape:
    extents = Extents(check)
    extents.match("C1", "x", x, "N", "C", "H", "W")
    extents.match("C2", "rois", rois, "ROIS", 4)
    extents.match("C3", "batch_indices", batch_indices, "ROIS")
    in_range(check, "C3", "batch_indices", batch_indices.ints, 0, last_of(extents["N"]))
    return extents.shape("ROIS", "C", output_height, output_width)
