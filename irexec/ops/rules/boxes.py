"""Random inputs of detection operators: boxes, scores, thresholds and sizes of images, for `draw`."""

from __future__ import annotations

import numpy as np

from irexec.core.types import Array, TensorType
from irexec.ops.rules.axes import filled


def draw_boxes(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    """Return boxes [..., 4] as two corners, of which the second has the larger coordinates."""
    return filled(types, port, _corners(rng, types[port]))


def draw_regions(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    """Return boxes as `draw_boxes` does, in images of different sizes: up to 14, 112 or 560 pixels."""
    return filled(types, port, _corners(rng, types[port]) * rng.choice((1, 1, 8, 40)))


def _corners(rng: np.random.Generator, wanted: TensorType) -> Array:
    corner = rng.uniform(0.0, 8.0, (*wanted.shape.to_shape()[:-1], 2))
    return np.concatenate([corner, corner + rng.uniform(0.5, 6.0, corner.shape)], axis=-1)


def draw_rotated_boxes(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    """Return boxes [..., 5] as (centre x, centre y, width, height, angle in radians)."""
    limits = np.array([[0, 8], [0, 8], [0.5, 6], [0.5, 6], [-3, 3]])
    return filled(types, port, rng.uniform(limits[:, 0], limits[:, 1], types[port].shape.to_shape()))


def draw_scores(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    """Return distinct numbers between 0 and 1."""
    shape = types[port].shape.to_shape()
    count = int(np.prod(shape))
    ranks = rng.permutation(count) + rng.uniform(0.2, 0.8, count)
    return filled(types, port, (ranks / max(1, count)).reshape(shape))


def draw_threshold(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    """Return a number between 0.1 and 0.6 for an overlap, a score, or the decay of scores."""
    return filled(types, port, rng.uniform(0.1, 0.6))


def draw_images(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    """Return (height, width, scale or scales) of images of 48 to 95 pixels."""
    sizes = rng.integers(48, 96, types[port].shape.to_shape())
    sizes[..., 2:] = rng.choice((1, 1, 2), sizes[..., 2:].shape)
    return filled(types, port, sizes)
