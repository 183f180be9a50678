"""NumPy's take_along_axis for arrays of any rank."""

from __future__ import annotations

import math

import numpy as np

from irexec.core.types import Array

NUMPYS_RANK = 32
"""The maximum rank for NumPy's indexing by arrays, including take_along_axis; arrays may have twice as many axes."""


def take_along(array: Array, index: Array, axis: int) -> Array:
    """Return np.take_along_axis for any rank. Beyond rank 32, `index` must broadcast to `array` except along `axis`."""
    if array.ndim <= NUMPYS_RANK:
        return np.asarray(np.take_along_axis(array, index, axis))
    slices, places = np.moveaxis(array, axis, -1), np.moveaxis(index, axis, -1)
    around, count = slices.shape[:-1], places.shape[-1]
    rows = math.prod(around)
    places = np.broadcast_to(places, (*around, count)).reshape(rows, count)
    taken = np.take_along_axis(slices.reshape(rows, slices.shape[-1]), places, 1)
    return np.moveaxis(taken.reshape(*around, count), -1, axis)
