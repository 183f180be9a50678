"""Well-formed XML from a repaired tree, with a map from every character to the original text."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple

from irexec.frontends.pages.repairs.parts import PrintedComment, PrintedElement, Text
from irexec.ir.xml.events import Span

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_IN_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_IN_VALUE = _IN_TEXT | str.maketrans({"\t": "&#9;", "\n": "&#10;", "\r": "&#13;"})


class _Piece(NamedTuple):
    """Maps the written text from offset `start` on to `origin` in the original text. `verbatim`: both are equal."""

    start: int
    origin: Span
    verbatim: bool


class Written:
    """The text of a repaired tree; `PrintedElement.at` is the number of an element in this text."""

    def __init__(self, roots: list[PrintedElement], *, wrapper: str | None = None) -> None:
        self._parts: list[str] = []
        self._pieces: list[_Piece] = []
        self._length = 0
        self._count = 0
        if wrapper is not None:
            self._put(f"<{wrapper}>\n", Span(0, 1))
            self._count = 1
        for root in roots:
            self._element(root)
            self._put("\n", Span(max(root.end, 0), 1))
        if wrapper is not None:
            self._put(f"</{wrapper}>\n", Span(0, 1))
        self.text = "".join(self._parts)

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

    def _put(self, text: str, origin: Span, *, verbatim: bool = False) -> None:
        if text:
            self._pieces.append(_Piece(self._length, origin, verbatim and len(text) == origin.length))
            self._parts.append(text)
            self._length += len(text)

    def _element(self, root: PrintedElement) -> None:
        waiting: list[PrintedElement | Text | PrintedComment | str] = [root]
        while waiting:
            item = waiting.pop()
            if isinstance(item, str):
                self._put(item, Span(0, 1))
            elif isinstance(item, Text):
                self._put(_clean(item.text), Span(item.start, len(item.text)), verbatim=True)
            elif isinstance(item, PrintedComment):
                self._put(f"<!--{_comment(item.text)}-->", item.span)
            else:
                self._start_tag(item)
                if item.children:
                    waiting.append(f"</{item.name}>")
                    waiting += reversed(item.children)

    def _start_tag(self, node: PrintedElement) -> None:
        node.at, self._count = self._count, self._count + 1
        self._put(f"<{node.name}", node.span)
        for attribute in node.attributes.values():
            quoted = _quoted(_NOT_XML.sub("\ufffd", attribute.value))
            self._put(f" {attribute.name}={quoted[0]}", attribute.named or attribute.span)
            self._put(quoted[1:-1], attribute.span, verbatim=attribute.written)
            self._put(quoted[-1], attribute.span)
        self._put(">" if node.children else "/>", Span(node.span.start + max(node.span.length - 1, 0), 1))


def _clean(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text).translate(_IN_TEXT)


def _quoted(value: str) -> str:
    """Return an attribute's value in quotes, single or double, that it does not contain, if possible."""
    text = value.translate(_IN_VALUE)
    if '"' in text and "'" not in text:
        return f"'{text}'"
    return '"' + text.replace('"', "&quot;") + '"'


def _comment(text: str) -> str:
    text = re.sub("-(?=-)", "- ", _NOT_XML.sub("\ufffd", text))
    return text + " " if text.endswith("-") else text
