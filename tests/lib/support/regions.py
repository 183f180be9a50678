"""Feature maps and regions, for operators that pool each region."""

from __future__ import annotations

from typing import Any

import numpy as np

BATCHES = np.array([0, 1, 1, 0, 1], np.int32)
"""The image of each region."""

SETTINGS = [(2, 2, 2, 1.0), (3, 2, 0, 1.0), (1, 1, 1, 0.5), (2, 3, 3, 0.25)]
"""Bins along each side, samples in each bin, and the scale of the map."""


def features(seed: int = 0) -> Any:
    """Return two images of 8 x 7 pixels with 3 channels."""
    return np.random.default_rng(seed).normal(size=(2, 3, 8, 7)).astype(np.float32)


def boxes(seed: int, scale: float = 1.0) -> Any:
    """Return five regions as corners, some of them partly outside of the image."""
    rng = np.random.default_rng(seed)
    low = rng.uniform(-2, 6, (5, 2))
    return (np.concatenate([low, low + rng.uniform(0.1, 6, (5, 2))], axis=1) / scale).astype(np.float32)
