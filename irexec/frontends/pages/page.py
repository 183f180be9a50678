"""A page: its text, its headings, the operators it names, and its examples in order."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from irexec.frontends.pages.assignments import Assignment, Group, groups_in, prose_assignments
from irexec.frontends.pages.blocks import Range, explicit_blocks, is_example, loose_layers
from irexec.frontends.pages.excerpt import Excerpt
from irexec.frontends.pages.html import visible_text
from irexec.frontends.pages.names import Named, named_at, names_in
from irexec.ir.io.files import open_regular
from irexec.ir.xml.encoding import EncodingProblem, decode, encoding_of
from irexec.ir.xml.source import Source

_HASHES = re.compile(r"^#{1,6}[ \t]++([^\n]{1,200}?)[ \t]*+#*+[ \t]*+$", re.MULTILINE)
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


SUFFIXES = (".rst", ".md", ".html", ".htm", ".txt", ".xml")
"""The suffixes of pages; a file with another suffix is read as plain text if it is given by name."""
MAX_BYTES = 64_000_000

_HTML = (".html", ".htm")


@dataclass(frozen=True, slots=True)
class XmlExample:
    """A block of layers or a model.

    `named`: the operator that this part of the page describes; `heading`: the heading above the block.
    """

    excerpt: Excerpt
    start: int
    named: Named | None
    heading: str = ""


@dataclass(frozen=True, slots=True)
class TextExample:
    """Named values of the operator that the page describes; `in_prose` are values in the preceding sentence.

    `givens`: preceding values on the page, without an output. `heading`: the heading above the values.
    """

    excerpt: Excerpt
    start: int
    named: Named | None
    group: Group
    in_prose: tuple[Assignment, ...] = ()
    givens: tuple[Assignment, ...] = ()
    heading: str = ""


@dataclass(slots=True)
class Page:
    """The content of a page. `problem` gives the reason if it cannot be read."""

    file: str
    names: list[Named] = field(default_factory=list)
    examples: list[XmlExample | TextExample] = field(default_factory=list)
    problem: str | None = None


def read_page(path: str | os.PathLike[str], data: bytes | None = None) -> Page:
    """Read a page from its file, or from `data`. Raises OSError; a page that is not text has a `problem`."""
    file = os.fspath(path)
    if data is None:
        with open_regular(path, "a page") as stream:
            # Python allocates memory for the requested number of bytes before it reads.
            data = stream.read(min(os.fstat(stream.fileno()).st_size, MAX_BYTES) + 1)
    if len(data) > MAX_BYTES:
        return Page(file, problem=f"the file is larger than {MAX_BYTES // 1_000_000} MB")
    try:
        text = decode(data)
    except EncodingProblem as problem:
        return Page(file, problem=str(problem))
    if "\0" in text:
        return Page(file, problem="the file is not text")
    return _Finder(Source(text, file=file, encoding=encoding_of(data))).page()


class _Finder:
    """Finds a page's examples."""

    def __init__(self, page: Source) -> None:
        self.source = page
        self.file = page.file or ""
        self.all = Excerpt(page.text, page)
        self.blocks: list[Range] = []
        suffix = Path(self.file).suffix.lower()
        if suffix in _HTML:
            self.all, self.blocks = visible_text(page)
        elif suffix == ".xml":
            self.blocks = [(0, len(page.text))]
        else:
            self.blocks = explicit_blocks(page.text)
        self.text = self.all.text
        self.names = names_in(self.text, self.file)
        self.headings = headings_of_html(page.text) if suffix in _HTML else headings_in(self.text, self.blocks)

    def page(self) -> Page:
        xml = [block for block in self.blocks if is_example(self.text[slice(*block)])]
        xml += loose_layers(self.text, xml)
        found: list[XmlExample | TextExample] = [
            XmlExample(self.all.part(*block), block[0], named_at(self.names, block[0]), self._heading(block[0]))
            for block in xml
        ]
        found += self._text_examples(sorted(xml))
        return Page(self.file, self.names, sorted(found, key=lambda example: example.start))

    def _heading(self, offset: int) -> str:
        return heading_at(self.headings, self.all.origin(offset))

    def _text_examples(self, taken: Sequence[Range]) -> Iterator[TextExample]:
        """Yield an example for each group of named values that contains an output. Values of groups without an output
        become `givens` of the following examples.
        """
        givens: dict[str, Assignment] = {}
        about: Named | None = None
        for group in groups_in(_blanked(self.text, taken)):
            named = named_at(self.names, group.start)
            if named != about:
                givens, about = {}, named
            if not any(is_output(name) for name in group.assignments) and group.node is None:
                givens |= group.assignments
                continue
            preceding = prose_assignments(self.text, group.lead)
            yield TextExample(
                self.all,
                group.start,
                named,
                group,
                tuple(preceding),
                tuple(givens.values()),
                self._heading(group.start),
            )


def is_output(name: str) -> bool:
    """Return whether a value of this name is an operator's result."""
    return name.lower().rstrip("0123456789_") in ("output", "out", "outputs", "result", "results", "expected", "y")


def _blanked(text: str, ranges: Sequence[Range]) -> str:
    """Return the text with blanks in these ranges; the positions of all other characters are unchanged."""
    parts, position = [], 0
    for start, end in ranges:
        parts += [text[position:start], "".join("\n" if c == "\n" else " " for c in text[start:end])]
        position = max(end, position)
    return "".join([*parts, text[position:]])
