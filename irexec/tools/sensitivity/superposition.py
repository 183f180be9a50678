"""Superposition: the error of a result is roughly the sum of the errors that each of its causes has alone.

It predicts the noise of sets of choices from the noise of single choices, without a run. Predictions only decide which
sets are measured, and in which order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from irexec.core.types import Array
from irexec.model.arrays.units import widened
from irexec.tools.sensitivity.metrics import Results, powers

# The total length of a sketch of the errors, and the least length of the part for one result of one input.
_LENGTH = 1024
_LEAST = 8
# The number of groups that are ordered by their gain together with the groups before them.
_TOGETHER = 256


class Sketches:
    """Short vectors in place of the errors of all results: sums of parts of the errors with random signs. Scalar
    products of sketches approximate scalar products of errors, each error relative to the signal of its result."""

    def __init__(self, expected: Results) -> None:
        self._expected = expected
        self._buckets = max(_LEAST, _LENGTH // max(1, len(expected) * len(expected[0])))
        signals = {name: sum(powers(step[name], step[name])[0] for step in expected) for name in expected[0]}
        self._scales = {
            name: (signal * len(signals)) ** -0.5 if signal > 0 else 0.0 for name, signal in signals.items()
        }
        self._signs: dict[int, Array] = {}

    def __call__(self, found: Results) -> Array:
        """Return the sketch of the errors of the found results."""
        pairs = zip(self._expected, found, strict=True)
        return np.concatenate([self._sketch(name, ours[name], theirs[name]) for ours, theirs in pairs for name in ours])

    def _sketch(self, name: str, ours: Array, theirs: Array) -> Array:
        if ours.shape != theirs.shape or ours.dtype.kind in "TUO":
            return np.zeros(self._buckets)
        with np.errstate(all="ignore"):
            error = (widened(theirs).astype(np.float32) - widened(ours).astype(np.float32)).ravel() * self._scales[name]
            if error.size > self._buckets:
                begins = np.linspace(0, error.size, self._buckets, endpoint=False, dtype=int)
                error = np.add.reduceat(error * self._signs_of(error.size), begins)
        return np.pad(error.astype(np.float64), (0, self._buckets - error.size))

    def _signs_of(self, size: int) -> Array:
        if size not in self._signs:
            self._signs[size] = np.random.default_rng(size).integers(0, 2, size, np.int8) * 2 - 1
        return self._signs[size]


@dataclass(frozen=True, slots=True)
class Predicted:
    """An order of groups, and the noise that remains when the first 0, 1, 2, ... groups are left out."""

    order: list[frozenset[str]]
    left: list[float]


def predicted(error: Array, parts: Mapping[frozenset[str], Array]) -> Predicted | None:
    """Return the groups in an order in which each gains most together with the groups before it; None if errors are not
    finite. `error`: the sketch of all errors; `parts`: the part of it that leaving out each group removes.
    """
    groups = [*parts]
    gains = np.array([*parts.values()]).reshape(len(groups), error.size)
    if not np.isfinite(gains).all() or not np.isfinite(error).all():
        return None
    order: list[frozenset[str]] = []
    left, noise = [float(error @ error)], error
    is_open = np.ones(len(groups), bool)
    while is_open.any() and len(order) < _TOGETHER:
        best = int(np.argmin(np.where(is_open, np.square(gains).sum(1) - 2 * (gains @ noise), np.inf)))
        noise = noise - gains[best]
        order.append(groups[best])
        left.append(float(noise @ noise))
        is_open &= np.array([not group <= groups[best] for group in groups])
        gains[[group > groups[best] for group in groups]] -= gains[best]
    rest = sorted(np.flatnonzero(is_open), key=lambda place: -float(gains[place] @ noise))
    return Predicted([*order, *(groups[place] for place in rest)], left)
