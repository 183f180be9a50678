"""PSROIPooling and DeformablePSROIPooling: pooling in which each bin of a region has its own channels.

Source: operation pages PSROIPooling-1, DeformablePSROIPooling-1; the arithmetic follows OpenVINO's reference.
"""

from __future__ import annotations

from math import prod
from typing import Annotated, Literal, TypeAlias

import numpy as np

from irexec.core.types import Array, PartialShape, TensorType
from irexec.ops.compute.elementwise import half_away
from irexec.ops.compute.precision import narrow, widen
from irexec.ops.detection.roi_pooling import batches_of, check_batches, draw_rois, usable, without_pixels
from irexec.ops.rules.extents import Extents
from irexec.ops.spec.attributes import UNCOMPILED, AsRead, Positive, Within
from irexec.ops.spec.capacity import reserve
from irexec.ops.spec.groups import group
from irexec.ops.spec.operator import Check, operator, rounded
from irexec.ops.spec.oracle import Undefined
from irexec.ops.spec.tensors import FloatTensor

PositiveOr0: TypeAlias = Annotated[int, Within(ge=1), AsRead(default=0)]
SpatialBins: TypeAlias = Annotated[
    PositiveOr0, AsRead(others="takes 0, unless mode is bilinear: then it rejects the file")
]
Mode: TypeAlias = Annotated[Literal["average", "bilinear"], AsRead(default="")]


@group
class Bins:
    """The bins of a region and the channels that they read."""

    output_dim: Positive
    group_size: PositiveOr0 = 1
    spatial_scale: Annotated[float, Within(gt=0)]
    mode: Mode = "average"
    spatial_bins_x: SpatialBins = 1
    spatial_bins_y: SpatialBins = 1

    @property
    def channels(self) -> int:
        per_output = self.group_size**2 if self.mode == "average" else self.spatial_bins_x * self.spatial_bins_y
        return self.output_dim * per_output

    @property
    def pooled(self) -> tuple[int, int, int]:
        """The shape of the result for a region."""
        return self.output_dim, self.group_size, self.group_size


@operator("PSROIPooling", "opset1", tolerance=rounded(64))
def psroi_pooling_1(feature_maps: FloatTensor, rois: FloatTensor, /, *, bins: Bins) -> FloatTensor:
    """Bins [boxes, output_dim, group_size, group_size] of boxes (batch, x1, y1, x2, y2) in feature maps [N, C, H, W].

    Mode "average": boxes are in pixels of the image, and each output channel and bin has an input channel. "bilinear":
    boxes are in [0, 1], each output channel and spatial bin has an input channel, and a sample outside the feature map
    counts as 0. A box with a number that is not finite gives 0.

    C1: feature_maps is [N, C, H, W]. C2: rois is [num_boxes, 5]. C3: C is output_dim * group_size**2 (average) or
    output_dim * spatial_bins_x * spatial_bins_y (bilinear). C4: batches are in [0, N - 1].
    """
    features, boxes = widen(feature_maps), widen(rois)
    batches = batches_of("C4", boxes, len(features))
    result = np.zeros((len(boxes), *bins.pooled), features.dtype)
    pool = _average if bins.mode == "average" else _bilinear
    for index in usable(boxes[:, 1:], features):
        result[index] = pool(features[batches[index]], boxes[index, 1:], bins)
    return narrow(result, feature_maps.dtype)


def _average(feature: Array, box: Array, bins: Bins) -> Array:
    """Return the mean of each bin, taken from the channels that belong to it."""
    size, scale = bins.group_size, box.dtype.type(bins.spatial_scale)
    first, last = half_away(box[:2]) * scale, (half_away(box[2:]) + 1) * scale
    step = (last - first) / size
    extents = np.array(feature.shape[:0:-1])
    number = np.arange(size).astype(box.dtype)[:, None]
    starts = np.clip(np.floor(first + number * step), 0, extents - 1).astype(int)
    ends = np.clip(np.ceil(first + (number + 1) * step), 0, extents).astype(int)
    channels = feature.reshape(*bins.pooled, *feature.shape[1:])
    result = np.zeros(bins.pooled, feature.dtype)
    for i, (top, bottom) in enumerate(zip(starts[:, 1], ends[:, 1], strict=True)):
        for j, (left, right) in enumerate(zip(starts[:, 0], ends[:, 0], strict=True)):
            if top < bottom and left < right:
                result[:, i, j] = channels[:, i, j, top:bottom, left:right].mean(axis=(1, 2))
    return result


def _bilinear(feature: Array, box: Array, bins: Bins) -> Array:
    """Return, for each bin, the mean of one sample per spatial bin, taken from the channels of this spatial bin."""
    height, width = feature.shape[1:]
    scaled = box * box.dtype.type(bins.spatial_scale)
    down, across = bins.spatial_bins_y, bins.spatial_bins_x
    xs = _samples(scaled[0], scaled[2], across, bins.group_size, width)
    ys = _samples(scaled[1], scaled[3], down, bins.group_size, height)
    channels = feature.reshape(down, across, bins.output_dim, height, width)
    result = np.zeros(bins.pooled, feature.dtype)
    at_once = max(1, _SAMPLES // (bins.output_dim * bins.group_size))
    for begin in range(0, bins.group_size, at_once):
        rows = slice(begin, begin + at_once)
        for by in range(down):
            for bx in range(across):
                result[:, rows] += _interpolate(channels[by, bx], ys[by][rows, None], xs[bx])
    result /= across * down
    return result


def _samples(first: np.floating, last: np.floating, bins: int, size: int, extent: int) -> Array:
    """Return the positions of samples [bins, size] along one axis."""
    kind = type(first)
    step = (last - first) / kind(bins)
    starts: Array = first + np.arange(bins).astype(first.dtype)[:, None] * step
    if size == 1:
        places: Array = (starts + starts + step) * kind(extent - 1) / kind(2)
    else:
        scale = step * kind(extent - 1) / kind(size - 1)
        places = np.arange(size).astype(first.dtype) * scale + starts * kind(extent - 1)
    return places


def _interpolate(feature: Array, y: Array, x: Array) -> Array:
    """Return values [C, *points] interpolated between the pixels of [C, H, W]; 0 unless 0 <= y < H and 0 <= x < W."""
    height, width = feature.shape[1:]
    y, x = np.broadcast_arrays(y, x)
    inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
    y, x = np.where(inside, y, 0), np.where(inside, x, 0)
    top, left = np.floor(y).astype(int), np.floor(x).astype(int)
    bottom, right = np.minimum(np.ceil(y).astype(int), height - 1), np.minimum(np.ceil(x).astype(int), width - 1)
    dx, dy = (x - left).astype(x.dtype), (y - top).astype(y.dtype)
    upper = feature[:, top, left] + (feature[:, top, right] - feature[:, top, left]) * dx
    lower = feature[:, bottom, left] + (feature[:, bottom, right] - feature[:, bottom, left]) * dx
    return np.where(inside, upper + (lower - upper) * dy, 0)


@psroi_pooling_1.shapes
def _(check: Check, feature_maps: TensorType, rois: TensorType, *, bins: Bins) -> PartialShape:
    extents = Extents(check)
    extents.match("C1", "feature_maps", feature_maps, "N", "C", "H", "W")
    extents.match("C2", "rois", rois, "num_boxes", 5)
    message = f"feature_maps has {extents['C']} channels, expected {bins.channels}"
    check("C3", extents["C"].compatible(bins.channels), message, port="feature_maps", allowed=str(bins.channels))
    check_batches(check, "C4", rois, extents["N"])
    return extents.shape("num_boxes", *bins.pooled)


@psroi_pooling_1.oracle.undefined_for
def _(feature_maps: Array, rois: Array, *, bins: Bins) -> Undefined:
    """The result is undefined for a bin outside of the feature map, and for a box of mode bilinear that reaches beyond
    it: the page does not define these, and devices of OpenVINO differ.
    """
    if without_pixels(feature_maps):
        return True
    boxes, scale = widen(rois)[:, None, 1:], bins.spatial_scale
    if bins.mode == "bilinear":
        beyond = np.asarray(((boxes * scale < 0) | (boxes * scale > 1)).any(axis=-1))
        return (beyond[:, None, None],)
    first, last = half_away(boxes[..., :2]) * scale, (half_away(boxes[..., 2:]) + 1) * scale
    step = (last - first) / bins.group_size
    starts = first + np.arange(bins.group_size)[:, None] * step
    outside = np.asarray((starts >= np.array(feature_maps.shape[:1:-1])) | (starts + step <= 0))
    return (outside[:, None, :, None, 1] | outside[:, None, None, :, 0],)


@operator("DeformablePSROIPooling", "opset1", tolerance=rounded(64))
def deformable_psroi_pooling_1(
    feature_maps: FloatTensor,
    rois: FloatTensor,
    offsets: FloatTensor | None = None,
    /,
    *,
    output_dim: Positive,
    spatial_scale: Annotated[float, Within(gt=0)],
    group_size: Positive = 1,
    mode: Annotated[Literal["bilinear_deformable"], UNCOMPILED] = "bilinear_deformable",
    spatial_bins_x: Positive = 1,
    spatial_bins_y: Positive = 1,
    trans_std: float = 1.0,
    part_size: Positive = 1,
) -> FloatTensor:
    """Bins [rois, output_dim, group_size, group_size], each the mean of its samples that lie in the feature map.

    `offsets` [rois, 2 * classes, part_size, part_size] move the bins, as fractions (x, y) of the region's size.

    C1: feature_maps is [N, C, H, W]. C2: rois is [NUM_ROIS, 5]. C3: C is output_dim * group_size**2. C4: batches are in
    [0, N - 1]. C5: offsets is [NUM_ROIS, 2 * classes, part_size, part_size], where `classes` divides output_dim.
    """
    features, boxes = widen(feature_maps), widen(rois)
    batches = batches_of("C4", boxes, len(features))
    if not features.size:
        return np.zeros((len(boxes), output_dim, group_size, group_size), feature_maps.dtype)
    samples = (output_dim, group_size, group_size, spatial_bins_y, spatial_bins_x)
    reserve((_NUMBERS, *samples), features.dtype)
    kind = boxes.dtype.type
    first = half_away(boxes[:, 1:3]) * kind(spatial_scale) - kind(0.5)
    last = (half_away(boxes[:, 3:]) + 1) * kind(spatial_scale) - kind(0.5)
    region = np.maximum(last - first, kind(0.1))
    step = region / kind(group_size)
    # Left top corners of the bins: [rois, output_dim or 1, bins y, bins x].
    number = np.arange(group_size).astype(boxes.dtype)
    shape = (len(boxes), output_dim, group_size, group_size)
    square = (len(boxes), 1, group_size, group_size)
    x = np.broadcast_to((first[:, :1] + number * step[:, :1])[:, None, None, :], square)
    y = np.broadcast_to((first[:, 1:] + number * step[:, 1:])[:, None, :, None], square)
    if offsets is not None:
        part = np.arange(group_size) * part_size // group_size
        label = np.arange(output_dim) * (offsets.shape[1] // 2) // output_dim
        moved = widen(offsets)[:, :, part[:, None], part] * kind(trans_std)
        x = x + moved[:, 2 * label] * region[:, 0, None, None, None]
        y = y + moved[:, 2 * label + 1] * region[:, 1, None, None, None]
    inner_x = np.arange(spatial_bins_x).astype(boxes.dtype) * (step[:, :1] / kind(spatial_bins_x))
    inner_y = np.arange(spatial_bins_y).astype(boxes.dtype) * (step[:, 1:] / kind(spatial_bins_y))
    result = np.empty(shape, feature_maps.dtype)
    at_once = max(1, _SAMPLES // prod(samples))
    for begin in range(0, len(boxes), at_once):
        some = slice(begin, begin + at_once)
        corners = x[some], y[some]
        means = _means(features, batches[some], output_dim, *corners, inner_x[some], inner_y[some])
        result[some] = narrow(means, feature_maps.dtype)
    return result


_SAMPLES, _NUMBERS = 1 << 18, 12
"""The number of samples computed at once (at least the samples of one region or row), and the numbers stored per
sample.
"""


def _means(features: Array, batches: Array, labels: int, x: Array, y: Array, inner_x: Array, inner_y: Array) -> Array:
    """Return the mean of the samples of each bin that lie in the feature map; 0 if no sample does.

    `x` and `y` [rois, labels or 1, bins, bins] are the corners of the bins, `inner_x` and `inner_y` [rois, samples] the
    distances of the samples from these corners.
    """
    height, width = features.shape[2:]
    x = x[..., None, None] + inner_x[:, None, None, None, None, :]
    y = y[..., None, None] + inner_y[:, None, None, None, :, None]
    x, y = np.broadcast_arrays(x, y)
    inside = (y >= -0.5) & (y <= height - 0.5) & (x >= -0.5) & (x <= width - 0.5)
    places = (np.clip(np.nan_to_num(v), 0, extent - 1) for v, extent in ((y, height), (x, width)))
    values = _own_channels(features, batches, labels, *places)
    count = inside.sum(axis=(4, 5))
    total = np.where(inside, values, 0).sum(axis=(4, 5), dtype=values.dtype)
    return np.asarray(total / np.maximum(count, 1).astype(values.dtype))


def _own_channels(features: Array, batches: Array, labels: int, y: Array, x: Array) -> Array:
    """Return values at places [rois, labels or 1, bins, bins, ...], for each bin from its own channel."""
    _, channels, height, width = features.shape
    size = y.shape[2]
    channel = np.arange(labels * size * size).reshape(1, labels, size, size, 1, 1)
    # The start of each bin's plane in the flat features: indexing by one array is far faster than by four.
    begin = (batches.reshape(-1, 1, 1, 1, 1, 1) * channels + channel) * (height * width)
    flat = features.reshape(-1)
    top, left, bottom, right = (f(v).astype(int) for f in (np.floor, np.ceil) for v in (y, x))
    dx, dy = (x - left).astype(x.dtype), (y - top).astype(y.dtype)
    upper, lower = (
        (at_left := flat.take(begin + (row * width + left))) + (flat.take(begin + (row * width + right)) - at_left) * dx
        for row in (top, bottom)
    )
    result: Array = upper + (lower - upper) * dy
    return result


@deformable_psroi_pooling_1.shapes
def _(
    check: Check,
    feature_maps: TensorType,
    rois: TensorType,
    offsets: TensorType | None,
    *,
    output_dim: int,
    group_size: int,
    part_size: int,
) -> PartialShape:
    extents = Extents(check)
    extents.match("C1", "feature_maps", feature_maps, "N", "C", "H", "W")
    extents.match("C2", "rois", rois, "NUM_ROIS", 5)
    channels = output_dim * group_size**2
    message = f"feature_maps has {extents['C']} channels, expected {channels}"
    check("C3", extents["C"].compatible(channels), message, port="feature_maps", allowed=str(channels))
    check_batches(check, "C4", rois, extents["N"])
    extents.match("C5", "offsets", offsets, "NUM_ROIS", "twice_classes", part_size, part_size)
    twice = extents["twice_classes"]
    divides = not twice.is_static or (twice.value % 2 == 0 and twice.value > 0 and output_dim % (twice.value // 2) == 0)
    check(
        "C5",
        divides,
        f"offsets has {twice} channels, expected twice a divisor of output_dim, which is {output_dim}",
        port="offsets",
    )
    return extents.shape("NUM_ROIS", output_dim, group_size, group_size)


psroi_pooling_1.oracle.draw("rois")(draw_rois)
deformable_psroi_pooling_1.oracle.draw("rois")(draw_rois)
deformable_psroi_pooling_1.oracle.undefined_for(without_pixels)
