"""Arrays, shapes and numbers as short texts that fit on one line."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from irexec.core.types import Array
from irexec.ir.text import cut

LIMIT = 72
"""The maximum number of characters for values in a line of output."""
# Numbers of items to show of the outer axes and of the last axis; the first pair whose text is short enough is used.
_ITEMS = ((50, 50), (12, 12), (8, 8), (6, 6), (4, 6), (3, 4), (2, 4), (1, 8), (1, 6), (1, 4), (1, 3), (1, 2), (1, 1))


def shown(array: Array, limit: int = 200) -> str:
    """Return the values in the notation of operation pages, on one line; a long axis is cut to its first items and
    `...`.
    """
    if array.ndim == 0:
        return cut(shown_item(array[()]), limit)
    text = ""
    for outer, inner in _ITEMS:
        count = math.prod(min(n, outer) for n in array.shape[:-1]) * min(array.shape[-1], inner)
        if count > limit:
            continue
        text = _nested(array, outer, inner)
        if len(text) <= limit:
            return text
    return cut(text, limit)


def whole(array: Array) -> str:
    """Return all values in the notation of operation pages, on one line."""
    return shown_item(array[()]) if array.ndim == 0 else _nested(array, max(array.shape), array.shape[-1])


def _nested(array: Array, outer: int, inner: int) -> str:
    if array.ndim == 1:
        most, parts = inner, [shown_item(value) for value in array[:inner]]
    else:
        most, parts = outer, [_nested(part, outer, inner) for part in array[:outer]]
    if len(array) > most:
        parts.append("...")
    return "[" + ", ".join(parts) + "]"


def shown_item(value: Any) -> str:
    """Return one element: floats that are integers without a point, others with six digits, strings in quotes."""
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


def abridged(text: str, most: int = 300) -> str:
    """Return a text of at most `most` characters. A longer text loses its middle: the end often gives the reason in
    messages of other programs.
    """
    return text if len(text) <= most else f"{text[: most // 3]}...{text[3 + most // 3 - most :]}"


def shown_shape(shape: tuple[int, ...]) -> str:
    """Return a shape in OpenVINO's form: `[1,3,224,224]`."""
    return "[" + ",".join(map(str, shape)) + "]"


def plural(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def shown_number(value: float | None) -> str:
    """Return a statistic with four digits; `-` for None."""
    if value is None:
        return "-"
    return str(int(value)) if value.is_integer() and abs(value) < 1e6 else f"{value:.4g}"


def shown_seconds(seconds: float) -> str:
    """Return a time with three digits: `12.3 ms`."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size * UP:
            return f"{three_digits(seconds / size)} {unit}"
    return f"{seconds * 1e6:.3g} us"


UP = 0.9995
"""The fraction of a unit from which an amount is written in this unit, because it is 1 when rounded to three digits."""


def three_digits(number: float) -> str:
    """Return a number with three digits, or with all digits before the point."""
    return f"{number:.3g}" if number < 999.5 else f"{number:.0f}"
