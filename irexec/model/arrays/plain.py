"""Arrays for other programs: in dtypes that NumPy alone can read, and as lists for JSON."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from irexec.core.types import Array, ElementType, is_numpys

_WIDE = 1 << 24
"""The maximum number of characters, padding included, of an array as fixed-width unicode."""
_BLOCK = 1 << 16


def exact_array(array: Array, kind: ElementType) -> Array:
    """Return the array in a dtype of NumPy: bf16, f8 and f4 as f32, i4 as i8, u2 and u4 as u8, exactly."""
    if array.dtype.kind in "TUO":
        return array if array.dtype.kind == "U" else np.array(array.tolist(), dtype=np.str_).reshape(array.shape)
    if is_numpys(array.dtype):
        return array
    if kind.is_integral_number:
        return array.astype(np.int8 if kind.kind == "i" else np.uint8)
    return array.astype(np.float32)


def unicode_array(array: Array) -> Array:
    """Return strings in the form of OpenVINO's Python API: fixed-width unicode, which every NumPy function accepts.

    Fixed-width unicode drops NULs at the end of a string, and each string takes the memory of the longest. If a string
    ends with NULs, or the result would be too large, it is an array of Python strings.
    """
    width = max(1, int(np.strings.str_len(array).max(initial=1)))
    if array.size * width <= max(_WIDE, 16 * array.size):
        fixed = array.astype(f"U{width}")
        texts, before = fixed.ravel(), array.ravel()
        blocks = (slice(begin, begin + _BLOCK) for begin in range(0, array.size, _BLOCK))
        if all((texts[block].astype(array.dtype) == before[block]).all() for block in blocks):
            return fixed
    return array.astype(object)


def json_values(array: Array) -> Any:
    """Return the values as nested lists for JSON, with NaN and infinities as texts; None for more than 1,000 values."""
    if array.size > 1000:
        return None
    return _json(array.tolist() if array.dtype.kind in "biufTUO" else _plain(array))


def _plain(array: Array) -> Any:
    if array.dtype.kind == "c":
        return np.array([str(v) for v in array.ravel()], dtype=object).reshape(array.shape).tolist()
    return array.astype(np.float64).tolist()


def _json(value: Any) -> Any:
    if isinstance(value, list):
        return [_json(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
