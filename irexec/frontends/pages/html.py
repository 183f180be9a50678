"""The visible text of an HTML page, each character at its place: without tags, with references resolved."""

from __future__ import annotations

import html
import re

from irexec.frontends.pages.excerpt import Excerpt
from irexec.ir.xml.events import Span
from irexec.ir.xml.mapped import Mapped
from irexec.ir.xml.source import Source

# html.parser is not used: in Python 3.11 its time is quadratic in the length of unclosed tags or comments, and it stops
# with an AssertionError at "<![". Here an element without an end extends to the end of the page, as in a browser, and
# the length of a value that contains '<' is limited, so that every character is examined a bounded number of times.
_MARKUP = re.compile(
    r"""(?P<hidden><(?P<tag>script|style|head|template)\b[^>]*+(?:>.*?(?:</(?P=tag)\s*+>|\Z)|\Z))
       |(?P<layer><layer\b)
       |(?P<comment><!--.*?(?:-->|\Z))
       |(?P<mark></?(?P<name>[A-Za-z][\w:-]*+)
           (?:[^<>"']|"(?:[^"<]*+|[^"]{0,1000}+)"|'(?:[^'<]*+|[^']{0,1000}+)')*+>
           |<[!?][^>]*+(?:>|\Z))
       |(?P<reference>&(?:\#\d{1,7}|\#[xX][0-9A-Fa-f]{1,6}|[A-Za-z]\w{0,31});)""",
    re.DOTALL | re.VERBOSE | re.IGNORECASE,
)
_PREFORMATTED = re.compile(r"pre|textarea", re.IGNORECASE)
# The elements that a browser shows on a new line.
_BLOCK = re.compile(
    r"p|div|pre|h\d|li|ul|ol|dl|dt|dd|table|tr|td|th|br|section|article|blockquote|figure|textarea", re.IGNORECASE
)


class _Visible(Mapped):
    """The visible text under construction."""

    def new_line(self, origin: int) -> None:
        if self._parts and not self._parts[-1].endswith("\n"):
            self.put("\n", Span(origin, 1))


def visible_text(page: Source) -> tuple[Excerpt, list[tuple[int, int]]]:
    """Return the text that a reader of the page sees, and the spans of it that are preformatted (`<pre>`)."""
    text, source = _Visible(), page.text

    def copy(start: int, end: int) -> None:
        text.put(source[start:end], Span(start, end - start), verbatim=True)

    blocks: list[tuple[int, int]] = []
    position = begin = 0
    preformatted = ""
    raw_end, unclosed_until = -1, 0
    while (match := _MARKUP.search(source, position)) is not None:
        copy(position, match.start())
        position = match.end()
        if match["layer"] is not None:
            # An example that was not escaped is not markup of the page.
            if raw_end < match.end():
                raw_end = _end_of_raw(source, match.end())
            closing = -1
            if match.start() >= unclosed_until:
                closing = source.rfind("</layer>", match.start(), raw_end)
            if closing < 0:
                unclosed_until = raw_end
            position = match.end() if closing < 0 else closing + len("</layer>")
            copy(match.start(), position)
        elif match["reference"] is not None:
            for character in html.unescape(match["reference"]):
                text.put(" " if character == "\xa0" else character, Span(match.start(), len(match[0])))
        elif match["mark"] is not None and match["name"] is not None:
            name, closes = match["name"].lower(), match["mark"][1] == "/"
            if _BLOCK.fullmatch(name):
                text.new_line(match.start())
            if _PREFORMATTED.fullmatch(name) and not closes and not preformatted:
                preformatted, begin = name, text.length
            elif closes and name == preformatted:
                blocks.append((begin, text.length))
                preformatted = ""
    copy(position, len(source))
    return Excerpt(text.text, page, text.original, markup=True), blocks


def _end_of_raw(source: str, start: int) -> int:
    """Return the offset at which an unescaped example ends: the end of the `<pre>` around it, or of the page."""
    end = source.find("</pre", start)
    return len(source) if end < 0 else end
