"""An excerpt of a page as plain text, with the place in the page of each character."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from irexec.core.diagnostics import Diagnostic, Edit, Fix, Place, Related
from irexec.ir.ignored import not_ignored
from irexec.ir.xml.edits import Editable
from irexec.ir.xml.encoding import encoding_of
from irexec.ir.xml.events import Span
from irexec.ir.xml.positions import Positions


class PageText:
    """The text of a page's file; `data` are its bytes. `markup`: the page is HTML, whose text escapes `<` and `&`."""

    def __init__(self, text: str, file: str | None = None, data: bytes | None = None, *, markup: bool = False) -> None:
        self.text = text
        self.file = file
        self.markup = markup
        self._positions = Positions(text)
        self._editable = Editable(self._positions, (0, "utf-8") if data is None else encoding_of(data))
        self._lines: dict[int, str] = {}

    def edit(self, start: int, end: int, text: str) -> Edit:
        """Return an edit that replaces the characters from `start` to `end`."""
        return self._editable.edit(Span(start, end - start), text)

    def place(self, start: int, end: int) -> Place:
        """Return the place of the characters from `start` to `end`, as far as they are on one line."""
        line, column = self._positions.line_column(start)
        if line not in self._lines:
            first, newline = start - column + 1, self.text.find("\n", start)
            self._lines[line] = self.text[first : len(self.text) if newline < 0 else newline].rstrip("\r")
        # Places on one line share the text of the line: a page may be one line, with many findings.
        written = self._lines[line]
        length = max(1, min(end, start - column + 1 + len(written)) - start)
        return Place(self.file, line, column, length, written)


@dataclass(frozen=True)
class Excerpt:
    """`text` consists of ranges of the page: the range that begins at `starts[i]` is at `origins[i]` on the page."""

    text: str
    page: PageText
    starts: tuple[int, ...] = (0,)
    origins: tuple[int, ...] = (0,)

    def origin(self, offset: int) -> int:
        """Return the position on the page of the character at `offset`."""
        run = max(0, bisect_right(self.starts, offset) - 1)
        return self.origins[run] + offset - self.starts[run]

    def place(self, start: int, length: int = 1) -> Place:
        """Return the place in the page of `length` characters from `start` on."""
        return self.page.place(self.origin(start), self.origin(start + max(length, 1) - 1) + 1)

    def part(self, start: int, end: int) -> Excerpt:
        """Return the excerpt from `start` to `end`."""
        first = max(0, bisect_right(self.starts, start) - 1)
        last = max(first + 1, bisect_right(self.starts, max(start, end - 1)))
        starts = (0, *(s - start for s in self.starts[first + 1 : last]))
        origins = (self.origin(start), *self.origins[first + 1 : last])
        return Excerpt(self.text[start:end], self.page, starts, origins)

    @cached_property
    def _positions(self) -> Positions:
        return Positions(self.text)

    def offset(self, place: Place) -> int:
        """Return the offset in this excerpt of a place whose line and column count in this excerpt."""
        return self._positions.offset(place.line or 1, place.column or 1)

    def in_page(self, place: Place) -> Place:
        """Return the place in the page of a place whose line and column count in this excerpt."""
        if place.line is None:
            return replace(place, file=self.page.file)
        return self.place(self.offset(place), place.length)

    def edit(self, start: int, end: int, text: str) -> Edit | None:
        """Return an edit of the page for a range of the excerpt; None if the page differs from the excerpt in this
        range.
        """
        origin = self.origin(start)
        stop = self.origin(end - 1) + 1 if end > start else origin
        as_written = self.page.text[origin:stop] == self.text[start:end]
        if not as_written or (self.page.markup and re.search("[<>&]", text)):
            return None
        return self.page.edit(origin, stop, text)

    def not_ignored(self, found: Iterable[Diagnostic]) -> list[Diagnostic]:
        """Return the findings that no comment in this excerpt suppresses."""
        return [*not_ignored(found, self._positions)]

    def moved(self, diagnostic: Diagnostic) -> Diagnostic:
        """Return a finding about this excerpt as a finding about the page."""
        related = tuple(Related(r.message, self.in_page(r.place)) for r in diagnostic.related)
        fixes = tuple(fix for old in diagnostic.fixes if (fix := self._moved_fix(old)) is not None)
        return replace(diagnostic, place=self.in_page(diagnostic.place), related=related, fixes=fixes)

    def _moved_fix(self, fix: Fix) -> Fix | None:
        offset = self._positions.offset
        edits = [self.edit(offset(*edit.begin), offset(*edit.end), edit.text) for edit in fix.edits]
        found = tuple(edit for edit in edits if edit is not None)
        return replace(fix, edits=found) if len(found) == len(edits) else None
