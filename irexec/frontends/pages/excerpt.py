"""An excerpt of a page as plain text, with the place in the page of each character."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from irexec.core.diagnostics import Diagnostic, Edit, Fix, Place, Related
from irexec.ir.ignored import not_ignored
from irexec.ir.xml.events import Span
from irexec.ir.xml.positions import Positions
from irexec.ir.xml.source import Source


@dataclass(frozen=True)
class Excerpt:
    """Part of the text that a reader of a page sees: `original` maps a range of all of this text to the page, and the
    part begins at `begin`. `markup`: the page is HTML, whose text escapes `<` and `&`.
    """

    text: str
    page: Source
    original: Callable[[Span], Span] = lambda span: span
    begin: int = 0
    markup: bool = False

    def origin(self, offset: int) -> int:
        """Return the position on the page of the character at `offset`."""
        return self.original(Span(self.begin + offset, 1)).start

    def place(self, start: int, length: int = 1) -> Place:
        """Return the place in the page of `length` characters from `start` on."""
        return self.page.place(self.original(Span(self.begin + start, max(length, 1))))

    def part(self, start: int, end: int) -> Excerpt:
        """Return the excerpt from `start` to `end`."""
        return replace(self, text=self.text[start:end], begin=self.begin + start)

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
        if not as_written or (self.markup and re.search("[<>&]", text)):
            return None
        return self.page.editable.edit(Span(origin, stop - origin), text)

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
