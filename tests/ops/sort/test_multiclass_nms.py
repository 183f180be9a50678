"""MulticlassNms-9: the page's algorithm, and images without boxes."""

from __future__ import annotations

import numpy as np
from support.cases import the
from support.oracle import run
from support.references import overlap_of


def test_the_threshold_sinks_as_the_page_specifies() -> None:
    # OpenVINO compares a box with all selected boxes by the latest threshold; on the page, each selected box suppresses
    # others by the threshold at the time of its selection.
    rng = np.random.default_rng(5)
    corner = rng.uniform(0, 6, (1, 30, 2))
    boxes = np.concatenate([corner, corner + rng.uniform(7, 12, (1, 30, 2))], axis=2).astype(np.float32)
    scores = rng.permutation(np.linspace(0.05, 0.95, 30, dtype=np.float32)).reshape(1, 1, 30)
    threshold, left, kept = 0.9, list(np.argsort(-scores[0, 0])), []
    while left:
        best = left.pop(0)
        kept.append(best)
        if threshold > 0.5:
            threshold *= 0.8
        left = [i for i in left if overlap_of(boxes[0, best], boxes[0, i]) <= threshold]
    ours = run(the("MulticlassNms", 9), boxes, scores, iou_threshold=0.9, nms_eta=0.8)[1]
    assert ours[:, 0].tolist() == kept


def test_images_without_boxes_have_nothing() -> None:
    """A hundred thousand images without boxes, between two images with boxes."""
    rng = np.random.default_rng(0)
    corners = np.sort(rng.random((3, 5, 2, 2), np.float32), axis=2).reshape(3, 5, 4)
    scores, between = rng.random((3, 5), np.float32), 100_000
    close = the("MulticlassNms", 9)(corners, scores, np.array([3, 2]))
    far = the("MulticlassNms", 9)(corners, scores, np.array([3, *[0] * between, 2]))
    assert len(close[0]) > 5
    assert all(np.array_equal(one, other) for one, other in zip(close[:2], far[:2], strict=True))
    assert far[2].tolist() == [close[2][0], *[0] * between, close[2][1]]
