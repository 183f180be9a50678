"""Detectron's grid of priors, its features of regions, and its detections.

Source: operation pages ExperimentalDetectronPriorGridGenerator-6, ExperimentalDetectronROIFeatureExtractor-6,
ExperimentalDetectronDetectionOutput-6; for arithmetic that the pages do not define, OpenVINO's reference.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from irexec.core.types import I32, Array, PartialShape, TensorType
from irexec.ops.compute.boxes import suppress
from irexec.ops.compute.precision import narrow, widen
from irexec.ops.detection.generate_proposals import refine
from irexec.ops.detection.roi_align import average_or_max
from irexec.ops.detection.roi_pooling import without_pixels
from irexec.ops.rules.boxes import draw_images, draw_regions, draw_scores
from irexec.ops.rules.extents import Extents
from irexec.ops.spec.attributes import AsRead, NonNegative, Positive, PositiveInts, Within
from irexec.ops.spec.operator import Check, Elements, operator, rounded
from irexec.ops.spec.oracle import Undefined
from irexec.ops.spec.tensors import FloatTensor

T_IND: TypeAlias = Annotated[Array, Elements("T_IND", {I32})]
Limit = Annotated[float, Within(ge=0)]
Weights = tuple[Annotated[float, Within(gt=0)], ...]
# Regions of this size belong to the pyramid level of this number (Feature Pyramid Networks).
CANONICAL_SIZE, CANONICAL_LEVEL = 224.0, 2


@operator("ExperimentalDetectronPriorGridGenerator", "opset6", tolerance=rounded(4))
def prior_grid_generator_6(
    priors: FloatTensor,
    feature_map: FloatTensor,
    im_data: FloatTensor,
    /,
    *,
    flatten: Annotated[bool, AsRead(default=False)] = True,
    h: NonNegative = 0,
    w: NonNegative = 0,
    stride_x: Limit = 0.0,
    stride_y: Limit = 0.0,
) -> FloatTensor:
    """The priors around the centre of every cell of a grid: [height * width * priors, 4] or [height, width, priors, 4].

    The grid has h x w cells, by default as many as the feature map; for a smaller grid, zeros follow its priors. Steps
    of 0 spread the grid over the image.

    C1: priors is [number_of_priors, 4]. C2: feature_map is [1, C, height, width]. C3: im_data is
    [1, C, image_height, image_width]. C4: h and w are no more than the feature map's height and width.
    """
    (rows, columns), image = feature_map.shape[2:], im_data.shape[2:]
    height, width = h or rows, w or columns
    boxes = widen(priors)
    kind = boxes.dtype.type
    steps = stride_x or image[1] / max(width, 1), stride_y or image[0] / max(height, 1)
    x, y = (
        kind(step) * (np.arange(n) + kind(0.5)).astype(kind) for step, n in zip(steps, (width, height), strict=True)
    )
    grid = np.empty((height, width, len(boxes), 4), boxes.dtype)
    grid[..., 0::2] = boxes[:, 0::2] + x[:, None, None]
    grid[..., 1::2] = boxes[:, 1::2] + y[:, None, None, None]
    result = np.zeros(rows * columns * boxes.size, boxes.dtype)
    result[: grid.size] = grid.ravel()
    return narrow(result.reshape((-1, 4) if flatten else (rows, columns, len(boxes), 4)), priors.dtype)


@prior_grid_generator_6.shapes
def _(
    check: Check, priors: TensorType, feature_map: TensorType, im_data: TensorType, *, flatten: bool, h: int, w: int
) -> PartialShape:
    extents = Extents(check)
    extents.match("C1", "priors", priors, "number_of_priors", 4)
    extents.match("C2", "feature_map", feature_map, 1, "map_channels", "height", "width")
    extents.match("C3", "im_data", im_data, 1, "image_channels", "image_height", "image_width")
    for name, value, side in (("h", h, "height"), ("w", w, "width")):
        most = extents[side].max
        message = f"{name} is {value}, expected at most {extents[side]}, the {side} of the feature map"
        check("C4", most is None or value <= most, message, attribute=name, allowed=f"0..{most}")
    grid = extents.shape("height", "width", "number_of_priors", 4)
    return PartialShape([grid[:3].size, 4]) if flatten else grid


@operator("ExperimentalDetectronROIFeatureExtractor", "opset6", tolerance=rounded(64))
def roi_feature_extractor_6(
    rois: FloatTensor,
    /,
    *pyramid: FloatTensor,
    output_size: Positive,
    sampling_ratio: NonNegative,
    pyramid_scales: PositiveInts,
    aligned: bool = False,
) -> tuple[FloatTensor, FloatTensor]:
    """Features [rois, C, output_size, output_size] of each region (x1, y1, x2, y2) from its pyramid level; the regions.

    A region's level is floor(2 + log2(sqrt(area) / 224 + 1e-6)), limited to the existing levels; regions without area,
    or with a number that is not finite, have features 0. Both outputs are in the order of the input, as in OpenVINO; on
    the page the second output is sorted by level.

    C1: rois is [number_of_ROIs, 4]. C2: each level is [1, C, height, width]. C3: there is a scale for each level (the
    page's example has one more), and at least one level.
    """
    boxes = widen(rois)
    kind = boxes.dtype.type
    sides = boxes[:, 2:] - boxes[:, :2]
    areas = sides[:, 0] * sides[:, 1]
    real = areas > 0
    size = np.sqrt(np.where(real, areas, 1)) / kind(CANONICAL_SIZE)
    levels = np.clip(np.floor(np.log2(size + kind(1e-6)) + CANONICAL_LEVEL), 0, len(pyramid) - 1).astype(int)
    features = [widen(level)[0] for level in pyramid]
    offset = kind(0.5 if aligned else 0)
    result = np.zeros((len(boxes), features[0].shape[0], output_size, output_size), features[0].dtype)
    for index in np.flatnonzero(real & np.isfinite(boxes).all(axis=1)):
        level = levels[index]
        if not features[level].size:
            continue
        x1, y1, x2, y2 = boxes[index] * (kind(1) / kind(pyramid_scales[level])) - offset
        size = max(y2 - y1, kind(1)), max(x2 - x1, kind(1))
        pooled = output_size, output_size
        result[index] = average_or_max(features[level], (y1, x1), size, pooled, sampling_ratio, "avg")
    return narrow(result, rois.dtype), rois.copy()


@roi_feature_extractor_6.shapes
def _(
    check: Check, rois: TensorType, *pyramid: TensorType, output_size: int, pyramid_scales: tuple[int, ...]
) -> tuple[PartialShape, PartialShape]:
    extents = Extents(check)
    extents.match("C1", "rois", rois, "number_of_ROIs", 4)
    for number, level in enumerate(pyramid):
        extents.match("C2", f"pyramid[{number}]", level, 1, "C", f"height_{number}", f"width_{number}")
    message = f"pyramid_scales has {len(pyramid_scales)} values, expected one for each of the {len(pyramid)} levels"
    check("C3", 0 < len(pyramid) <= len(pyramid_scales), message, attribute="pyramid_scales")
    return extents.shape("number_of_ROIs", "C", output_size, output_size), extents.shape("number_of_ROIs", 4)


@operator("ExperimentalDetectronDetectionOutput", "opset6", tolerance=rounded(64))
def detection_output_6(
    rois: FloatTensor,
    deltas: FloatTensor,
    scores: FloatTensor,
    im_info: FloatTensor,
    /,
    *,
    score_threshold: Limit,
    nms_threshold: Limit,
    num_classes: NonNegative,
    post_nms_count: NonNegative,
    max_detections_per_image: NonNegative,
    class_agnostic_box_regression: bool = False,
    max_delta_log_wh: float,
    deltas_weights: Weights,
) -> tuple[FloatTensor, T_IND, FloatTensor]:
    """Boxes [max_detections_per_image, 4], their classes and scores; zeros after the last detection.

    Detections are sorted by class and descending score, or by descending score alone if there are more than
    max_detections_per_image. The first class is the background and has no detections, regardless of
    class_agnostic_box_regression. Regions without area have no detections (as in OpenVINO's reference). Boxes are
    clipped to the image, as on the page (OpenVINO: only at 0).

    C1: rois is [number_of_ROIs, 4]. C2: deltas is [number_of_ROIs, num_classes * 4]. C3: scores is
    [number_of_ROIs, num_classes]. C4: im_info is [1, 3]. C5: deltas_weights has four elements.
    """
    boxes, values = widen(rois), widen(scores)
    real = (boxes[:, 2:] > boxes[:, :2]).all(axis=1)
    weights = np.array(deltas_weights, boxes.dtype)
    moves = widen(deltas).reshape(len(boxes), num_classes, 4) / weights
    height, width = widen(im_info)[0, :2]
    refined = np.clip(refine(boxes[:, None], moves, 1.0, max_delta_log_wh), 0, [width, height, width, height])
    refined = refined.astype(boxes.dtype)
    found: list[tuple[float, int, int]] = []
    for label in range(1, num_classes):
        candidates = np.flatnonzero(real & (values[:, label] > score_threshold))
        own, score = refined[candidates, label], values[candidates, label]
        kept = candidates[suppress(own, score, nms_threshold, post_nms_count, extra=1.0)]
        found += [(float(values[i, label]), label, int(i)) for i in kept]
    if len(found) > max_detections_per_image:
        found = sorted(found, key=lambda f: -f[0])[:max_detections_per_image]
    result = np.zeros((max_detections_per_image, 4), boxes.dtype)
    labels, best = np.zeros(max_detections_per_image, np.int32), np.zeros(max_detections_per_image, values.dtype)
    for row, (score_found, label, index) in enumerate(found):
        result[row], labels[row], best[row] = refined[index, label], label, score_found
    return narrow(result, rois.dtype), labels, narrow(best, rois.dtype)


@detection_output_6.shapes
def _(
    check: Check,
    rois: TensorType,
    deltas: TensorType,
    scores: TensorType,
    im_info: TensorType,
    *,
    num_classes: int,
    max_detections_per_image: int,
    deltas_weights: tuple[float, ...],
) -> tuple[PartialShape, PartialShape, PartialShape]:
    extents = Extents(check)
    extents.match("C1", "rois", rois, "number_of_ROIs", 4)
    extents.match("C2", "deltas", deltas, "number_of_ROIs", num_classes * 4)
    extents.match("C3", "scores", scores, "number_of_ROIs", num_classes)
    extents.match("C4", "im_info", im_info, 1, 3)
    message = f"deltas_weights has {len(deltas_weights)} values, expected 4"
    check("C5", len(deltas_weights) == 4, message, attribute="deltas_weights", allowed="4")
    rows = PartialShape([max_detections_per_image])
    return PartialShape([max_detections_per_image, 4]), rows, rows


@prior_grid_generator_6.oracle.undefined_for
def _(priors: Array, feature_map: Array, im_data: Array, *, flatten: bool, h: int, w: int) -> Undefined:
    """Return a mask of the undefined elements, which follow the grid."""
    rows, columns = feature_map.shape[2:]
    after = np.arange(rows * columns * priors.size) >= (h or rows) * (w or columns) * priors.size
    return (after.reshape((-1, 4) if flatten else (rows, columns, len(priors), 4)),)


@detection_output_6.oracle.undefined_for
def _(*inputs: Array, **attributes: Any) -> Undefined:
    """Return masks of the undefined elements: the rows after the last detection."""
    labels = detection_output_6.compute(*inputs, **attributes)[1]
    return labels[:, None].repeat(4, 1) == 0, labels == 0, labels == 0


roi_feature_extractor_6.oracle.undefined_for(without_pixels)


roi_feature_extractor_6.oracle.draw("rois")(draw_regions)
detection_output_6.oracle.draw("rois")(draw_regions)
detection_output_6.oracle.draw("scores")(draw_scores)
detection_output_6.oracle.draw("im_info")(draw_images)
