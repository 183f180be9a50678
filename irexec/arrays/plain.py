"""Arrays for other programs: in dtypes that NumPy alone can read, and as lists for JSON."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from irexec.types import Array, ElementType


def exact_array(array: Array, kind: ElementType) -> Array:
    """The array in a dtype that NumPy alone can read: bf16, f8 and f4 as f32, i4 as i8, u2 and u4 as u8, exactly."""
    if array.dtype.kind in "TUO":
        return np.array(array.tolist(), dtype=np.str_).reshape(array.shape)
    if array.dtype.kind in "biufc" and array.dtype.isbuiltin:
        return array
    if kind.is_integral:
        return array.astype(np.int8 if kind.kind == "i" else np.uint8)
    return array.astype(np.float32)


def json_values(array: Array, most: int = 1000) -> Any:
    """The values as nested lists for JSON, None for more than `most`; NaN and infinities as texts."""
    if array.size > most:
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
