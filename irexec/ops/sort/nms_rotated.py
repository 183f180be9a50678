"""NMSRotated: non-maximum suppression of rotated rectangles.

Source: operation page NMSRotated-13. The result contains only selected rows. A score equal to the threshold is selected
(in OpenVINO not); of equal scores the lower box index is selected first.
"""

from __future__ import annotations

import numpy as np

from irexec.core.types import Array, Dimension, ElementType, PartialShape, TensorType
from irexec.ops.compute.boxes import descending
from irexec.ops.rules.axes import integer, one_element
from irexec.ops.rules.boxes import draw_rotated_boxes, draw_scores, draw_threshold
from irexec.ops.rules.extents import Extents
from irexec.ops.sort.class_detections import IndexType
from irexec.ops.sort.non_max_suppression import undefined_selection
from irexec.ops.sort.ties import tied_boxes
from irexec.ops.spec.operator import Check, operator
from irexec.ops.spec.oracle import Allowed
from irexec.ops.spec.tensors import FloatTensor, MaxBoxes, TensorOfOutputType, Thresholds
from irexec.ops.spec.traits import BoxSelection


def corners_of(boxes: Array, clockwise: bool) -> Array:
    """Return the corners [n, 4, 2] as (x, y), y downwards, of boxes [n, 5] as (centre, width, height, angle)."""
    angle = boxes[:, 4] if clockwise else -boxes[:, 4]
    cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
    x = boxes[:, 2:3] * [-0.5, -0.5, 0.5, 0.5]
    y = boxes[:, 3:4] * [0.5, -0.5, -0.5, 0.5]
    return np.stack([x * cos - y * sin + boxes[:, :1], x * sin + y * cos + boxes[:, 1:2]], axis=-1)


def intersections(one: Array, others: Array) -> Array:
    """Return the areas [n] of the intersections of a rectangle [4, 2] with each of the rectangles `others` [n, 4, 2].

    Rectangles are given by their corners. An intersection is a convex polygon. Its corners are the corners of each
    rectangle that lie in the second rectangle, and the points where sides cross.
    """
    sides_one, sides = np.roll(one, -1, axis=0) - one, np.roll(others, -1, axis=1) - others
    # The points where side i of `one` crosses side j of the others: [n, 4, 4].
    determinant = _cross(sides[:, None, :], sides_one[None, :, None])
    apart = others[:, None, :] - one[None, :, None]
    safe = np.where(np.abs(determinant) > 1e-14, determinant, 1)
    t, u = _cross(sides[:, None, :], apart) / safe, _cross(sides_one[None, :, None], apart) / safe
    crossing = (np.abs(determinant) > 1e-14) & (t >= 0) & (t <= 1) & (u >= 0) & (u <= 1)
    points = one[None, :, None] + sides_one[None, :, None] * t[..., None]
    count = len(others)
    candidates = np.concatenate([points.reshape(count, 16, 2), np.broadcast_to(one, (count, 4, 2)), others], axis=1)
    valid = np.concatenate(
        [crossing.reshape(count, 16), _inside(candidates[:, 16:20], others), _inside(others, one[None])], axis=1
    )
    return _convex_areas(candidates, valid)


def _cross(a: Array, b: Array) -> Array:
    result: Array = a[..., 0] * b[..., 1] - b[..., 0] * a[..., 1]
    return result


def _inside(points: Array, rectangles: Array) -> Array:
    """Return a mask of the points [n, k, 2] that are inside the rectangles [n, 4, 2]."""
    along, across = rectangles[:, 1] - rectangles[:, 0], rectangles[:, 3] - rectangles[:, 0]
    offset = points - rectangles[:, :1]
    result = np.ones(points.shape[:2], bool)
    for side in (along, across):
        projection = (offset * side[:, None]).sum(axis=-1)
        result &= (projection >= 0) & (projection <= (side * side).sum(axis=-1)[:, None])
    return result


def _convex_areas(points: Array, valid: Array) -> Array:
    """Return the areas [n] of the convex polygons whose corners are the valid points [n, k, 2]."""
    count = np.maximum(valid.sum(axis=1), 1)[:, None]
    centred = points - np.where(valid[..., None], points, 0).sum(axis=1, keepdims=True) / count[..., None]
    angle = np.where(valid, np.arctan2(centred[..., 1], centred[..., 0]), np.inf)
    order = np.argsort(angle, axis=1)
    ordered = np.take_along_axis(centred, order[..., None], axis=1)
    # Invalid points are replaced by the first point, where they add no area.
    ordered = np.where(np.take_along_axis(valid, order, axis=1)[..., None], ordered, ordered[:, :1])
    areas: Array = np.abs(_cross(ordered, np.roll(ordered, -1, axis=1)).sum(axis=1)) / 2
    return np.where(valid.sum(axis=1) > 2, areas, 0)


@operator("NMSRotated", "opset13", BoxSelection)
def nms_rotated_13(
    boxes: FloatTensor,
    scores: FloatTensor,
    max_output_boxes_per_class: MaxBoxes,
    iou_threshold: Thresholds,
    score_threshold: Thresholds,
    /,
    *,
    sort_result_descending: bool = True,
    output_type: IndexType = "i64",
    clockwise: bool = True,
) -> tuple[TensorOfOutputType, Thresholds, TensorOfOutputType]:
    """The outputs selected_indices [n, 3] as (batch, class, box), selected_scores [n, 3] as (batch, class, score), and
    valid_outputs [1], which is n.

    Overlaps are computed in f64.

    C1: boxes is [num_batches, num_boxes, 5]. C2: scores is [num_batches, num_classes, num_boxes]. C3: the other inputs
    are scalars or have one element.
    """
    limit = integer(max_output_boxes_per_class)
    most, lowest = iou_threshold.reshape(-1)[0].astype(np.float64), score_threshold.reshape(-1)[0]
    exact = boxes.astype(np.float64)
    found: list[tuple[int, int, int]] = []
    for batch in range(len(scores)):
        corners, areas = corners_of(exact[batch], clockwise), exact[batch, :, 2] * exact[batch, :, 3]
        for label in range(scores.shape[1]):
            score = scores[batch, label]
            order = np.flatnonzero(score >= lowest)
            order = order[descending(score[order].astype(np.float64))]
            kept = 0
            while order.size and kept < limit:
                best, order, kept = order[0], order[1:], kept + 1
                found.append((batch, label, int(best)))
                common = intersections(corners[best], corners[order])
                union = areas[order] + areas[best] - common
                real = (areas[order] > 0) & (areas[best] > 0)
                order = order[~(real & (common > most * union))]
    indices = np.array(found, np.int64).reshape(-1, 3)
    values = scores[indices[:, 0], indices[:, 1], indices[:, 2]].astype(np.float64)
    if sort_result_descending:
        by_score = np.lexsort((indices[:, 2], indices[:, 1], indices[:, 0], -values))
        indices, values = indices[by_score], values[by_score]
    kind = ElementType.by_name[output_type].dtype
    rows = np.column_stack([indices[:, :2], values]).astype(iou_threshold.dtype)
    return indices.astype(kind), rows, np.array([len(indices)], kind)


@nms_rotated_13.shapes
def _(
    check: Check,
    boxes: TensorType,
    scores: TensorType,
    max_output_boxes_per_class: TensorType,
    iou_threshold: TensorType,
    score_threshold: TensorType,
) -> tuple[PartialShape, PartialShape, PartialShape]:
    extents = Extents(check)
    extents.match("C1", "boxes", boxes, "num_batches", "num_boxes", 5)
    extents.match("C2", "scores", scores, "num_batches", "num_classes", "num_boxes")
    for name, tensor in (
        ("max_output_boxes_per_class", max_output_boxes_per_class),
        ("iou_threshold", iou_threshold),
        ("score_threshold", score_threshold),
    ):
        one_element(check, "C3", tensor, name)
    limit, each = max_output_boxes_per_class.scalar, extents["num_boxes"].max
    if limit is not None:
        each = max(int(limit), 0) if each is None else min(each, max(int(limit), 0))
    most = Dimension(0, each) * extents["num_batches"] * extents["num_classes"]
    shape = PartialShape([Dimension(0, most.max), 3])
    return shape, shape, PartialShape([1])


nms_rotated_13.oracle.undefined_for(undefined_selection)
nms_rotated_13.oracle.allowed = Allowed(composes=False, ties=tied_boxes(nms_rotated_13, numbered=True))


nms_rotated_13.oracle.draw("boxes")(draw_rotated_boxes)
nms_rotated_13.oracle.draw("scores")(draw_scores)
nms_rotated_13.oracle.draw("iou_threshold", "score_threshold")(draw_threshold)
