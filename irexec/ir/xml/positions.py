"""Places in a text: from an element's number to line and column, computed on demand."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from functools import cache

from irexec.records import NamedTuple


@cache
def token_pattern() -> re.Pattern[str]:
    """A piece of markup. Compiled when a place is asked for: a clean file has none to tell.

    Linear time for any text: start tags are matched possessively, and an unclosed construct extends to the end.
    """
    return re.compile(
        r"""<(?:!--(?P<comment>.*?)(?:-->|\Z)
              |!\[CDATA\[(?P<cdata>.*?)(?:\]\]>|\Z)
              |\?.*?(?:\?>|\Z)
              |/(?P<close>[^>]*+)(?:>|\Z)
              |(?P<open>[^\s/>!?<][^\s/><]*+)(?P<attributes>(?:[^>"'<]++|"[^"<]*+"|'[^'<]*+')*+)>)""",
        re.DOTALL | re.VERBOSE,
    )


@cache
def attribute_pattern() -> re.Pattern[str]:
    """An attribute of a start tag: its name, and its value in quotes."""
    return re.compile(r"""([^\s=/>"']+)\s*=\s*("[^"]*"|'[^']*')""")


class Span(NamedTuple):
    """A stretch of the text: offset of its first character, number of characters."""

    start: int
    length: int

    @property
    def stop(self) -> int:
        return self.start + self.length


class Attribute(NamedTuple):
    """An attribute as written: its name, the value between the quotes, and all of it from the name to the quote."""

    name: str
    value: Span
    whole: Span


class Extents(NamedTuple):
    """All elements of a text, by their numbers: where each start tag begins and ends, where the element ends, and the
    number of the element around it (-1 for the root).

    An element that is never closed goes to the end of the element around it. Lists of numbers, not objects: a text of
    10 MB has a million elements.
    """

    starts: list[int]
    tag_stops: list[int]
    stops: list[int]
    parents: list[int]

    def __len__(self) -> int:
        return len(self.starts)

    def tag(self, element: int) -> Span:
        """The start tag of an element."""
        return Span(self.starts[element], self.tag_stops[element] - self.starts[element])

    def whole(self, element: int) -> Span:
        """An element with all that is in it."""
        return Span(self.starts[element], self.stops[element] - self.starts[element])

    def around(self, offset: int) -> list[int]:
        """The elements around an offset, the innermost first."""
        element, found = bisect_right(self.starts, offset) - 1, []
        while element >= 0:
            if offset < self.stops[element]:
                found.append(element)
            element = self.parents[element]
        return found


class Comment(NamedTuple):
    """A comment, and where it stands among the elements (numbers in document order, -1: none).

    `parent` is the innermost element around it, `previous` that parent's last child that ends before it, and `latest`
    the last element that starts before it.
    """

    text: str
    offset: int
    parent: int
    previous: int
    latest: int


class Positions:
    """The markup of one text; `text` must be well-formed as far as elements are asked for."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines: list[int] | None = None
        self._tags: list[Span] = []
        self._scan = self._start_tags()
        self._attributes: dict[int, dict[str, Attribute]] = {}

    def line_column(self, offset: int) -> tuple[int, int]:
        """Line and column, from 1, of a character."""
        if self._lines is None:
            self._lines = [0, *(match.end() for match in re.finditer("\n", self.text))]
        line = bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1

    def offset(self, line: int, column: int) -> int:
        """The offset of a line and column, moved into the text where they lie outside."""
        self.line_column(0)
        assert self._lines is not None
        start = self._lines[min(max(line, 1), len(self._lines)) - 1]
        return min(start + max(column, 1) - 1, len(self.text))

    def tag(self, element: int) -> Span | None:
        """The start tag of an element, from `<` to `>`."""
        while len(self._tags) <= element:
            if (span := next(self._scan, None)) is None:
                return None
            self._tags.append(span)
        return self._tags[element]

    def attribute(self, element: int, name: str) -> Span | None:
        """The value (between its quotes) of an element's attribute, the first when it is written twice."""
        written = self.written(element, name)
        return None if written is None else written.value

    def written(self, element: int, name: str) -> Attribute | None:
        """An element's attribute, the first when it is written twice; None when there is none."""
        known = self._attributes.get(element)
        if known is None:
            known = self._attributes[element] = {}
            for attribute in self.attributes(element):
                known.setdefault(attribute.name, attribute)
        return known.get(name)

    def attributes(self, element: int) -> Iterator[Attribute]:
        """Every attribute of an element as written."""
        if (tag := self.tag(element)) is not None:
            for match in attribute_pattern().finditer(self.text, tag.start, tag.start + tag.length):
                value = Span(match.start(2) + 1, match.end(2) - match.start(2) - 2)
                yield Attribute(match[1], value, Span(match.start(), match.end() - match.start()))

    def extent(self, element: int) -> Span | None:
        """An element with all that is in it, to the end of its end tag."""
        if (tag := self.tag(element)) is None or self.text[tag.start + tag.length - 2] == "/":
            return tag
        depth = 0
        for match in token_pattern().finditer(self.text, tag.start):
            if match["open"] is not None and not match["attributes"].endswith("/"):
                depth += 1
            elif match["close"] is not None:
                depth -= 1
                if depth == 0:
                    return Span(tag.start, match.end() - tag.start)
        return None

    def extents(self) -> Extents:
        """Every element of the text, in one pass."""
        starts, tag_stops, stops, parents = found = Extents([], [], [], [])
        open_elements: list[tuple[int, str]] = []
        open_names: Counter[str] = Counter()

        def close(stop: int) -> None:
            element, name = open_elements.pop()
            stops[element] = stop
            open_names[name] -= 1

        for match in token_pattern().finditer(self.text):
            if (name := match["open"]) is not None:
                starts.append(match.start())
                tag_stops.append(match.end())
                stops.append(match.end())
                parents.append(open_elements[-1][0] if open_elements else -1)
                if not match["attributes"].endswith("/"):
                    open_elements.append((len(starts) - 1, name))
                    open_names[name] += 1
            elif match["close"] is not None and open_names[name := match["close"].strip()]:
                # What is open inside was never closed: it ends where the end tag begins.
                while open_elements[-1][1] != name:
                    close(match.start())
                close(match.end())
        while open_elements:
            close(len(self.text))
        return found

    def inner_text(self, element: int) -> Span | None:
        """The first stretch of text that is not blank and stands directly inside an element."""
        if (tag := self.tag(element)) is None or self.text[tag.start + tag.length - 2] == "/":
            return None
        depth, position = 0, tag.start + tag.length
        for match in token_pattern().finditer(self.text, position):
            if depth == 0:
                stretch = self.text[position : match.start()]
                if stretch.strip():
                    return Span(position + len(stretch) - len(stretch.lstrip()), len(stretch.strip()))
                if match["cdata"]:
                    return Span(match.start("cdata"), len(match["cdata"]))
            position = match.end()
            if match["open"] is not None and not match["attributes"].endswith("/"):
                depth += 1
            elif match["close"] is not None:
                if depth == 0:
                    return None
                depth -= 1
        return None

    def texts(self) -> Iterator[tuple[str, int, list[str]]]:
        """Every text in the root that is not blank, the number of the element that it stands in, and the names of all
        elements around it, the innermost last. The list is one and the same: it is true until the next text."""
        position, number = 0, -1
        numbers: list[int] = []
        names: list[str] = []
        for match in token_pattern().finditer(self.text):
            for text in (self.text[position : match.start()], match["cdata"] or ""):
                if names and text.strip():
                    yield text, numbers[-1], names
            position = match.end()
            if match["open"] is not None:
                number += 1
                if not match["attributes"].endswith("/"):
                    numbers.append(number)
                    names.append(match["open"])
            elif match["close"] is not None and names:
                del numbers[-1], names[-1]
            if number >= 0 and not names:
                return

    def tags(self) -> Iterator[tuple[str, str, Span]]:
        """Every tag of an element with content, in order: "open" or "close", the name, and all of the tag."""
        for match in token_pattern().finditer(self.text):
            span = Span(match.start(), match.end() - match.start())
            if match["close"] is not None:
                yield "close", match["close"].strip(), span
            elif match["open"] is not None and not match["attributes"].endswith("/"):
                yield "open", match["open"], span

    def comments(self) -> list[Comment]:
        """All comments of the text, in order."""
        found: list[Comment] = []
        open_elements: list[int] = []
        last_child: dict[int, int] = {}
        latest = -1
        for match in token_pattern().finditer(self.text):
            parent = open_elements[-1] if open_elements else -1
            if match["comment"] is not None:
                found.append(Comment(match["comment"], match.start(), parent, last_child.get(parent, -1), latest))
            elif match["open"] is not None:
                latest += 1
                if match["attributes"].endswith("/"):
                    last_child[parent] = latest
                else:
                    open_elements.append(latest)
            elif match["close"] is not None and open_elements:
                closed = open_elements.pop()
                last_child[open_elements[-1] if open_elements else -1] = closed
        return found

    def _start_tags(self) -> Iterator[Span]:
        for match in token_pattern().finditer(self.text):
            if match["open"] is not None:
                yield Span(match.start(), match.end() - match.start())
