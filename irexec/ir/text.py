"""Numbers and lists in text, each read twice: strictly, and as OpenVINO reads the same text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")

INT64_MAX = 2**63 - 1
INT64_MIN = -(2**63)

# ASCII only: int() would also take other scripts' digits and underscores.
_PLAIN = re.compile(r"-?[0-9]+", re.ASCII)
_STOLL = re.compile(r"[ \t\n\v\f\r]*([+-]?[0-9]+)", re.ASCII)
_PLAIN_FLOAT = r"-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|-?(?:inf|nan)"
_PREFIX_FLOAT = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_BLANKS = " \t\n\v\f\r"


class Parsed(NamedTuple, Generic[T]):
    """The values of a text, read strictly and as OpenVINO reads it; None for a reading that rejects the text."""

    strict: T | None
    openvino: T | None

    @property
    def value(self) -> T | None:
        """The strict value, or else OpenVINO's, so that reading can continue."""
        return self.openvino if self.strict is None else self.strict


def whole(text: str | None, *, signed: bool = False) -> Parsed[int]:
    """Read an id, a version, an offset or an edge's end. OpenVINO also accepts blanks and `+` before the number."""
    if text is None:
        return Parsed(None, None)
    if (number := digits(text)) is not None:
        return Parsed(number, number)
    strict = _plain(text, INT64_MIN if signed else 0)
    if strict is not None:
        return Parsed(strict, strict)
    match = _STOLL.fullmatch(text)
    return Parsed(None, None if match is None else _within(match[1], INT64_MIN if signed else 0))


def dim(text: str | None) -> Parsed[int]:
    """Read the text of a `<dim>`: -1 or an extent. OpenVINO accepts any text that starts with a number."""
    if text is not None and (number := digits(text)) is not None:
        return Parsed(number, number)
    stripped = (text or "").strip(_BLANKS)
    strict = _plain(stripped, -1)
    match = _STOLL.match(text or "")
    openvino = None if match is None else _within(match[1], -1)
    return Parsed(None if strict == INT64_MAX else strict, openvino)


def int64(text: str) -> Parsed[int]:
    """Read an integer attribute: blanks around it are allowed; OpenVINO ignores any text after the number."""
    if (number := digits(text)) is not None:
        return Parsed(number, number)
    stripped = text.strip(_BLANKS)
    match = _PLAIN.match(stripped)
    return Parsed(_plain(stripped, INT64_MIN), None if match is None else _within(match[0], INT64_MIN))


def float64(text: str) -> Parsed[float]:
    """Read a floating-point attribute: decimal, `inf`, `-inf` or `nan`. OpenVINO also accepts `+` before digits, and
    ignores any text after them.
    """
    stripped = text.strip(_BLANKS)
    if re.fullmatch(_PLAIN_FLOAT, stripped):
        return Parsed(float(stripped), float(stripped))
    match = re.match(_PREFIX_FLOAT, stripped)
    return Parsed(None, None if match is None else float(match[0]))


def boolean(text: str) -> Parsed[bool]:
    """Read true, false, 1 or 0 in any letter case; OpenVINO treats any other text as if the attribute were missing."""
    value = {"true": True, "1": True, "false": False, "0": False}.get(text.lower())
    return Parsed(value, value)


def list_of(item: Callable[[str], Parsed[T]], text: str) -> Parsed[list[T]]:
    """Read items separated by commas, with optional blanks; "" is the empty list. OpenVINO also accepts one comma at
    the end."""
    if not text.strip(_BLANKS):
        return Parsed([], [])
    parts = text.split(",")
    readings = [item(part) for part in parts]
    strict = [r.strict for r in readings if r.strict is not None]
    kept = readings[:-1] if not parts[-1].strip(_BLANKS) else readings
    openvino = [r.openvino for r in kept if r.openvino is not None]
    return Parsed(strict if len(strict) == len(parts) else None, openvino if len(openvino) == len(kept) else None)


def int64_list(text: str) -> Parsed[list[int]]:
    """Read a list of integers."""
    numbers = [digits(part.strip(_BLANKS)) for part in text.split(",")]
    plain = [number for number in numbers if number is not None]
    return Parsed(plain, plain) if len(plain) == len(numbers) else list_of(int64, text)


def name_list(text: str) -> list[str]:
    r"""Return the names in `names` or `output_names`: commas separate, `\,` is a comma, blanks are kept, empty names
    are dropped.
    """
    if "\\" not in text:
        return [name for name in text.split(",") if name]
    names = re.findall(r"(?:\\,|[^,])+", text)
    return [name.replace("\\,", ",") for name in names]


def write_name_list(names: list[str]) -> str:
    """Return the text that `name_list` reads as these names."""
    return ",".join(name.replace(",", "\\,") for name in names)


def cut(text: str, length: int = 60) -> str:
    """Return the text; of a text of more than `length` characters, the beginning and `...`."""
    return text if len(text) <= length else text[: length - 3] + "..."


def quoted(text: str) -> str:
    """Return the text in quotes for a message, shortened if it is long."""
    return repr(cut(text))


def listed(values: Iterable[object]) -> str:
    """Return the values separated by commas for a message; if there are many, the first twelve."""
    first = [str(value) for value in islice(values, 13)]
    return ", ".join(first if len(first) <= 12 else [*first[:12], "..."])


def digits(text: str) -> int | None:
    """Return the number in a text of a few digits; None for any other text. This is a fast path for nearly all
    texts.
    """
    return int(text) if len(text) < 19 and text.isascii() and text.isdigit() else None


def _plain(text: str, minimum: int) -> int | None:
    return _within(text, minimum) if _PLAIN.fullmatch(text) and text != "-0" else None


def _within(digits: str, minimum: int) -> int | None:
    # Longer digit strings are out of range anyway, and int() refuses very long strings.
    significant = digits.lstrip("+-").lstrip("0") or "0"
    if len(significant) > 19:
        return None
    value = -int(significant) if digits[0] == "-" else int(significant)
    return value if minimum <= value <= INT64_MAX else None
