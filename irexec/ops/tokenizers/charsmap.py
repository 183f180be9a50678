"""Normalization by SentencePiece: a compiled map of characters, or the map of a form of Unicode.

A map consists of the size of a double-array trie, the trie, and the texts that it maps to, each ended by a zero byte.
At each position of a text, the longest matching entry of the map is replaced.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Literal

import numpy as np

from irexec.core.types import Array
from irexec.ops.spec.operator import require

_LONGEST = 4
"""The maximum number of characters into which a character of Unicode is decomposed."""
Form = Literal["NFC", "NFD", "NFKC", "NFKD"]
_FORMS: dict[str, Form] = {"nfc": "NFC", "nfd": "NFD", "nfkc": "NFKC", "nfkd": "NFKD"}
_DECOMPOSED: dict[Form, Form] = {"NFC": "NFD", "NFKC": "NFKD"}
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
Replace = Callable[[bytes, int], tuple[bytes, int]]
"""A function of a text and a position; it returns the replacement of the bytes there, and the number of these bytes."""


class CompiledMap:
    """A compiled map of characters as stored in a tokenizer's file. Raises ConstraintError for invalid bytes."""

    def __init__(self, blob: Array, constraint: str) -> None:
        raw = blob.tobytes()
        size = int.from_bytes(raw[:4], "little")
        fits = len(raw) == 0 or (len(raw) >= 4 and size % 4 == 0 and 0 < size <= len(raw) - 4)
        require(constraint, fits, "the bytes are not a compiled character map")
        self._units: list[int] = np.frombuffer(raw, np.uint32, size // 4 if raw else 0, 4 if raw else 0).tolist()
        self._texts = raw[4 + size :]

    def replace(self, raw: bytes, start: int) -> tuple[bytes, int]:
        """Return the replacement of the longest entry at a position, by default the character, and the number of
        replaced bytes.
        """
        units, length, value = self._units, 0, 0
        node = _offset(units[0]) if units else 0
        for at in range(start, len(raw) if units else start):
            node ^= raw[at]
            if node >= len(units) or units[node] & 0x800000FF != raw[at]:
                break
            unit = units[node]
            node ^= _offset(unit)
            if unit >> 8 & 1 and node < len(units):
                length, value = at + 1 - start, units[node] & 0x7FFFFFFF
        if not length:
            return character(raw, start)
        return self._texts[value : self._texts.find(b"\0", value)], length


def _offset(unit: int) -> int:
    return (unit >> 10) << ((unit & 0x200) >> 6)


def character(raw: bytes, start: int) -> tuple[bytes, int]:
    """Return the character at a position, and its length; an invalid byte becomes the replacement character."""
    for length in range(1, 5):
        try:
            raw[start : start + length].decode()
        except UnicodeDecodeError:
            continue
        return raw[start : start + length], length
    return _REPLACEMENT.encode(), 1


def form_of(name: str, case_fold: bool) -> Callable[[str], str]:
    """Return the normalization that SentencePiece performs for the form `name`: `identity`, `nfc`, `nfd`, `nfkc` or
    `nfkd`.

    Unlike Unicode's normalization, it does not order combining marks.
    """
    form = _FORMS.get(name.lower(), "NFD")
    plain = name.lower() == "identity"
    known: dict[str, str] = {}

    def one(char: str) -> str:
        found = known.get(char)
        if found is None:
            found = char if plain else unicodedata.normalize(form, char)
            found = "".join(map(_folded, found)) if case_fold else found
            known[char] = found
        return found

    decomposed = _DECOMPOSED.get(form)
    if plain or decomposed is None:
        return lambda text: "".join(map(one, text))

    def composed(text: str) -> str:
        parts: list[str] = []
        at = 0
        while at < len(text):
            length = _composed_length(text, at, form, decomposed)
            parts.append(one(text[at]) if length == 1 else one(unicodedata.normalize(form, text[at : at + length])))
            at += length
        return "".join(parts)

    return lambda text: "".join(map(one, text)) if text.isascii() else composed(text)


def _folded(char: str) -> str:
    """Return the simple case folding of a character, or the character itself if its full folding has several
    characters.
    """
    folded = char.casefold()
    return folded if len(folded) == 1 else char.lower() if len(char.lower()) == 1 else char


def _composed_length(text: str, at: int, form: Form, decomposed: Form) -> int:
    """Return the number of characters from `at` on that compose one character in this form; 1 if they do not compose.

    A character that the form `decomposed` replaces by one other character composes like that character.
    """
    if at + 1 == len(text) or not _may_follow(unicodedata.normalize(decomposed, text[at + 1])):
        return 1
    parts = [unicodedata.normalize(decomposed, char) for char in text[at : at + _LONGEST]]
    for length in range(len(parts), 1, -1):
        single = unicodedata.normalize(form, text[at : at + length])
        fits = len(single) == 1 and all(len(part) == 1 for part in parts[:length])
        if fits and unicodedata.normalize(decomposed, single) == "".join(parts[:length]):
            return length
    return 1


def _may_follow(char: str) -> bool:
    """Return True for a character that may combine with the one before it: a mark, or a vowel or final of Hangul."""
    return unicodedata.category(char[0])[0] == "M" or "\u1160" <= char[0] <= "\u11ff"


def whitespace(replace: Replace, *, dummy_prefix: bool, extra_removed: bool, escaped: bool) -> Callable[[bytes], bytes]:
    """Return SentencePiece's normalizer: it calls `replace` at each position and applies the rules for white space."""
    space = "\N{LOWER ONE EIGHTH BLOCK}".encode() if escaped else b" "

    def normalize(raw: bytes) -> bytes:
        at = 0
        while extra_removed and at < len(raw):
            text, length = replace(raw, at)
            if text != b" ":
                break
            at += length
        if at >= len(raw):
            return b""
        parts = [space] if dummy_prefix else []
        behind_space = extra_removed
        while at < len(raw):
            text, length = replace(raw, at)
            text = text.lstrip(b" ") if behind_space else text
            if text:
                parts.append(text.replace(b" ", space) if escaped else text)
                behind_space = text.endswith(b" ")
            behind_space = behind_space and extra_removed
            at += length
        result = b"".join(parts)
        while extra_removed and result.endswith(space):
            result = result[: -len(space)]
        return result

    return normalize
