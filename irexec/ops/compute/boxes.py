"""Boxes: overlap of rectangles and the greedy suppression that detection operators share."""

from __future__ import annotations

import numpy as np

from irexec.core.types import Array

# Boxes are processed in windows, to compute little for boxes after the last box kept. The boxes of a block are
# compared with each other in one step, and with the boxes kept before in groups.
WINDOW, BLOCK, GROUP = 2048, 96, 48


def overlaps(box: Array, boxes: Array) -> Array:
    """Return the intersection over union of box [4] with boxes [n, 4], as (low, low, high, high); 0 for empty boxes."""
    none = boxes.dtype.type(0)
    return _overlaps(box, areas_of(box[None])[0], np.ascontiguousarray(boxes.T), areas_of(boxes), none, False)


def _overlaps(box: Array, area: Array, corners: Array, areas: Array, extra: float, bridging: bool) -> Array:
    """Return `overlaps` for boxes given as corners [4, n]; NumPy processes such long rows far faster than [n, 4].

    `extra` is added to width and height: 1 if both ends are pixels that belong to the box. Boxes that do not touch have
    no intersection, unless `bridging` allows `extra` to close the gap.
    """
    width = np.minimum(corners[2], box[2]) - np.maximum(corners[0], box[0])
    height = np.minimum(corners[3], box[3]) - np.maximum(corners[1], box[1])
    common = np.maximum(width + extra, 0) * np.maximum(height + extra, 0)
    if not bridging:
        common[(width < 0) | (height < 0)] = 0
    union = areas + area - common
    result: Array = np.zeros_like(common)
    np.divide(common, union, out=result, where=(areas > 0) & (area > 0) & (union != 0))
    return result


def _plain_overlaps(box: Array, area: Array, corners: Array, areas: Array) -> Array:
    """Return `_overlaps` without `extra` for boxes with finite areas above 0, without checks."""
    width = np.minimum(corners[2], box[2])
    width -= np.maximum(corners[0], box[0])
    height = np.minimum(corners[3], box[3])
    height -= np.maximum(corners[1], box[1])
    np.maximum(width, 0, out=width)
    common = np.multiply(width, np.maximum(height, 0, out=height), out=width)
    union = np.add(areas, area, out=height)
    union -= common
    result: Array = np.divide(common, union, out=common)
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
    is_plain = not extra and bool(((areas > 0) & np.isfinite(areas)).all())
    kept: list[int] = []
    # For each box kept, the largest overlap with it that a later box may have.
    limits: list[float] = []
    limit_now = boxes.dtype.type(threshold)

    def between(first: Array, second: Array) -> Array:
        """Return the overlaps [first, second] of boxes given by their positions in `order`."""
        box, area = corners[:, first, None], areas[first, None]
        others = corners[:, None, second], areas[second]
        return _plain_overlaps(box, area, *others) if is_plain else _overlaps(box, area, *others, extra, bridging)

    def staying(places: Array, since: int) -> Array:
        """Return the positions of `places` that no kept box suppresses; kept boxes before the number `since` are not
        tested.
        """
        for start in range(since, len(kept), GROUP):
            first = np.array(kept[start : start + GROUP], np.intp)
            most = np.array(limits[start : start + GROUP], boxes.dtype)[:, None]
            places = places[(between(first, places) <= most).all(0)]
        return places

    rest, since, end = np.empty(0, np.intp), 0, 0
    while (rest.size or end < len(order)) and len(kept) < limit:
        if not rest.size:
            rest, since, end = np.arange(end, min(end + WINDOW, len(order))), 0, end + WINDOW
        block, rest = rest[:BLOCK], rest[BLOCK:]
        left = staying(block, since)
        # If most boxes of the block are dropped, many of the remaining boxes are likely to be dropped as well.
        if 4 * left.size < block.size:
            rest, since = staying(rest, since), len(kept)
        overlap, stays = between(left, left), np.ones(left.size, bool)
        for number, box in enumerate(left):
            if not stays[number]:
                continue
            kept.append(int(box))
            if eta < 1 and limit_now > 0.5:
                limit_now *= boxes.dtype.type(eta)
            limits.append(limit_now)
            if len(kept) == limit:
                break
            stays &= overlap[number] <= limit_now
    return order[kept]
