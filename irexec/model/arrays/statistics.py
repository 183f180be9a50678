"""Statistics of an array: minimum, maximum, mean, number of NaN and infinite elements; a histogram."""

from __future__ import annotations

from typing import Any

import numpy as np

from irexec.core.records import record
from irexec.core.types import Array


@record(frozen=True)
class Statistics:
    """Statistics of an array. min, max and mean cover finite elements; they are None for an array without finite
    elements.
    """

    min: float | None
    max: float | None
    mean: float | None
    nan: int
    inf: int

    @staticmethod
    def of(array: Array) -> Statistics:
        """Return the statistics of an array; min, max and mean are None for strings and complex numbers."""
        if array.dtype.kind in "TUOc" or array.size == 0:
            return Statistics(None, None, None, 0, 0)
        numbers = _plain(array)
        if numbers.dtype.kind in "biu":
            return Statistics(float(numbers.min()), float(numbers.max()), float(numbers.mean(dtype=np.float64)), 0, 0)
        with np.errstate(all="ignore"):
            low, high, mean = numbers.min(), numbers.max(), numbers.mean(dtype=np.float64)
        if np.isfinite(low) and np.isfinite(high):
            return Statistics(float(low), float(high), float(mean), 0, 0)
        nan, finite = np.isnan(numbers), np.isfinite(numbers)
        nans = int(np.count_nonzero(nan))
        infinite = numbers.size - nans - int(np.count_nonzero(finite))
        numbers = numbers[finite]
        if not numbers.size:
            return Statistics(None, None, None, nans, infinite)
        mean = numbers.mean(dtype=np.float64)
        return Statistics(float(numbers.min()), float(numbers.max()), float(mean), nans, infinite)

    def to_dict(self) -> dict[str, Any]:
        """Return the statistics as JSON-ready values."""
        return {"min": self.min, "max": self.max, "mean": self.mean, "nan": self.nan, "inf": self.inf}


BINS = 32


@record(frozen=True)
class Histogram:
    """The number of finite elements in each bin, between two neighbouring edges. Edges are equally spaced."""

    edges: list[float]
    counts: list[int]

    @staticmethod
    def of(array: Array) -> Histogram | None:
        """Return the histogram of an array; None if there are no finite elements, or their range is infinite."""
        if array.dtype.kind in "TUOc" or array.size == 0:
            return None
        numbers = _plain(array).reshape(-1)
        if numbers.dtype.kind == "f":
            numbers = numbers[np.isfinite(numbers)]
        if not numbers.size:
            return None
        low, high = float(numbers.min()), float(numbers.max())
        if low == high:
            return Histogram([low, high], [numbers.size])
        if not np.isfinite(high - low):
            return None
        counts, edges = np.histogram(numbers.astype(np.float64), BINS, (low, high))
        return Histogram([float(edge) for edge in edges], [int(count) for count in counts])

    def to_dict(self) -> dict[str, Any]:
        """Return the histogram as JSON-ready values."""
        return {"edges": self.edges, "counts": self.counts}


def _plain(array: Array) -> Array:
    """Return numbers in a type that NumPy can compute with: f32 for element types without NumPy arithmetic, such as
    8-bit floats.
    """
    return array if array.dtype.kind in "biuf" else array.astype(np.float32)
