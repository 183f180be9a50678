"""The lexical parts of a text: a stream of tags, comments and character data, shared by reader, positions and fixes."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any, Literal, NamedTuple

NOT_XML = "[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]"
"""The pattern of a character that XML cannot represent, not even escaped."""
Kind = Literal["start", "empty", "end", "comment", "cdata", "instruction", "text"]
Event = tuple[Kind, int, int, str]
"""A piece of markup or text: its kind, the offsets of its start and end, and its content (the name in a tag, otherwise
the text). Kind "start" is the start tag of an element with content, "empty" the tag of an element without content."""


class Span(NamedTuple):
    """A range of the text: the offset of its first character and the number of characters."""

    start: int
    length: int

    @property
    def stop(self) -> int:
        return self.start + self.length


class Attribute(NamedTuple):
    """An attribute in the text: its name, the value between the quotes, and the span from the name to the closing
    quote.
    """

    name: str
    value: Span
    whole: Span


@cache
def _markup() -> re.Pattern[str]:
    """Return the pattern of a piece of markup. It is compiled when a position is first looked up, as for a finding.

    Matching takes linear time for any text: start tags are matched possessively, and an unclosed construct extends to
    the end.
    """
    return re.compile(
        r"""<(?:(?P<start>[^\s/>!?<][^\s/><]*+)(?:[^>"'</]++|"[^"<]*+"|'[^'<]*+'|/(?!>))*+(?P<empty>/?)>
              |/(?P<end>[^>]*+)(?:>|\Z)
              |!--(?P<comment>.*?)(?:-->|\Z)
              |!\[CDATA\[(?P<cdata>.*?)(?:\]\]>|\Z)
              |(?P<instruction>\?.*?)(?:\?>|\Z))""",
        re.DOTALL | re.VERBOSE,
    )


@cache
def _attribute() -> re.Pattern[str]:
    """Return the pattern of an attribute of a start tag: its name, and its value in quotes."""
    return re.compile(r"""(?<![^\s=/>"'])([^\s=/>"']++)\s*+=\s*+("[^"]*+"|'[^']*+')""")


def events(text: str, start: int = 0, stop: int = sys.maxsize) -> Iterator[Event]:
    """Yield the markup of a text between two offsets, in order."""
    return map(_event, _markup().finditer(text, start, stop))


def next_tag(text: str, start: int) -> Event | None:
    """Return the first tag after an offset."""
    while (match := _markup().search(text, start)) is not None:
        if match.lastgroup == "empty" or match.lastgroup == "end":
            return _event(match)
        start = match.end()
    return None


def _event(match: re.Match[str]) -> Event:
    kind: Any = match.lastgroup
    if kind == "empty":
        is_empty, content = match.group("empty", "start")
        return "empty" if is_empty else "start", match.start(), match.end(), content
    content = match[kind]
    return kind, match.start(), match.end(), content.strip() if kind == "end" else content


def events_and_texts(text: str, start: int = 0) -> Iterator[Event]:
    """Yield the markup of a text and, in order, the stripped texts between the pieces of markup; blank texts are
    skipped.
    """
    position = start
    for event in events(text, start):
        between = text[position : event[1]]
        if content := between.strip():
            begin = position + len(between) - len(between.lstrip())
            yield "text", begin, begin + len(content), content
        yield event
        position = event[2]


def attributes(text: str, start: int, stop: int) -> Iterator[Attribute]:
    """Yield every attribute of the start tag between two offsets."""
    for match in _attribute().finditer(text, start, stop):
        value = Span(match.start(2) + 1, match.end(2) - match.start(2) - 2)
        yield Attribute(match[1], value, Span(match.start(), match.end() - match.start()))


def attribute_texts(text: str, start: int, stop: int) -> list[tuple[str, str]]:
    """Return the name of every attribute of the start tag between two offsets, and the text between its quotes."""
    return [(name, value[1:-1]) for name, value in _attribute().findall(text, start, stop)]
