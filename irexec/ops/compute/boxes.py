"""Boxes: overlap of rectangles and the greedy suppression that detection operators share."""

from __future__ import annotations

import numpy as np

from irexec.types import Array


def overlaps(box: Array, boxes: Array, *, extra: float = 0.0, bridging: bool = False) -> Array:
    """Return the intersection over union of one box [4] with boxes [n, 4], all (low, low, high, high); 0 for empty
    boxes.

    `extra` is added to every side: 1 for coordinates that name pixels, both ends included. Boxes that do not touch have
    no intersection, unless `bridging` lets `extra` reach over the gap.
    """
    corners = np.ascontiguousarray(boxes.T)
    extra = boxes.dtype.type(extra)
    return _overlaps(box, areas_of(box[None], extra)[0], corners, areas_of(boxes, extra), extra, bridging)


def _overlaps(box: Array, area: Array, corners: Array, areas: Array, extra: float, bridging: bool) -> Array:
    """Return `overlaps` for boxes given by corners [4, n]: NumPy is far faster on long rows than on pairs."""
    width = np.minimum(corners[2], box[2]) - np.maximum(corners[0], box[0])
    height = np.minimum(corners[3], box[3]) - np.maximum(corners[1], box[1])
    common = np.maximum(width + extra, 0) * np.maximum(height + extra, 0)
    if not bridging:
        common[(width < 0) | (height < 0)] = 0
    union = areas + area - common
    result: Array = np.zeros_like(common)
    np.divide(common, union, out=result, where=(areas > 0) & (area > 0) & (union != 0))
    return result


def areas_of(boxes: Array, extra: float = 0.0) -> Array:
    """Return the areas of boxes [n, 4]; 0 if a side is negative."""
    extra = boxes.dtype.type(extra)
    width, height = boxes[:, 2] - boxes[:, 0] + extra, boxes[:, 3] - boxes[:, 1] + extra
    areas: Array = np.where((width > 0) & (height > 0), width * height, 0)
    return areas


def descending(scores: Array) -> Array:
    """Return indices by descending score; of equal scores the lower index comes first."""
    return np.argsort(-scores, kind="stable")


def suppress(
    boxes: Array,
    scores: Array,
    threshold: float,
    limit: int,
    *,
    extra: float = 0.0,
    eta: float = 1.0,
    bridging: bool = False,
) -> Array:
    """Suppress boxes greedily; return the indices of the boxes kept, best first, at most `limit`.

    A box is dropped if its overlap with a box kept before is greater than `threshold`; with eta < 1 the threshold is
    multiplied by eta after each box kept, while the threshold is above 0.5.
    """
    order = descending(scores)
    extra = boxes.dtype.type(extra)
    corners, areas = np.ascontiguousarray(boxes[order].T), areas_of(boxes[order], extra)
    kept: list[int] = []
    limit_now = boxes.dtype.type(threshold)
    while order.size and len(kept) < limit:
        kept.append(int(order[0]))
        if eta < 1 and limit_now > 0.5:
            limit_now *= boxes.dtype.type(eta)
        box, area = corners[:, 0], areas[0]
        order, corners, areas = order[1:], corners[:, 1:], areas[1:]
        if order.size and len(kept) < limit:
            stays = _overlaps(box, area, corners, areas, extra, bridging) <= limit_now
            if not stays.all():
                order, corners, areas = order[stays], corners[:, stays], areas[stays]
    return np.array(kept, np.intp)
