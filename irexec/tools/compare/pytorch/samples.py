"""Samples: some elements of an array, by which equal values of two frameworks are recognized."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from irexec.core.types import BF16, Array
from irexec.model.arrays.units import unit
from irexec.tools.compare.numbers import DEEP, FUSED

_MOST = 96
"""The number of elements in a sample."""
NARROW = FUSED * float(unit(1.0, BF16))
"""The difference that weights which an exporter rounded to f16 or bf16 may cause."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The type and shape of an array, and some of its elements, at positions that depend only on its size. `allowed`:
    the difference, relative to the typical element, that rounding may cause.
    """

    dtype: str
    shape: tuple[int, ...]
    elements: Array
    allowed: float = DEEP

    @property
    def key(self) -> tuple[object, ...]:
        """A key that is equal for samples of the same array."""
        return self.dtype, self.shape, self.elements.tobytes()

    @property
    def size(self) -> int:
        """The number of elements of the array."""
        return prod(self.shape)

    @property
    def flat(self) -> Sample:
        """The sample of the flattened array: the positions of a sample depend only on the number of elements."""
        return replace(self, shape=(self.size,))

    def distance(self, other: Sample) -> float | None:
        """Return the largest difference relative to a typical element, or None if it is more than rounding explains."""
        if (self.dtype, self.shape) != (other.dtype, other.shape):
            return None
        a, b = self.elements, other.elements
        known = np.isfinite(a)
        if not np.array_equal(a[~known], b[~known], equal_nan=True) or not np.isfinite(b[known]).all():
            return None
        a, b = a[known], b[known]
        largest = float(np.abs(a - b).max(initial=0.0))
        typical = float(np.sqrt(np.mean(a * a))) if a.size else 0.0
        if largest > max(self.allowed, other.allowed) * typical:
            return None
        return largest / typical if typical else 0.0

    def is_close(self, other: Sample) -> bool:
        """Return whether the samples are equal except for rounding."""
        return self.distance(other) is not None

    def is_equal(self, other: Sample) -> bool:
        """Return whether the samples are the same, bit for bit."""
        return self.shape == other.shape and np.array_equal(self.elements, other.elements, equal_nan=True)


def sample_of(found: Mapping[str, Any]) -> Sample:
    """Return a sample from its fields, as they are received from another process."""
    return Sample(found["dtype"], tuple(found["shape"]), found["elements"], found["allowed"])


def sample(array: Array, allowed: float = DEEP) -> Sample | None:
    """Return the sample of an array; None for empty arrays, and for elements that are not real numbers."""
    if array.size == 0 or array.dtype.kind in "TUOSc":
        return None
    places = np.arange(array.size) if array.size <= _MOST else np.arange(_MOST) * array.size // _MOST
    return Sample(array.dtype.name, array.shape, array.reshape(-1)[places].astype(np.float64), allowed)
