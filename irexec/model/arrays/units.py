"""Units of measurement: one unit in the last place of a number, and the typical magnitude around each element."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from irexec.core.types import Array, ElementType
from irexec.ops.compute.precision import limits_of

_BLOCK = 1 << 18
# Elements that are larger by this factor than most others, such as the -3.4e38 of a mask, are not typical.
_FAR = 256.0
# The least number of elements for which a mean is computed.
_LEAST = 8
_EXPONENT = 0x7FF << 52


def unit(wide: Any, kind: ElementType) -> Any:
    """Return one unit in the last place of each value; 1 for values that are not real numbers."""
    if not kind.is_real or kind.dtype is None or kind.is_carried:
        return np.ones(np.shape(wide))
    info = limits_of(kind.dtype)
    with np.errstate(all="ignore"):
        numbers = np.asarray(wide, np.float64)
        finite = np.where(np.isfinite(numbers), np.abs(numbers), float(info.max))
        # The bits of the exponent alone are the power of two below a number.
        powers = (finite.view(np.int64) & _EXPONENT).view(np.float64)
        units = float(info.eps) * np.where(finite == 0, 0.5, powers)
    return np.maximum(units, float(info.smallest_subnormal))


def widened(array: Array) -> Any:
    """Return the numbers in f64; magnitudes of complex numbers, zeros for strings."""
    if array.dtype.kind in "TUO":
        return np.zeros(array.shape)
    return np.abs(array) if array.dtype.kind == "c" else array.astype(np.float64)


def apart(a: Array, b: Array) -> Any:
    """Return |a - b| in f64; 0 where both are NaN or the same infinity, infinite where only one is."""
    if a.dtype.kind in "TUO" or b.dtype.kind in "TUO":
        return np.where(np.asarray(a, object) == np.asarray(b, object), 0.0, np.inf)
    with np.errstate(all="ignore"):
        if a.dtype.kind in "iu" and b.dtype.kind in "iu" and a.dtype.itemsize == 8:
            if np.array_equal(a, b):
                return np.zeros(a.shape)
            # For arrays without axes, arithmetic on objects returns a Python integer.
            return np.asarray(np.abs(a.astype(object) - b.astype(object)), np.float64)
        one, two = (a, b) if a.dtype.kind == "c" else (widened(a), widened(b))
        found = np.abs(one - two)
        if np.isfinite(found.max(initial=0.0)):
            return found
        found = np.where((one == two) | (np.isnan(one) & np.isnan(two)), 0.0, found)
        return np.where(np.isnan(found), np.inf, found)


def slabs(array: Array) -> Iterator[slice]:
    """Yield slices along the first axis, each with a limited number of elements, to limit the memory for f64 values."""
    rows = max(1, _BLOCK * len(array) // max(1, array.size))
    for begin in range(0, len(array), rows):
        yield slice(begin, begin + rows)


def squeezed(array: Array) -> Array:
    """Return the array without axes of one element, and with at least one axis."""
    return array.reshape([extent for extent in array.shape if extent != 1] or [1])


class Typical:
    """The typical magnitude around each element of an array: the smallest of the means of the slices that contain it,
    one for each axis. A row or channel of small numbers is thus not measured by larger numbers elsewhere.
    """

    def __init__(self, array: Array) -> None:
        """`array`: `squeezed`, with elements."""
        self._rank = array.ndim
        self._means = {} if array.dtype.kind in "TUO" else _means(array)

    def __getitem__(self, rows: slice) -> Any:
        """Return the magnitudes for a slice along the first axis, in a shape that broadcasts to it."""
        found: Any = None
        for axis, mean in self._means.items():
            part = _along(mean, axis, self._rank, rows)
            found = part if found is None else np.minimum(found, part)
        return 0.0 if found is None else found


def _means(array: Array) -> dict[int | None, Any]:
    """Return the root mean square of the elements at each position, for each axis; of all elements (None) if the slices
    are too small for a mean. Elements that are 0, not finite, or far above the others (a mask) do not count.
    """
    axes: list[int | None] = [k for k, extent in enumerate(array.shape) if array.size >= _LEAST * extent]
    axes = axes or [None]
    parts = [_Slab.of(array, rows) for rows in slabs(array)] if array.size <= _BLOCK else None
    if array.size < _LEAST:
        wide = np.abs(widened(array))
        wide = wide[np.isfinite(wide) & (wide > 0)]
        low = dict.fromkeys(axes, np.asarray(np.median(wide) if wide.size else 0.0))
    else:
        low = _averaged(array, parts, axes, -0.5, dict.fromkeys(axes, np.asarray(np.inf)))
    return _averaged(array, parts, axes, 2.0, {axis: _FAR * mean for axis, mean in low.items()})


class _Slab(NamedTuple):
    """The magnitudes of a slab of an array; `some`: those that are finite and not 0, None for all."""

    rows: slice
    wide: Any
    some: Any
    largest: float

    @classmethod
    def of(cls, array: Array, rows: slice) -> _Slab:
        wide = np.abs(widened(array[rows]))
        some, largest = np.isfinite(wide) & (wide > 0), wide.max()
        return cls(rows, wide, None if some.all() else some, largest)


def _averaged(
    array: Array, parts: list[_Slab] | None, axes: list[int | None], power: float, most: dict[int | None, Any]
) -> dict[int | None, Any]:
    """Return the mean of this power of the finite magnitudes in (0, `most`], at each position of each axis. `parts`:
    the magnitudes, if they are known.
    """
    shapes = {axis: () if axis is None else (array.shape[axis],) for axis in axes}
    sums = {axis: np.zeros(shape) for axis, shape in shapes.items()}
    counts = {axis: np.zeros(shape) for axis, shape in shapes.items()}
    # The squares of numbers of at most 32 bits are finite; other numbers are divided by the largest.
    is_narrow = array.dtype.itemsize <= 4
    with np.errstate(all="ignore"):
        top = {a: 1.0 if is_narrow else np.where(np.isfinite(m) & (m > 0), m, 1.0) for a, m in most.items()}
        for rows, wide, some, largest in parts or (_Slab.of(array, rows) for rows in slabs(array)):
            whole = None
            if is_narrow:
                whole = _raised(wide, power) if some is None else np.where(some, _raised(wide, power), 0.0)
            for axis in axes:
                limit = _along(most[axis], axis, array.ndim, rows)
                counted, powers = some, whole
                if powers is None or not np.all(largest <= limit):
                    counted = (wide <= limit) if some is None else some & (wide <= limit)
                    scale = _along(np.asarray(top[axis]), axis, array.ndim, rows)
                    powers = np.where(counted, _raised(wide / scale, power), 0.0)
                others = tuple(k for k in range(array.ndim) if k != axis)
                place = rows if axis == 0 else ...
                sums[axis][place] += powers.sum(others)
                count = math.prod(wide.shape[k] for k in others) if counted is None else counted.sum(others)
                counts[axis][place] += count
        found = {axis: top[axis] * (sums[axis] / counts[axis]) ** (1 / power) for axis in axes}
    return {axis: np.where(counts[axis] > 0, mean, 0.0) for axis, mean in found.items()}


def _raised(wide: Any, power: float) -> Any:
    """Return a power of each number; NumPy computes the power -0.5 much faster as a square root."""
    return 1.0 / np.sqrt(wide) if power == -0.5 else wide**power


def _along(values: Any, axis: int | None, rank: int, rows: slice) -> Any:
    """Return values along an axis in a shape that broadcasts to a slice along the first axis."""
    if axis is None or not values.shape:
        return values
    part = values[rows] if axis == 0 else values
    return part.reshape([-1 if k == axis else 1 for k in range(rank)])
