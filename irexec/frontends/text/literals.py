"""Constants in the text: from written values to the bytes of a constant, and from the bytes to written values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from irexec.core.types import BOOLEAN, STRING, Array, ElementType
from irexec.core.types.stored import Stored
from irexec.frontends.text.cursor import Wrong
from irexec.frontends.text.syntax import Literal, Word
from irexec.frontends.text.words import quote
from irexec.ir.text import cut, listed
from irexec.ir.weights.writer import encoded
from irexec.model.arrays.draw import draw, undrawable
from irexec.model.arrays.given import convert

_MOST_PRINTED = 16
_MOST_COMPARED = 1 << 16
_LONGEST_TEXT = 160
_MOST_DIGITS = 40
_TRUTH = {"true": True, "false": False, "1": True, "0": False}


def to_bytes(literal: Literal, kind: ElementType, shape: tuple[int, ...], taken: int) -> bytes:
    """Return the bytes of a constant. Raises Wrong. `taken`: the bytes of the constants before it."""
    count = math.prod(shape)
    if (reason := undrawable(kind, shape, taken)) is not None:
        raise Wrong(f"the constant {reason}".replace("random values", "the text form"), literal.span)
    if literal.kind == "hex":
        return _of_digits(literal, kind, count)
    if literal.kind == "seed":
        number = _integer(literal.words[0], 0, (1 << 63) - 1) if len(literal.words) == 1 else None
        if number is None:
            raise Wrong("expected one number, as in seed(0)", literal.span)
        return bytes(encoded(draw(np.random.default_rng(number), kind, shape), kind))
    _check_count(literal, shape, count)
    values = [_read(word, kind) for word in literal.words]
    array = np.array(values, kind.dtype) if kind.is_carried else convert(values, kind)
    if array is None:
        raise Wrong(f"the values are not values of {kind}", literal.span)
    if literal.extents == ():
        array = np.broadcast_to(array.reshape(()), shape)
    return bytes(encoded(np.ascontiguousarray(array).reshape(shape), kind))


def _check_count(literal: Literal, shape: tuple[int, ...], count: int) -> None:
    extents, found = literal.extents, len(literal.words)
    if extents is None:
        raise Wrong("the rows of the values differ in length", literal.span)
    if extents == () or (len(extents) == 1 and found == count) or extents == shape:
        return
    if found != count:
        message = f"{found} {'value' if found == 1 else 'values'}, but the shape [{listed(shape)}] has {count}"
        raise Wrong(message, literal.span, "one value without brackets fills the whole constant")
    raise Wrong(f"the brackets have the shape [{listed(extents)}], not [{listed(shape)}]", literal.span)


def _of_digits(literal: Literal, kind: ElementType, count: int) -> bytes:
    try:
        raw = bytes.fromhex(literal.words[0].text)
    except ValueError:
        raise Wrong("expected pairs of hexadecimal digits in quotes", literal.span) from None
    if kind is not STRING and len(raw) != (needed := kind.nbytes(count)):
        raise Wrong(f"the digits are {len(raw)} bytes, but the constant needs {needed}", literal.span)
    return raw


def _read(word: Word, kind: ElementType) -> Any:
    value: Any = None
    if kind is STRING:
        return word.text + word.tail
    if kind is BOOLEAN:
        value = _TRUTH.get(word.text.lower())
    elif kind.is_integral_number or kind.is_carried:
        is_signed = kind.is_signed and not kind.is_carried
        low = -(1 << kind.bitwidth - 1) if is_signed else 0
        value = _integer(word, low, low + (1 << kind.bitwidth) - 1)
    elif len(word.text) <= _MOST_DIGITS:
        try:
            value = float(word.text)
        except ValueError:
            value = None
    if value is None:
        raise Wrong(f"{cut(quote(word.text + word.tail))} is not a value of {kind}", word.span)
    return value


def _integer(word: Word, low: int, high: int) -> int | None:
    """Return the integer that a word is; None for other words, and outside the range."""
    digits = word.text.removeprefix("-")
    if not digits.isdecimal() or not digits.isascii() or len(digits) > _MOST_DIGITS:
        return None
    value = int(word.text)
    return value if low <= value <= high else None


def to_text(stored: Stored) -> str | None:
    """Return the text of a constant with few values, or with one value everywhere; None for other constants."""
    kind, raw = stored.element_type, bytes(stored.raw) if len(stored.raw) <= _MOST_COMPARED else b""
    if not raw and stored.size:
        return None
    try:
        text = _written(stored.array) if kind.dtype is not None else None
    except (ValueError, UnicodeError):
        return None
    if text is None:
        return None
    if len(text) > _LONGEST_TEXT:
        return None
    if not _reads_back(text, stored, raw):  # Such as a NaN with a payload.
        return f'hex "{raw.hex()}"'
    return text


def _written(array: Array) -> str | None:
    flat = array.reshape(-1)
    if flat.size > 1 and (flat.size > _MOST_PRINTED or array.ndim > 1) and (flat == flat[0]).all():
        return _value(flat[0])
    if flat.size > _MOST_PRINTED:
        return None
    return _nested(array)


def _nested(array: Array) -> str:
    if np.ndim(array) == 0:
        return _value(array)
    if array.size == 0:
        return "[]"
    return f"[{', '.join(map(_nested, array))}]"


def _value(value: Any) -> str:
    if isinstance(value, np.ndarray):
        value = value[()]
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    text = str(value)
    return text.removesuffix(".0") if text != "-0.0" else text


def _reads_back(text: str, stored: Stored, raw: bytes) -> bool:
    """Return whether the text is read as the same bytes: not as another NaN, for instance."""
    from irexec.frontends.text.parser import read_literal

    try:
        return to_bytes(read_literal(text), stored.element_type, stored.shape, 0) == raw or not stored.size
    except (Wrong, ValueError):
        return False
