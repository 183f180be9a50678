"""The engine of the scatter family: updates combined into the rows of a target.

Several updates of one row are combined in row-major order, the order of a plain loop, which the pages do not define.
With reduction "none" the last update wins.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from irexec.core.threads.parallel import scratch
from irexec.core.types import Array
from irexec.ops.compute.half import narrow_half, widen_half
from irexec.ops.compute.precision import is_float, is_narrow

# The number of elements that are combined at once, which limits the memory for their positions.
_PART = 1 << 22

_UFUNCS: dict[str, np.ufunc] = {
    "sum": np.add, "sub": np.subtract, "prod": np.multiply, "min": np.minimum, "max": np.maximum,
    "xor": np.bitwise_xor,
}  # fmt: skip
# Without an initial value, min and max ignore NaN if any update is a number.
_WITHOUT_INIT: dict[str, np.ufunc] = {**_UFUNCS, "min": np.fmin, "max": np.fmax}
_NEUTRAL = {"sum": 0, "sub": 0, "prod": 1, "xor": 0}
# Booleans are combined as the integers 0 and 1.
_BOOLEAN = {"sum": "max", "sub": "xor", "prod": "min", "min": "min", "max": "max"}


def scatter(target: Array, rows: Array, updates: Array, reduction: str = "none", use_init_val: bool = True) -> None:
    """Combine updates[i] into target[rows[i]] for each i in turn, in place.

    target: [slots, block], contiguous; rows: [n], intp, each within the slots; updates: [n, block], target's dtype.
    reduction: none, sum, sub, prod, min, max or mean. Without `use_init_val`, target's own values in the selected rows
    are not combined with the updates. Under min and max an update replaces a value only if it is less or greater, so
    that NaN in target stays and a NaN update has no effect. Integers wrap, except for their mean, which is exact and
    rounded down. Narrow floats are combined in f32 and rounded once.
    """
    if not updates.size:
        return
    if reduction == "none":
        _assign(target, rows, updates)
        return
    if target.dtype == np.bool_:
        scatter(target.view(np.uint8), rows, updates.view(np.uint8), _BOOLEAN[reduction], use_init_val)
        return
    with np.errstate(all="ignore"):
        if reduction == "mean" or _wide(target.dtype) != target.dtype:
            _combine_wide(target, rows, updates, reduction, use_init_val)
        else:
            _combine(target, rows, updates, reduction, use_init_val)


def bits(array: Array) -> Array:
    """Return the array in a dtype that NumPy copies fast: elements of ml_dtypes are viewed as integers."""
    return array.view(f"u{array.dtype.itemsize}") if array.dtype.isbuiltin == 2 else array


def _assign(target: Array, rows: Array, updates: Array) -> None:
    target, updates = bits(target), bits(updates)
    if target.shape[1] == 1:
        target.reshape(-1)[rows] = updates.reshape(-1)
    else:
        target[rows] = updates


def _combine(target: Array, rows: Array, updates: Array, reduction: str, use_init_val: bool) -> None:
    """Combine the updates into `target`, in its dtype."""
    if not use_init_val:
        target[rows] = _NEUTRAL.get(reduction, updates)
    for columns in _parts(rows.size, target.shape[1]):
        places = _places(rows, target.shape[1], columns)
        _at(target.reshape(-1), places, updates[:, columns].reshape(-1), reduction, use_init_val)


def _at(flat: Array, places: Array, values: Array, reduction: str, use_init_val: bool) -> None:
    if use_init_val and reduction in ("min", "max") and is_float(flat.dtype):
        nan = np.isnan(values)
        if nan.any():
            places, values = places[~nan], values[~nan]
    (_UFUNCS if use_init_val else _WITHOUT_INIT)[reduction].at(flat, places, values)


def _combine_wide(target: Array, rows: Array, updates: Array, reduction: str, use_init_val: bool) -> None:
    """Combine in a wider dtype with one accumulator per update; the accumulator of a row's last update contains the
    result.
    """
    last = _last_in_row(rows, len(target))
    earlier = np.flatnonzero(last != np.arange(rows.size, dtype=last.dtype))
    combine = _mean if reduction == "mean" else _in_order
    # Parts are columns, so that all updates of an element are in one part and the element is rounded once.
    for columns in _parts(rows.size, target.shape[1]):
        own = _taken(target, rows, columns) if use_init_val else None
        values = np.ascontiguousarray(updates[:, columns])
        if reduction in ("min", "max") and _has_keys(own, values):
            result = _keys(combine(None if own is None else _keys(own), _keys(values), last, earlier, reduction))
            result = result.view(target.dtype)
        else:
            result = combine(None if own is None else _wider(own), _wider(values), last, earlier, reduction)
        # Assignment is in order: of several values for one row, the last is kept.
        _assign_part(target, rows, columns, _narrower(result, target.dtype))


def _taken(target: Array, rows: Array, columns: slice) -> Array:
    if target.shape[1] == 1:
        # The rows were checked before; mode "wrap" skips a second check.
        return target.reshape(-1).take(rows, mode="wrap").reshape(-1, 1)
    return np.ascontiguousarray(target[rows, columns])


def _assign_part(target: Array, rows: Array, columns: slice, values: Array) -> None:
    if values.shape[1] == target.shape[1]:
        _assign(target, rows, values)
    else:
        target[rows, columns] = values


def _in_order(own: Array | None, values: Array, last: Array, earlier: Array, reduction: str) -> Array:
    """Combine own[i] with all values of its row up to values[i], in order, for each i that is the last of its row."""
    if own is not None:
        result = own
    elif reduction in _NEUTRAL:
        result = np.full_like(values, _NEUTRAL[reduction])
    else:
        result = values.copy()
    if earlier.size:
        places = _places(last[earlier].astype(np.intp), values.shape[1], slice(0, values.shape[1]))
        _at(result.reshape(-1), places, values[earlier].reshape(-1), reduction, own is not None)
    if reduction in _NEUTRAL or (own is not None and not is_float(values.dtype)):
        _UFUNCS[reduction](result, values, out=result)
        return result
    if own is None:
        return result
    taken: Array = np.where(values > result if reduction == "max" else values < result, values, result)
    return taken


def _mean(own: Array | None, values: Array, last: Array, earlier: Array, reduction: str) -> Array:
    counts = np.bincount(last, minlength=len(values))[:, None] + (own is not None)
    if is_float(values.dtype):
        total = _in_order(own, values, last, earlier, "sum")
        total /= counts
        return total
    # The sum of 64-bit integers needs more than 64 bits: sum their halves separately, then combine and divide.
    own_high, own_low = (None, None) if own is None else _halves(own)
    high, low = _halves(values)
    highs = _in_order(own_high, high, last, earlier, "sum")
    lows = _in_order(own_low, low, last, earlier, "sum")
    counts = np.maximum(counts, 1)
    quotient, rest = np.divmod(highs, counts)
    rest = ((rest << 32) + lows).astype(np.uint64) // counts.astype(np.uint64)
    return ((quotient.astype(np.uint64) << 32) + rest).astype(values.dtype)


def _halves(values: Array) -> tuple[Array, Array]:
    """Return the high and the low 32 bits of integers, each as i64: values = high * 2**32 + low."""
    if values.dtype != np.uint64:
        values = values.astype(np.int64)
    return (values >> 32).astype(np.int64), (values & 0xFFFF_FFFF).astype(np.int64)


def _wide(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype to combine in: f32 for narrower floats, i32 for integers of less than 8 bits, else `dtype`."""
    if is_narrow(dtype):
        return np.dtype(np.float32)
    return np.dtype(np.int32) if dtype.isbuiltin == 2 else dtype


def _wider(values: Array) -> Array:
    wide: Array = widen_half(values) if values.dtype == np.float16 else values.astype(_wide(values.dtype))
    return wide


def _narrower(values: Array, dtype: np.dtype[Any]) -> Array:
    if dtype == np.float16 and values.dtype == np.float32:
        return narrow_half(values)
    return values.astype(dtype, copy=False)


def _infinity(dtype: np.dtype[Any]) -> int | None:
    """Return the bits of infinity in the 16-bit floats; None for other types."""
    if not is_narrow(dtype) or dtype.itemsize != 2:
        return None
    return 0x7C00 if dtype == np.float16 else 0x7F80


def _has_keys(*arrays: Array | None) -> bool:
    """Return True for 16-bit floats without NaN, which `_keys` puts in order."""
    for array in arrays:
        if array is None:
            continue
        infinity = _infinity(array.dtype)
        if infinity is None:
            return False
        magnitude = array.view(np.int16) & 0x7FFF
        if magnitude.max() > infinity:
            return False
    return True


def _keys(array: Array) -> Array:
    """Convert 16-bit floats to integers of the same order, or back: the bits, inverted for negative numbers."""
    raw = array.view(np.int16)
    turned = raw >> 15
    turned &= 0x7FFF
    turned ^= raw
    return turned


def _last_in_row(rows: Array, slots: int) -> Array:
    """Return, for each entry of `rows`, the position of the last equal entry."""
    if slots > 16 * rows.size:
        _, rows = np.unique(rows, return_inverse=True)
        slots = int(rows.max()) + 1
    positions = np.arange(rows.size, dtype=np.int32 if rows.size < 1 << 31 else np.int64)
    last = scratch("scatter", (slots,), positions.dtype)
    last[rows] = positions
    return last.take(rows, mode="wrap")


def _parts(count: int, block: int) -> Iterator[slice]:
    """Return the columns of [count, block] updates in parts of bounded size."""
    width = max(1, min(block, _PART // count))
    return (slice(start, min(start + width, block)) for start in range(0, block, width))


def _places(rows: Array, block: int, columns: slice) -> Array:
    """Return the flat positions of these columns of these rows, in memory that the next call reuses."""
    if block == 1:
        return rows
    places = scratch("places of rows", (rows.size, columns.stop - columns.start), np.dtype(np.intp))
    np.add.outer(rows * block, np.arange(columns.start, columns.stop), out=places)
    return places.reshape(-1)
