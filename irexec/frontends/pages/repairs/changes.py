"""Edits that make a repair permanent in the printed text."""

from __future__ import annotations

import re

from irexec.frontends.pages.repairs.parts import Attribute, Change
from irexec.ir.xml.events import Span

_BLANKS = re.compile(r"\s*")


def without(text: str, span: Span) -> Change:
    """Return an edit that removes a range of text, with its line or with superfluous blanks on its line."""
    start, stop = span.start, span.stop
    line, end = text.rfind("\n", 0, start) + 1, text.find("\n", stop)
    if line and end >= 0 and not text[line:start].strip() and not text[stop:end].strip():
        return Change(Span(line, end + 1 - line), "")
    if stop >= len(text) or text[stop] in " \t\r\n/>":
        while start and text[start - 1] in " \t":
            start -= 1
        return Change(Span(start, stop - start), "")
    between = text[start - 1 : start].strip() and text[stop].strip()
    return Change(span, " " if between else "")


def end_tag(text: str, name: str, opened: int, offset: int) -> Change:
    """Return an edit that adds the missing end tag of an element that starts at `opened`, before `offset`, on the same
    line or a line of its own.
    """
    behind = offset
    while behind > opened and text[behind - 1].isspace():
        behind -= 1
    if "\n" not in text[opened:behind]:
        return Change(Span(behind, 0), f"</{name}>")
    line = text.rfind("\n", 0, opened) + 1
    indent = text[line : line + len(text[line:opened]) - len(text[line:opened].lstrip())]
    newline = "\r\n" if text[line - 2 : line] == "\r\n" else "\n"
    return Change(Span(behind, 0), f"{newline}{indent}</{name}>")


def opened_again(text: str, tag: Span) -> tuple[Change, ...]:
    """Return the edit that removes the slash of an element that was closed too early, `<port id="4"/>`."""
    slash = text.rfind("/", tag.start, tag.stop)
    start = slash
    while start > tag.start and text[start - 1].isspace():
        start -= 1
    return (Change(Span(start, slash + 1 - start), ""),) if slash >= 0 else ()


def joined(text: str, first_end: int, second: Span, name: str) -> tuple[Change, ...]:
    """Return edits that join two adjacent sections: they remove the first one's end tag, the second one's start tag."""
    closing = text.rfind("</", 0, first_end)
    if closing < 0 or text[closing:first_end] != f"</{name}>" or text[first_end : second.start].strip():
        return ()
    start = closing
    while start and text[start - 1] in " \t":
        start -= 1
    stop = second.stop
    while stop < len(text) and text[stop] in " \t\r":
        stop += 1
    stop += text[stop : stop + 1] == "\n"
    return (Change(Span(start, stop - start), ""),)


def moved(text: str, attribute: Attribute, layer: Span, data: Span | None) -> tuple[Change, ...]:
    """Return edits that move an attribute of a `<layer>` into its `<data>`; `data`: its start tag, None to add it."""
    if attribute.named is None or text[attribute.span.stop : attribute.span.stop + 1] not in ("'", '"'):
        return ()
    start, stop = attribute.named.start, attribute.span.stop + 1
    written = text[start:stop]
    leaving = without(text, Span(start, stop - start))
    if data is None:
        blanks = _BLANKS.match(text, layer.stop)
        line = blanks[0] if blanks is not None and "\n" in blanks[0] else ""
        return leaving, Change(Span(layer.stop, 0), f"{line}<data {written}/>")
    behind = data.stop - 1
    while behind > data.start and (text[behind - 1].isspace() or text[behind - 1] == "/"):
        behind -= 1
    return leaving, Change(Span(behind, 0), f" {written}")
