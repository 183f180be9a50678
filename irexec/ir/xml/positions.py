"""Positions in a text: from an element's number to line and column, computed on demand."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from irexec.ir.xml.events import Attribute, Span, attributes, events, events_and_texts


class Extents(NamedTuple):
    """All elements of a text, by their numbers: the start and end of each start tag, the end of the element, and the
    number of its parent (-1 for the root).

    An element that is never closed extends to the end of its parent. Lists of numbers are used instead of objects: a
    text of 10 MB has a million elements.
    """

    starts: list[int]
    tag_stops: list[int]
    stops: list[int]
    parents: list[int]

    def __len__(self) -> int:
        return len(self.starts)

    def tag(self, element: int) -> Span:
        """Return the start tag of an element."""
        return Span(self.starts[element], self.tag_stops[element] - self.starts[element])

    def whole(self, element: int) -> Span:
        """Return an element with its content."""
        return Span(self.starts[element], self.stops[element] - self.starts[element])

    def around(self, offset: int) -> list[int]:
        """Return the elements around an offset, the innermost first."""
        element, found = bisect_right(self.starts, offset) - 1, []
        while element >= 0:
            if offset < self.stops[element]:
                found.append(element)
            element = self.parents[element]
        return found


class Comment(NamedTuple):
    """A comment, and its position among the elements (numbers in document order, -1: none).

    `parent` is the innermost element around it, `previous` that parent's last child that ends before it, and `latest`
    the last element that starts before it.
    """

    text: str
    offset: int
    parent: int
    previous: int
    latest: int


class Positions:
    """The positions of elements, attributes, comments and texts in one text, which is scanned once and only up to the
    positions that are requested.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines: list[int] | None = None
        self._found = Extents([], [], [], [])
        self._comments: list[Comment] = []
        self._scan = self._go_through()
        self._attributes: dict[int, dict[str, Attribute]] = {}

    def line_column(self, offset: int) -> tuple[int, int]:
        """Return line and column, counted from 1, of a character."""
        if self._lines is None:
            self._lines = [0, *(match.end() for match in re.finditer("\n", self.text))]
        line = bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1

    def offset(self, line: int, column: int) -> int:
        """Return the offset of a line and column, clamped to the text."""
        self.line_column(0)
        assert self._lines is not None
        start = self._lines[min(max(line, 1), len(self._lines)) - 1]
        return min(start + max(column, 1) - 1, len(self.text))

    # Elements

    def tag(self, element: int) -> Span | None:
        """Return the start tag of an element, from `<` to `>`."""
        return self._found.tag(element) if self._reaches(element) else None

    def name(self, element: int) -> Span | None:
        """Return the name of an element in its start tag."""
        if (tag := self.tag(element)) is None:
            return None
        (_, _, _, name), *_ = events(self.text, tag.start, tag.stop)
        return Span(tag.start + 1, len(name))

    def name_text(self, element: int) -> str:
        """Return the name of an element as a text; an empty text if there is no such element."""
        name = self.name(element)
        return "" if name is None else self.text[name.start : name.stop]

    def children(self, parent: int) -> list[int]:
        """Return the direct children of an element, in order."""
        return [element for element, other in enumerate(self.extents().parents) if other == parent]

    def is_plain(self, element: int) -> bool:
        """Return whether an element has an end tag and only character data: no attributes, comments or elements."""
        tag, end = self.tag(element), self.end_tag(element)
        if tag is None or end is None or any(self.attributes(element)):
            return False
        return all(kind == "cdata" for kind, *_ in events(self.text, tag.stop, end.start))

    def end_tag(self, element: int) -> Span | None:
        """Return the end tag of an element; None if it has none."""
        whole, tag = self.extent(element), self.tag(element)
        if whole is None or whole == tag or self.text[whole.stop - 1] != ">":
            return None
        start = self.text.rindex("<", 0, whole.stop)
        return Span(start, whole.stop - start) if self.text.startswith("</", start) else None

    def element_at(self, offset: int) -> int | None:
        """Return the number of the element whose start tag contains an offset."""
        starts, tag_stops = self._found.starts, self._found.tag_stops
        while (not starts or tag_stops[-1] <= offset) and next(self._scan, False):
            pass
        element = bisect_right(starts, offset) - 1
        return element if element >= 0 and offset < tag_stops[element] else None

    def extent(self, element: int) -> Span | None:
        """Return an element with its content, up to the end of its end tag."""
        if not self._reaches(element):
            return None
        while self._found.stops[element] < 0 and next(self._scan, False):
            pass
        return self._found.whole(element)

    def extents(self) -> Extents:
        """Return the extents of all elements of the text."""
        for _ in self._scan:
            pass
        return self._found

    def comments(self) -> list[Comment]:
        """Return all comments of the text, in order."""
        self.extents()
        return self._comments

    def _reaches(self, element: int) -> bool:
        """Return whether there is an element of this number, scanning the text up to it."""
        starts = self._found.starts
        while len(starts) <= element and next(self._scan, False):
            pass
        return 0 <= element < len(starts)

    def _go_through(self) -> Iterator[bool]:
        """Record the elements and the comments, one at a time. The stop of an element is -1 while it is open."""
        starts, tag_stops, stops, parents = self._found
        opened: list[int] = []
        names: list[str] = []
        counts: Counter[str] = Counter()
        last_child: dict[int, int] = {}

        def close(stop: int) -> None:
            element = opened.pop()
            stops[element] = stop
            counts[names.pop()] -= 1
            last_child[parents[element]] = element

        for kind, start, stop, content in events(self.text):
            if kind == "start" or kind == "empty":
                parents.append(opened[-1] if opened else -1)
                tag_stops.append(stop)
                stops.append(-1)
                opened.append(len(starts))
                starts.append(start)
                names.append(content)
                counts[content] += 1
                if kind == "empty":
                    close(stop)
                yield True
            elif kind == "end":
                if counts[content]:
                    # Elements still open inside were never closed: they end where this end tag begins.
                    while names[-1] != content:
                        close(start)
                    close(stop)
                    yield True
            elif kind == "comment":
                parent = opened[-1] if opened else -1
                self._comments.append(Comment(content, start, parent, last_child.get(parent, -1), len(starts) - 1))
        while opened:
            close(len(self.text))

    # Attributes

    def attribute(self, element: int, name: str) -> Span | None:
        """Return the value (between its quotes) of an element's attribute, the first if there are two of this name."""
        written = self.written(element, name)
        return None if written is None else written.value

    def written(self, element: int, name: str) -> Attribute | None:
        """Return the attribute of an element with this name (the first of several), or None."""
        known = self._attributes.get(element)
        if known is None:
            known = self._attributes[element] = {}
            for attribute in self.attributes(element):
                known.setdefault(attribute.name, attribute)
        return known.get(name)

    def attributes(self, element: int) -> Iterator[Attribute]:
        """Yield every attribute of an element, in order."""
        if (tag := self.tag(element)) is not None:
            yield from attributes(self.text, tag.start, tag.stop)

    # Texts

    def inner_text(self, element: int) -> Span | None:
        """Return the first text that is not blank and is a direct child of an element."""
        return next(self.inner_texts(element), None)

    def inner_texts(self, element: int) -> Iterator[Span]:
        """Yield every text that is not blank and is a direct child of an element, stripped."""
        if (tag := self.tag(element)) is None or self.text[tag.stop - 2] == "/":
            return
        depth = 0
        for kind, start, stop, content in events_and_texts(self.text, tag.stop):
            if depth == 0 and kind == "text":
                yield Span(start, stop - start)
            elif depth == 0 and kind == "cdata" and content:
                yield Span(self.text.index(content, start), len(content))
            depth += (kind == "start") - (kind == "end")
            if depth < 0:
                return
