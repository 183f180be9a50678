"""Conversion of an editor's positions to offsets in a text and back: lines from 0, characters in its units."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate
from typing import Literal

from lsprotocol.types import Position, Range

Unit = Literal["utf-8", "utf-16", "utf-32"]
"""The unit in which an editor counts characters: UTF-16 code units unless it requested another one."""

_LINE_END = re.compile(r"\r\n|\n|\r")


class Units:
    """The lines of one text. Positions outside the text are moved to the nearest position inside."""

    def __init__(self, text: str, unit: Unit = "utf-16") -> None:
        self._text = text
        self._unit = unit
        self._starts = _line_starts(text)

    def start(self, line: int) -> int:
        """Return the offset of the beginning of a line; lines are counted from 1."""
        return self._starts[min(line, len(self._starts)) - 1]

    def position(self, offset: int) -> Position:
        """Return the position of a character."""
        line = bisect_right(self._starts, offset) - 1
        return Position(line, self._width(self._text[self._starts[line] : offset]))

    def range(self, start: int, stop: int) -> Range:
        """Return the range of an editor between two offsets."""
        return Range(self.position(start), self.position(stop))

    def offset(self, position: Position) -> int:
        """Return the offset of a position."""
        if position.line >= len(self._starts):
            return len(self._text)
        start = self._starts[position.line]
        stop = self._starts[position.line + 1] if position.line + 1 < len(self._starts) else len(self._text)
        line = self._text[start:stop].rstrip("\r\n")
        if self._unit == "utf-32" or line.isascii():
            return start + min(position.character, len(line))
        width = 0
        for index, character in enumerate(line):
            if width >= position.character:
                return start + index
            width += self._width(character)
        return start + len(line)

    def _width(self, text: str) -> int:
        if self._unit == "utf-32" or text.isascii():
            return len(text)
        return (
            len(text.encode("utf-8", "replace"))
            if self._unit == "utf-8"
            else len(text) + sum(c > "\uffff" for c in text)
        )


def _line_starts(text: str) -> list[int]:
    """Return the offsets at which lines begin. Splitting the text is fast: an editor waits for them after each key."""
    if "\r" in text:
        return [0, *(match.end() for match in _LINE_END.finditer(text))]
    *lines, _ = text.split("\n")
    return list(accumulate((len(line) + 1 for line in lines), initial=0))


def offset_before(old: str, new: str, offset: int) -> int | None:
    """Return the offset of a character before a change; None inside the changed text."""
    most = min(len(old), len(new))
    first = _alike(most, lambda low, high: old[low:high] == new[low:high])
    last = _alike(
        most - first, lambda low, high: old[len(old) - high : len(old) - low] == new[len(new) - high : len(new) - low]
    )
    if offset < first:
        return offset
    return None if offset < len(new) - last else offset + len(old) - len(new)


def _alike(most: int, same: Callable[[int, int], bool]) -> int:
    """Return the number of equal characters, counted from one end, up to `most`."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if same(low, middle):
            low = middle
        else:
            high = middle - 1
    return low
