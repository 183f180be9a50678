"""The text forms of values: a row for each of OpenVINO's readers, with what the specification allows and it takes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

T = TypeVar("T")

INT64_MAX = 2**63 - 1
INT64_MIN = -(2**63)
# From here on a number is rounded to infinity in f32.
_F32_END = (2 - 2**-24) * 2.0**127
BLANKS = " \t\n\v\f\r"


class Parsed(NamedTuple, Generic[T]):
    """The values of a text, read strictly and as OpenVINO reads it; None for a reading that rejects the text."""

    strict: T | None
    openvino: T | None

    @property
    def value(self) -> T | None:
        """The strict value, or else OpenVINO's, so that reading can continue."""
        return self.openvino if self.strict is None else self.strict


class Form(NamedTuple, Generic[T]):
    """How a value is written.

    `strict` matches what the specification allows, after blanks around it if `padded`; `openvino` matches what
    OpenVINO's reader takes from the start of the text, in its only group. `convert` returns the value of what was
    matched, or None if it is out of range; `taken` replaces it for OpenVINO. `name`: the value in messages.
    `of_digits`: all integers of a few digits are values.
    """

    name: str
    strict: re.Pattern[str]
    openvino: re.Pattern[str]
    convert: Callable[[str], T | None]
    padded: bool = True
    taken: Callable[[str], T | None] | None = None
    of_digits: bool = False


def integer(least: int, most: int = INT64_MAX) -> Callable[[str], int | None]:
    """Return the function that converts a sign and digits to a number; None outside of the bounds."""

    def convert(text: str) -> int | None:
        # Longer texts are out of range anyway, and int() refuses very long ones.
        significant = text.lstrip("+-").lstrip("0") or "0"
        if len(significant) > 19:
            return None
        value = -int(significant) if text[0] == "-" else int(significant)
        return value if least <= value <= most else None

    return convert


def _number(text: str) -> float | None:
    value = float(text)
    return None if math.isinf(value) and "inf" not in text else value


def _single(text: str) -> float | None:
    """Return the number, unless f32 has only infinity or zero for it."""
    value = _number(text)
    return None if value is not None and value != _stored(text) and not math.isnan(value) else value


def _stored(text: str) -> float | None:
    """Return the number, or infinity or zero where f32 has only these for it."""
    value = _number(text)
    if value is None or not 0 < abs(value) < math.inf:
        return value
    return math.copysign(math.inf, value) if abs(value) >= _F32_END else value if abs(value) > 2.0**-150 else 0.0


def _item(text: str) -> float | None:
    value = _stored(text)
    return None if value is not None and math.isinf(value) and "inf" not in text else value


def _pattern(text: str) -> re.Pattern[str]:
    """Compile a pattern. Digits are those of ASCII: int() would also take those of other scripts, and underscores."""
    return re.compile(text, re.ASCII)


_PADDED = rf"[{BLANKS}]*"
_DECIMAL = r"(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?"
_STRICT_FLOAT = _pattern(rf"-?(?:{_DECIMAL}|inf)|nan")
# An "e" without an exponent makes OpenVINO's reader fail, even behind a number.
_STREAMED = r"[+-]?(?>[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+|(?![eE]))"
_STREAMED_FLOAT = _pattern(rf"{_PADDED}({_STREAMED}|(?:-?inf|nan)\Z)")
_STRICT_INT = _pattern("(?!-0$)-?[0-9]+")
_STOLL = _pattern(rf"{_PADDED}([+-]?[0-9]+)\Z")

ID = Form("an unsigned integer", _pattern("0|[1-9][0-9]*"), _STOLL, integer(0), padded=False, of_digits=True)
"""Ids, versions, ends of edges, offsets and sizes."""
SIGNED = Form("an integer", _STRICT_INT, _STOLL, integer(INT64_MIN), padded=False, of_digits=True)
"""Numbers of port maps."""
EXTENT = Form(
    "-1 or an extent", _pattern("-1|[0-9]+"), _pattern(rf"{_PADDED}([+-]?[0-9]+)"), integer(-1, INT64_MAX - 1),
    taken=integer(-1), of_digits=True,
)  # fmt: skip
"""The text of a `<dim>`."""
I64 = Form("a 64-bit integer", _STRICT_INT, _pattern(rf"{_PADDED}(-?[0-9]+)"), integer(INT64_MIN), of_digits=True)
F64 = Form("a number", _STRICT_FLOAT, _STREAMED_FLOAT, _number)
F32 = Form("a number", _STRICT_FLOAT, _STREAMED_FLOAT, _single, taken=_stored)
"""OpenVINO reads f64, and then stores f32."""
F32_ITEM = Form("a number", _STRICT_FLOAT, _STREAMED_FLOAT, _single, taken=_item)
"""An item of a list: OpenVINO reads f32."""
_WORDS = {"true": True, "1": True, "false": False, "0": False}
_WORD = _pattern("(?i:true|false|[01])")
BOOLEAN = Form(
    "a boolean", _WORD, _pattern(r"((?i:true|false|[01]))\Z"), lambda text: _WORDS[text.lower()], padded=False
)
"""OpenVINO uses the default for any other text, as if the attribute were missing."""


def read(form: Form[T], text: str | None) -> Parsed[T]:
    """Read a text, which may be missing."""
    if text is None:
        return Parsed(None, None)
    if form.of_digits and (number := digits(text)) is not None:
        plain: Any = number
        return Parsed(plain, plain)
    if form.strict.fullmatch(stripped := text.strip(BLANKS) if form.padded else text):
        strict: Any = form.convert(stripped)
        if strict is not None:
            return Parsed(strict, strict)
    match = form.openvino.match(text)
    return Parsed(None, None if match is None else (form.taken or form.convert)(match[1]))


def read_list(form: Form[T], text: str) -> Parsed[list[T]]:
    """Read items separated by commas; blanks are the empty list. OpenVINO also accepts one comma at the end."""
    if not text.strip(BLANKS):
        return Parsed([], [])
    parts = text.split(",")
    readings = [read(form, part) for part in parts]
    strict = [reading.strict for reading in readings if reading.strict is not None]
    if len(strict) == len(parts):
        return Parsed(strict, strict)
    kept = readings if parts[-1] else readings[:-1]
    openvino = [reading.openvino for reading in kept if reading.openvino is not None]
    return Parsed(None, openvino if len(openvino) == len(kept) else None)


def digits(text: str) -> int | None:
    """Return the number in a text of a few digits without leading zeros; None for any other text. This is a fast path
    for nearly all texts.
    """
    is_plain = len(text) < 19 and text.isascii() and text.isdigit() and (text[0] != "0" or text == "0")
    return int(text) if is_plain else None


class Ids(dict[str | None, str]):
    """Ids in canonical form, by their texts: OpenVINO compares ids as numbers, so `01` and `1` are the same."""

    def __missing__(self, text: str | None) -> str:
        number = digits(text or "")
        if number is None:
            number = read(ID, text).value
        key = self[text] = text or "" if number is None else str(number)
        return key
