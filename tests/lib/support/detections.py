"""Helpers for the tests of detections and suppression: boxes, scores, comparisons."""

from __future__ import annotations

from typing import Any

import numpy as np


def assert_same(ours: list[Any], theirs: list[Any]) -> None:
    for one, other in zip(ours, theirs, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


def detections(seed: int, batches: int = 2, classes: int = 3, count: int = 8) -> list[Any]:
    rng = np.random.default_rng(seed)
    corner = rng.uniform(0, 6, (batches, count, 2))
    boxes = np.concatenate([corner, corner + rng.uniform(1, 6, (batches, count, 2))], axis=2)
    scores = rng.permutation(np.linspace(0.05, 0.95, batches * classes * count)).reshape(batches, classes, count)
    return [boxes.astype(np.float32), scores.astype(np.float32)]


def overlap(a: Any, b: Any) -> float:
    sides = [max(min(a[i + 2], b[i + 2]) - max(a[i], b[i]), 0.0) for i in (0, 1)]
    areas = [(x[2] - x[0]) * (x[3] - x[1]) for x in (a, b)]
    return float(sides[0] * sides[1] / (sum(areas) - sides[0] * sides[1]))
