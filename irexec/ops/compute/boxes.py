"""Boxes: overlap of rectangles and the greedy suppression that detection operators share."""

from __future__ import annotations

import numpy as np

from irexec.types import Array


def overlaps(box: Array, boxes: Array, *, extra: float = 0.0, bridging: bool = False) -> Array:
    """Intersection over union of one box [4] with boxes [n, 4], all (low, low, high, high); 0 for empty boxes.

    `extra` is added to every side: 1 for coordinates that name pixels, both ends included. Boxes that do not touch have
    no intersection, unless `bridging` lets `extra` reach over the gap.
    """
    extra = boxes.dtype.type(extra)
    gaps = np.minimum(boxes[:, 2:], box[2:]) - np.maximum(boxes[:, :2], box[:2])
    sides = np.maximum(gaps + extra, 0)
    common = sides[:, 0] * sides[:, 1]
    if not bridging:
        common[(gaps < 0).any(axis=1)] = 0
    areas, area = areas_of(boxes, extra), areas_of(box[None], extra)[0]
    union = areas + area - common
    result: Array = np.zeros_like(common)
    np.divide(common, union, out=result, where=(areas > 0) & (area > 0) & (union != 0))
    return result


def areas_of(boxes: Array, extra: float = 0.0) -> Array:
    """Areas of boxes [n, 4]; 0 where a side is negative."""
    sides = boxes[:, 2:] - boxes[:, :2] + boxes.dtype.type(extra)
    areas: Array = np.where((sides > 0).all(axis=1), sides[:, 0] * sides[:, 1], 0)
    return areas


def descending(scores: Array) -> Array:
    """Indices by falling score; among equals the lower index first."""
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
    """Greedy suppression: indices of the boxes kept, best first, at most `limit`.

    A box goes when its overlap with one kept before is greater than `threshold`; with eta < 1 the threshold is
    multiplied by it after each box kept, while it is above 0.5.
    """
    order = descending(scores)
    kept: list[int] = []
    limit_now = boxes.dtype.type(threshold)
    while order.size and len(kept) < limit:
        best, order = order[0], order[1:]
        kept.append(int(best))
        if eta < 1 and limit_now > 0.5:
            limit_now *= boxes.dtype.type(eta)
        if order.size and len(kept) < limit:
            order = order[overlaps(boxes[best], boxes[order], extra=extra, bridging=bridging) <= limit_now]
    return np.array(kept, np.intp)
