"""ROIAlign and ROIAlignRotated: regions of interest pooled to a fixed size from samples between the pixels.

Source: operation pages ROIAlign-3, -9 and ROIAlignRotated-15. As in OpenVINO's reference, a sample more than a pixel
outside the feature map is 0, and a nearer sample takes the value of the border.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from irexec.core.types import INTEGERS, Array, PartialShape, TensorType
from irexec.ops.compute.precision import limits_of, narrow, widen
from irexec.ops.detection.roi_pooling import usable, without_pixels
from irexec.ops.rules.axes import in_range, last_of
from irexec.ops.rules.boxes import draw_regions
from irexec.ops.rules.extents import Extents
from irexec.ops.spec.attributes import AsRead, Positive, Within
from irexec.ops.spec.groups import AttributesOf, group
from irexec.ops.spec.older import OlderForm
from irexec.ops.spec.operator import Check, Elements, operator, require, rounded
from irexec.ops.spec.oracle import ROUNDED
from irexec.ops.spec.signature import InputsOf
from irexec.ops.spec.tensors import FloatTensor

IND_T: TypeAlias = Annotated[Array, Elements("IND_T", INTEGERS)]
Pooling = Literal["max", "avg"]
Aligned = Literal["asymmetric", "half_pixel_for_nn", "half_pixel"]
Scale = Annotated[float, Within(gt=0)]
# 0 means as many samples as the bin has pixels; torchvision writes -1 for this, which OpenVINO's kernels accept.
Samples = Annotated[int, Within(ge=0), AsRead(taken_as=0)]


@group
class Bins:
    """The number of bins of a region, and of samples per bin along a side (0: as many as the bin has pixels)."""

    pooled_h: Positive
    pooled_w: Positive
    sampling_ratio: Samples
    spatial_scale: Scale


class Between(NamedTuple):
    """The neighbouring pixels (`low`, `high`) and their weights, for positions on one axis that are not `outside`."""

    outside: Array
    low: Array
    high: Array
    before: Array  # the weight of `low`
    after: Array  # the weight of `high`

    @staticmethod
    def pixels(places: Array, extent: int) -> Between:
        # The comparison is written so that a position of NaN is also outside.
        outside = ~((places >= -1) & (places <= extent))
        inside = np.where(outside, 0, places).clip(0, extent - 1).astype(places.dtype, copy=False)
        low = np.floor(inside).astype(np.intp)
        after = (inside - low).astype(places.dtype)
        return Between(outside, low, np.minimum(low + 1, extent - 1), 1 - after, after)


def sample(feature: Array, y: Array, x: Array) -> Array:
    """Return values [C, *points] of a feature map [C, H, W] at places y and x [*points], interpolated linearly."""
    v, h = Between.pixels(y, feature.shape[1]), Between.pixels(x, feature.shape[2])
    values: Array = (v.before * h.before) * feature[:, v.low, h.low]
    values += (v.before * h.after) * feature[:, v.low, h.high]
    values += (v.after * h.before) * feature[:, v.high, h.low]
    values += (v.after * h.after) * feature[:, v.high, h.high]
    values[:, v.outside | h.outside] = 0
    return values


def average_or_max(
    feature: Array, start: Sequence[Any], size: Sequence[Any], pooled: tuple[int, int], sampling_ratio: int, mode: str
) -> Array:
    """Return the bins [C, *pooled] of one region of a feature map [C, H, W]; `start` and `size` are (y, x)."""
    (y, rows), (x, columns) = (
        bin_samples(first, length, count, sampling_ratio, -1, extent)
        for first, length, count, extent in zip(start, size, pooled, feature.shape[1:], strict=True)
    )
    if mode == "avg" and y.shape[1] * x.shape[1] > _FEW_SAMPLES:
        (over_y, used_y), (over_x, used_x) = (
            _weights(places, extent) for places, extent in ((y, feature.shape[1]), (x, feature.shape[2]))
        )
        part = feature[:, used_y[:, None], used_x]
        # A number that is not finite must not affect bins that do not contain it.
        if np.isfinite(part).all():
            return np.asarray(over_y @ part @ over_x.T / feature.dtype.type(max(rows * columns, 1)))
    if mode == "max":
        y, x = _ends(y), _ends(x)
    at_once = max(_SAMPLES_AT_ONCE // max(y.shape[1] * x.size, 1), 1)
    parts = [y[begin : begin + at_once, :, None, None] for begin in range(0, len(y), at_once)]
    bins = [pool(sample(feature, *np.broadcast_arrays(part, x)), mode, rows * columns) for part in parts]
    return bins[0] if len(bins) == 1 else np.concatenate(bins, axis=1)


_FEW_SAMPLES = 64
"""The number of samples of a bin above which its mean is computed axis by axis: interpolation is separable."""
_SAMPLES_AT_ONCE = 1 << 16
"""The number of samples of each channel that are computed at once, to limit memory."""


def _ends(places: Array) -> Array:
    """Return the samples [bins, used] that may be the largest of a bin: the first and the last sample between two
    neighbouring pixels.
    """
    if places.shape[1] <= _FEW_SAMPLES:
        return places
    cells = np.floor(places)
    new = cells[:, 1:] != cells[:, :-1]
    ends = np.pad(new, ((0, 0), (1, 0)), constant_values=True) | np.pad(new, ((0, 0), (0, 1)), constant_values=True)
    order = np.argsort(~ends, axis=1, kind="stable")[:, : ends.sum(axis=1).max()]
    # A bin with fewer samples repeats its first sample.
    order = np.where(np.take_along_axis(ends, order, 1), order, 0)
    return np.take_along_axis(places, order, 1)


def _weights(places: Array, extent: int) -> tuple[Array, Array]:
    """Return the weights [bins, used] of an axis's pixels in the sums of samples [bins, samples], and the numbers of
    the used pixels.
    """
    between = Between.pixels(places, extent)
    flat = np.arange(len(places))[:, None] * extent
    total = np.zeros(len(places) * extent)
    for index, weight in ((between.low, between.before), (between.high, between.after)):
        total += np.bincount((flat + index).ravel(), np.where(between.outside, 0, weight).ravel(), total.size)
    weights = total.reshape(len(places), extent)
    used = np.flatnonzero(weights.any(axis=0))
    return weights[:, used].astype(places.dtype), used


def bin_samples(start: Any, size: Any, pooled: int, sampling_ratio: int, low: float, high: float) -> tuple[Array, int]:
    """Return places [pooled, samples] of the samples along one side of a region, and the number of samples per bin.

    For a region far larger than the feature map [low, high], only positions around the map are returned.
    """
    kind = np.asarray(size).dtype.type
    step = kind(size / pooled)
    count = sampling_ratio or max(math.ceil(step), 0)
    inner = kind(step / max(count, 1))
    starts = kind(start) + np.arange(pooled).astype(kind)[:, None] * step
    if sampling_ratio or count <= high - low + 8:
        numbers = np.arange(count)
    else:
        # There is about one sample per pixel. Samples outside of the feature map are 0.
        some = min(count, 2 * math.ceil(high - low) + 8)
        numbers = np.clip(np.floor((low - starts) / inner) - 4, 0, count - some).astype(np.int64) + np.arange(some)
    return starts + (numbers + 0.5).astype(kind) * inner, count


def pool(samples: Array, mode: str, count: int) -> Array:
    """Pool [C, bins y, samples y, bins x, samples x] to [C, bins y, bins x]; samples missing from `count` count as
    0.
    """
    if mode == "max":
        return np.asarray(samples.max(axis=(2, 4), initial=0))
    return np.asarray(samples.sum(axis=(2, 4)) / samples.dtype.type(max(count, 1)))


@operator("ROIAlign", "opset9", tolerance=rounded(64))
def roi_align_9(
    feature_maps: FloatTensor,
    rois: FloatTensor,
    batch_indices: IND_T,
    /,
    *,
    bins: Bins,
    mode: Pooling,
    aligned_mode: Aligned = "asymmetric",
) -> FloatTensor:
    """Bins [rois, C, pooled_h, pooled_w] of boxes [rois, 4], as (x1, y1, x2, y2), in feature maps [N, C, H, W].

    The maximum is never below 0: OpenVINO's kernels start at 0, and the page does not define it. Only in the mode
    asymmetric, a region less than a pixel wide counts as one pixel. A region of negative size has no samples if their
    number is adaptive; it gives 0, as does a box with a number that is not finite.

    C1: feature_maps is [N, C, H, W]. C2: rois is [NUM_ROIS, 4]. C3: batch_indices is [NUM_ROIS], each in [0, N - 1].
    """
    in_range(require, "C3", "batch_indices", batch_indices, 0, len(feature_maps) - 1)
    features, boxes = widen(feature_maps), widen(rois)
    kind = boxes.dtype.type
    before, after = {"asymmetric": (0, 0), "half_pixel_for_nn": (0, 0.5), "half_pixel": (0.5, 0.5)}[aligned_mode]
    boxes = (boxes + kind(before)) * kind(bins.spatial_scale) - kind(after)
    sizes = boxes[:, 2:] - boxes[:, :2]
    if aligned_mode == "asymmetric":
        sizes = np.maximum(sizes, 1)
    result = np.zeros((len(boxes), features.shape[1], bins.pooled_h, bins.pooled_w), features.dtype)
    for index in usable(boxes, features):
        (x1, y1), (width, height) = boxes[index, :2], sizes[index]
        pooled = (bins.pooled_h, bins.pooled_w)
        feature = features[batch_indices[index]]
        result[index] = average_or_max(feature, (y1, x1), (height, width), pooled, bins.sampling_ratio, mode)
    return narrow(result, feature_maps.dtype)


@roi_align_9.older
def _(form: OlderForm, *inputs: TensorType | None) -> None:
    form.need_attribute("aligned_mode", "asymmetric")


@operator("ROIAlign", "opset3", tolerance=rounded(64))
def roi_align_3(
    *inputs: Annotated[Any, InputsOf(roi_align_9)],
    **rest: Annotated[Any, AttributesOf(roi_align_9, without="aligned_mode")],
) -> FloatTensor:
    """As ROIAlign-9 in the mode asymmetric. C1 to C3 are the same."""
    return np.asarray(roi_align_9.compute(*inputs, **rest))


@operator("ROIAlignRotated", "opset15", tolerance=rounded(256))
def roi_align_rotated_15(
    feature_maps: FloatTensor, rois: FloatTensor, batch_indices: IND_T, /, *, bins: Bins, clockwise_mode: bool = False
) -> FloatTensor:
    """Means of the bins [rois, C, pooled_h, pooled_w] of rotated boxes (centre x, centre y, width, height, angle).

    The scale also applies to the centre; the angle is in radians.

    C1: feature_maps is [N, C, H, W]. C2: rois is [NUM_ROIS, 5]. C3: batch_indices is [NUM_ROIS], each in [0, N - 1].
    """
    in_range(require, "C3", "batch_indices", batch_indices, 0, len(feature_maps) - 1)
    features, boxes = widen(feature_maps), widen(rois)
    kind = boxes.dtype.type
    scaled = boxes[:, :4] * kind(bins.spatial_scale)
    angles = -boxes[:, 4] if clockwise_mode else boxes[:, 4]
    result = np.zeros((len(boxes), features.shape[1], bins.pooled_h, bins.pooled_w), features.dtype)
    # The feature map lies in a circle around its centre.
    middle, radius = np.array(features.shape[:1:-1]) / 2, float(np.hypot(*features.shape[2:])) + 4
    for index in usable(np.column_stack([scaled, angles]), features):
        (cx, cy, width, height), angle = scaled[index], angles[index]
        cos, sin = np.cos(angle), np.sin(angle)
        dx, dy = middle - (cx, cy)
        at_y, at_x = float(dy * cos + dx * sin), float(dx * cos - dy * sin)
        y, rows = bin_samples(-height / 2, height, bins.pooled_h, bins.sampling_ratio, at_y - radius, at_y + radius)
        x, columns = bin_samples(-width / 2, width, bins.pooled_w, bins.sampling_ratio, at_x - radius, at_x + radius)
        y = y[:, :, None, None]
        turned_y = y * cos - x * sin + (cy - kind(0.5))
        turned_x = y * sin + x * cos + (cx - kind(0.5))
        result[index] = pool(sample(features[batch_indices[index]], turned_y, turned_x), "avg", rows * columns)
    return narrow(result, feature_maps.dtype)


@roi_align_3.shapes
@roi_align_9.shapes
@roi_align_rotated_15.shapes
def _(
    check: Check,
    feature_maps: TensorType,
    rois: TensorType,
    batch_indices: TensorType,
    *,
    bins: Bins,
    clockwise_mode: bool | None = None,
) -> PartialShape:
    extents = Extents(check)
    extents.match("C1", "feature_maps", feature_maps, "N", "C", "H", "W")
    # A rotated box has an angle.
    extents.match("C2", "rois", rois, "NUM_ROIS", 4 if clockwise_mode is None else 5)
    extents.match("C3", "batch_indices", batch_indices, "NUM_ROIS")
    in_range(check, "C3", "batch_indices", batch_indices.ints, 0, last_of(extents["N"]))
    return extents.shape("NUM_ROIS", "C", bins.pooled_h, bins.pooled_w)


@roi_align_3.oracle.draw("batch_indices")
@roi_align_9.oracle.draw("batch_indices")
@roi_align_rotated_15.oracle.draw("batch_indices")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    kind, batches = types[port], types["feature_maps"].shape[0].value
    return rng.integers(0, batches, kind.shape.to_shape()).astype(kind.element_type.dtype)


@roi_align_rotated_15.oracle.draw("rois")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType], *, spatial_scale: float) -> Array:
    """Draw boxes (centre x, centre y, width, height, angle), most of which lie in the feature map."""
    kind, (height, width) = types[port], types["feature_maps"].shape.to_shape()[2:]
    count = kind.shape[0].value
    limits = np.array([[0, width], [0, height], [0.5, width], [0.5, height], [-3, 3]]) / (
        [[spatial_scale]] * 4 + [[1.0]]
    )
    boxes = rng.uniform(limits[:, 0], limits[:, 1], (count, 5))
    largest = float(limits_of(kind.element_type.dtype).max)
    return np.clip(boxes, -largest, largest).astype(kind.element_type.dtype)


roi_align_3.oracle.allowed = roi_align_9.oracle.allowed = ROUNDED


for _operator in (roi_align_9, roi_align_3, roi_align_rotated_15):
    _operator.oracle.undefined_for(without_pixels)


for _op in (roi_align_3, roi_align_9):
    _op.oracle.draw("rois")(draw_regions)
