"""Arrays, shapes and statistics as short texts: what a person wants to see of a tensor, on one line."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from irexec.types import ElementType

Array = np.ndarray[Any, Any]

LIMIT = 72
"""Characters that values take in a line of output."""
# How many items are shown of the outer axes and of the last one: the first pair that makes a short enough text.
_ITEMS = ((50, 50), (12, 12), (8, 8), (6, 6), (4, 6), (3, 4), (2, 4), (1, 8), (1, 6), (1, 4), (1, 3), (1, 2), (1, 1))


def shown(array: Array, limit: int = 200) -> str:
    """The values as a page would print them, on one line; of a long axis the first items and `...`."""
    if array.ndim == 0:
        return _cut(shown_item(array[()]), limit)
    text = ""
    for outer, inner in _ITEMS:
        count = math.prod(min(n, outer) for n in array.shape[:-1]) * min(array.shape[-1], inner)
        if count > limit:
            continue
        text = _nested(array, outer, inner)
        if len(text) <= limit:
            return text
    return _cut(text, limit)


def _nested(array: Array, outer: int, inner: int) -> str:
    if array.ndim == 1:
        most, parts = inner, [shown_item(value) for value in array[:inner]]
    else:
        most, parts = outer, [_nested(part, outer, inner) for part in array[:outer]]
    if len(array) > most:
        parts.append("...")
    return "[" + ", ".join(parts) + "]"


def shown_item(value: Any) -> str:
    """One element: whole floats without a point, others with six digits, strings in quotes."""
    if isinstance(value, str):
        return repr(str(value))
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (complex, np.complexfloating)):
        return f"{value:g}"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    number = float(value)
    if number.is_integer() and abs(number) < 1e15:
        return "-0" if number == 0 and math.copysign(1, number) < 0 else str(int(number))
    return f"{number:.6g}"


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."


def shown_shape(shape: tuple[int, ...]) -> str:
    """A shape in OpenVINO's form: `[1,3,224,224]`."""
    return "[" + ",".join(map(str, shape)) + "]"


def plural(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class Statistics:
    """What an array's numbers are like. min, max and mean are over the finite ones; None where there is none."""

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


def shown_number(value: float | None) -> str:
    """A statistic with four digits, `-` where there is none."""
    if value is None:
        return "-"
    return str(int(value)) if value.is_integer() and abs(value) < 1e6 else f"{value:.4g}"


def shown_seconds(seconds: float) -> str:
    """A time with three digits: `12.3 ms`."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


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


def exact_array(array: Array, kind: ElementType) -> Array:
    """The array in a dtype that NumPy alone can read: bf16, f8 and f4 as f32, i4 as i8, u2 and u4 as u8, exactly."""
    if array.dtype.kind in "TUO":
        return np.array(array.tolist(), dtype=np.str_).reshape(array.shape)
    if array.dtype.kind in "biufc" and array.dtype.isbuiltin:
        return array
    if kind.is_integral:
        return array.astype(np.int8 if kind.kind == "i" else np.uint8)
    return array.astype(np.float32)
