"""ROIPooling: regions of interest pooled to a fixed size, by the maximum of each bin or one sample in it.

Source: operation page ROIPooling-1; boxes are divided into bins as in OpenVINO's reference.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np

from irexec.core.types import Array, Dimension, PartialShape, TensorType
from irexec.ops.compute.elementwise import half_away
from irexec.ops.compute.precision import narrow, widen
from irexec.ops.rules.axes import in_range, last_of
from irexec.ops.rules.extents import Extents
from irexec.ops.spec.attributes import Positive, Within
from irexec.ops.spec.operator import Check, operator, require, rounded
from irexec.ops.spec.tensors import FloatTensor

# A number beyond every pixel coordinate.
FAR = 1 << 40


@operator("ROIPooling", "opset2", tolerance=rounded(32))
def roi_pooling_2(
    feature_maps: FloatTensor,
    rois: FloatTensor,
    /,
    *,
    pooled_h: Positive,
    pooled_w: Positive,
    spatial_scale: Annotated[float, Within(gt=0)],
    method: Literal["max", "bilinear"] = "max",
    output_size: tuple[int, ...] = (),
    output_roi: tuple[int, ...] = (),
) -> FloatTensor:
    """Bins [rois, C, pooled_h, pooled_w] of boxes [rois, 5], as (batch, x1, y1, x2, y2), in feature maps [N, C, H, W].

    Method "max": boxes are in pixels of the image, both ends included, and an empty bin is 0. "bilinear": boxes are
    fractions of the feature map, and a sample outside it is 0. A box with a number that is not finite gives 0.
    output_size and output_roi repeat pooled_h and pooled_w in OpenVINO's files.

    C1: feature_maps is [N, C, H, W]. C2: rois is [NUM_ROIS, 5]. C3: batches are in [0, N - 1].
    C4: spatial_scale is finite. C5: output_size and output_roi have two values, if any.
    """
    features, boxes = widen(feature_maps), widen(rois)
    batches = batches_of("C3", boxes, len(features))
    result = np.zeros((len(boxes), features.shape[1], pooled_h, pooled_w), features.dtype)
    for index in usable(boxes[:, 1:], features):
        batch, box = batches[index], boxes[index, 1:]
        if method == "max":
            corners = np.clip(half_away(box * box.dtype.type(spatial_scale)), -FAR, FAR).astype(np.int64)
            result[index] = _max(features[batch], corners, pooled_h, pooled_w)
        else:
            result[index] = _bilinear(features[batch], box, pooled_h, pooled_w)
    return narrow(result, feature_maps.dtype)


def _max(feature: Array, corners: Array, pooled_h: int, pooled_w: int) -> Array:
    """Return the maximum of each bin of the box (x1, y1, x2, y2) in pixels, both ends included."""
    x1, y1, x2, y2 = (int(c) for c in corners)
    rows = _bins(y1, y2, pooled_h, feature.shape[1], feature.dtype)
    columns = _bins(x1, x2, pooled_w, feature.shape[2], feature.dtype)
    result = np.zeros((len(feature), pooled_h, pooled_w), feature.dtype)
    for i, (top, bottom) in enumerate(rows):
        for j, (left, right) in enumerate(columns):
            if top < bottom and left < right:
                result[:, i, j] = feature[:, top:bottom, left:right].max(axis=(1, 2))
    return result


def _bins(first: int, last: int, count: int, extent: int, dtype: np.dtype[np.floating]) -> list[tuple[int, int]]:
    """Return the begin and end of each bin along one axis; a box that ends before it begins is one pixel."""
    size = dtype.type(max(last - first + 1, 1)) / dtype.type(count)
    number = np.arange(count).astype(dtype)
    starts = np.floor(number * size).astype(int) + first
    ends = np.ceil((number + 1) * size).astype(int) + first
    return list(zip(np.clip(starts, 0, extent).tolist(), np.clip(ends, 0, extent).tolist(), strict=True))


def _bilinear(feature: Array, box: Array, pooled_h: int, pooled_w: int) -> Array:
    """Return one sample for each bin; the outer samples lie on the borders of the box (x1, y1, x2, y2) in [0, 1]."""
    height, width = feature.shape[1:]
    y, x = _points(box[1], box[3], pooled_h, height), _points(box[0], box[2], pooled_w, width)
    inside = ((y >= 0) & (y <= height - 1))[:, None] & ((x >= 0) & (x <= width - 1))
    y, x = np.clip(y, 0, height - 1), np.clip(x, 0, width - 1)
    top, left = np.floor(y).astype(int)[:, None], np.floor(x).astype(int)
    bottom, right = np.ceil(y).astype(int)[:, None], np.ceil(x).astype(int)
    dy, dx = (y[:, None] - top).astype(y.dtype), (x - left).astype(x.dtype)
    upper = feature[:, top, left] + (feature[:, top, right] - feature[:, top, left]) * dx
    lower = feature[:, bottom, left] + (feature[:, bottom, right] - feature[:, bottom, left]) * dx
    return np.where(inside, upper + (lower - upper) * dy, 0)


def _points(first: np.floating, last: np.floating, count: int, extent: int) -> Array:
    kind = type(first)
    if count == 1:
        return np.array([kind(0.5) * (first + last) * kind(extent - 1)])
    scale = (last - first) * kind(extent - 1) / kind(count - 1)
    points: Array = np.arange(count).astype(first.dtype) * scale + first * kind(extent - 1)
    points[-1] = kind(extent - 1) * last
    return points


@roi_pooling_2.shapes
def _(
    check: Check,
    feature_maps: TensorType,
    rois: TensorType,
    *,
    pooled_h: int,
    pooled_w: int,
    spatial_scale: float,
    output_size: Sequence[int],
    output_roi: Sequence[int],
) -> PartialShape:
    extents = Extents(check)
    extents.match("C1", "feature_maps", feature_maps, "N", "C", "H", "W")
    extents.match("C2", "rois", rois, "NUM_ROIS", 5)
    check_scale(check, "C4", spatial_scale)
    for name, pair in (("output_size", output_size), ("output_roi", output_roi)):
        check("C5", len(pair) in (0, 2), f"{name} has {len(pair)} values, expected 2", attribute=name, allowed="2")
    check_batches(check, "C3", rois, extents["N"])
    return extents.shape("NUM_ROIS", "C", pooled_h, pooled_w)


def usable(boxes: Array, features: Array) -> list[int]:
    """Return the indices of the boxes whose numbers are finite; an empty list if the feature maps are empty."""
    found: list[int] = np.flatnonzero(np.isfinite(boxes).all(axis=1)).tolist()
    return found if features.size else []


def batches_of(constraint: str, rois: Array, count: int) -> Array:
    """Return the batch [boxes] of each box (batch, x1, y1, x2, y2). Raises ConstraintError outside [0, count - 1]."""
    batches = _whole(rois[:, 0])
    _check_batches(require, constraint, batches, count - 1)
    return batches


def check_scale(check: Check, constraint: str, spatial_scale: float) -> None:
    """Report a scale that is infinite or NaN."""
    message = f"spatial_scale is {spatial_scale}, expected a finite number"
    check(constraint, math.isfinite(spatial_scale), message, attribute="spatial_scale")


def check_batches(check: Check, constraint: str, rois: TensorType, batches: Dimension) -> None:
    """Report known boxes with a batch index that is out of range."""
    if rois.value is not None and rois.value.ndim == 2 and rois.value.shape[1]:
        _check_batches(check, constraint, _whole(rois.value[:, 0]), last_of(batches))


def _whole(numbers: Array) -> Array:
    """Return numbers of batches as integers; NaN, and numbers beyond all batches, are out of range."""
    return np.clip(np.nan_to_num(numbers.astype(np.float64), nan=-1), -1, 1 << 40).astype(np.int64)


def _check_batches(check: Check, constraint: str, batches: Array, last: int | None) -> None:
    in_range(check, constraint, "rois", batches, 0, last)


@roi_pooling_2.oracle.draw("rois")
def draw_rois(
    rng: np.random.Generator,
    port: str,
    types: dict[str, TensorType],
    *,
    spatial_scale: float,
    method: str = "",
    mode: str = "",
) -> Array:
    """Draw boxes within the feature map, in the coordinates of the method."""
    kind = types[port]
    batches, _, height, width = types[next(iter(types))].shape.to_shape()
    normalized = "bilinear" in (method, mode)
    count = kind.shape[0].value
    boxes = np.empty((count, 5))
    boxes[:, 0] = rng.integers(0, batches, count)
    for axis, extent in ((1, width), (2, height)):
        ends = np.sort(rng.uniform(0, 1 if normalized else extent / spatial_scale, (count, 2)))
        boxes[:, axis], boxes[:, axis + 2] = ends[:, 0], ends[:, 1]
    return boxes.astype(kind.element_type.dtype)


def without_pixels(*inputs: Array | None, **_: Any) -> bool:
    """Return whether feature maps have no elements; the pages do not define a result for these."""
    return any(a is not None and a.ndim == 4 and not a.size for a in inputs)


roi_pooling_2.oracle.undefined_for(without_pixels)
