"""Statistics of an array: minimum, maximum, mean, number of NaN and infinite elements."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from irexec.types import Array


@dataclass(frozen=True, slots=True)
class Statistics:
    """Statistics of an array. min, max and mean are over the finite elements; None when there are none."""

    min: float | None
    max: float | None
    mean: float | None
    nan: int
    inf: int

    @staticmethod
    def of(array: Array) -> Statistics:
        """The statistics of an array; strings and complex numbers have none."""
        if array.dtype.kind in "TUOc" or array.size == 0:
            return Statistics(None, None, None, 0, 0)
        numbers = array if array.dtype.kind in "biuf" else array.astype(np.float32)
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
