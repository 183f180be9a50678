"""The headings of a page in Markdown, reStructuredText or HTML, with the positions where they begin to apply."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from irexec.pages.blocks import Range

_HASHES = re.compile(r"^#{1,6}[ \t]+([^\n]{1,200}?)[ \t]*#*[ \t]*$", re.MULTILINE)
_UNDERLINED = re.compile(r"^(\S[^\n]{0,200})\n([=\-~^\"'*+#`:.])\2{2,200}[ \t]*$", re.MULTILINE)
_ELEMENT = re.compile(r"<h[1-6]\b[^<>]{0,500}>([^<]{0,200}(?:<[^<>]{0,500}>[^<]{0,200}){0,8}?)</h[1-6]>", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")


class Heading(NamedTuple):
    """A heading and the offset of its text."""

    start: int
    text: str


def headings_in(text: str, taken: Sequence[Range] = ()) -> list[Heading]:
    """Return the headings of a text outside the ranges of its examples, in order."""
    found = [Heading(match.start(), match[1]) for pattern in (_HASHES, _UNDERLINED) for match in pattern.finditer(text)]
    return sorted(heading for heading in found if not any(start <= heading.start < end for start, end in taken))


def headings_of_html(source: str) -> list[Heading]:
    """Return the headings of a page in HTML, with their offsets in the source."""
    return [Heading(match.start(), _TAG.sub("", match[1]).strip(" \t\n#¶")) for match in _ELEMENT.finditer(source)]


def heading_at(headings: Sequence[Heading], offset: int) -> str:
    """Return the text of the last heading before an offset; empty if there is none."""
    place = bisect_right(headings, offset, key=lambda heading: heading.start)
    return " ".join(headings[place - 1].text.split()) if place else ""
