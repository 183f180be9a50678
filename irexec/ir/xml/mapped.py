"""Writing XML with a map from every character to another text, so that findings are located in that text."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from irexec.ir.xml.events import Span

_IN_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_IN_VALUE = _IN_TEXT | str.maketrans({"\t": "&#9;", "\n": "&#10;", "\r": "&#13;"})


class _Piece(NamedTuple):
    """Maps the written text from offset `start` on to `origin` in the original text. `verbatim`: both are equal."""

    start: int
    origin: Span
    verbatim: bool


class Mapped:
    """A text that is written in pieces, each with its origin in the original text."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._pieces: list[_Piece] = []
        self.length = 0

    @property
    def text(self) -> str:
        """The text written so far."""
        return "".join(self._parts)

    def original(self, span: Span) -> Span:
        """Return the range of the original text that corresponds to a range of the written text."""
        first, last = self._origin(span.start), self._origin(span.start + max(span.length, 1) - 1)
        return Span(first.start, max(last.start + last.length - first.start, first.length, 1))

    def _origin(self, offset: int) -> Span:
        index = bisect_right(self._pieces, offset, key=lambda piece: piece.start) - 1
        if index < 0:
            return Span(0, 1)
        piece = self._pieces[index]
        return Span(piece.origin.start + offset - piece.start, 1) if piece.verbatim else piece.origin

    def put(self, text: str, origin: Span, *, verbatim: bool = False) -> None:
        """Write a piece. `verbatim`: it is the text of its origin, unless characters were escaped."""
        if text:
            self._pieces.append(_Piece(self.length, origin, verbatim and len(text) == origin.length))
            self._parts.append(text)
            self.length += len(text)

    def attribute(self, name: str, text: str, value: Span, named: Span, *, verbatim: bool = False) -> None:
        """Write an attribute; `value` and `named` are the origins of its value and its name."""
        quoted = _quoted(text)
        self.put(f" {name}={quoted[0]}", named)
        self.put(quoted[1:-1], value, verbatim=verbatim)
        self.put(quoted[-1], value)


def escaped(text: str) -> str:
    """Return the XML of character data."""
    return text.translate(_IN_TEXT)


def _quoted(value: str) -> str:
    """Return an attribute's value in quotes, single or double, that it does not contain, if possible."""
    text = value.translate(_IN_VALUE)
    if '"' in text and "'" not in text:
        return f"'{text}'"
    return '"' + text.replace('"', "&quot;") + '"'
