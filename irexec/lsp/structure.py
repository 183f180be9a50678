"""The structure of a document: ranges that a selection grows to, names of tags, references to a layer, indentation."""

from __future__ import annotations

from collections.abc import Iterator

from irexec.ir.xml.events import Event, Span, events
from irexec.lsp.analysis import Analysis
from irexec.lsp.links import references, renamed_at


def selections(analysis: Analysis, offset: int) -> list[Span]:
    """Return the ranges around an offset, the innermost first: a value, an attribute, a tag, and the elements."""
    found: list[Span] = []
    for number, element in enumerate(analysis.extents.around(offset)):
        tag = analysis.tag(element)
        if number == 0 and tag is not None and tag.start <= offset <= tag.stop:
            for attribute in analysis.attributes_of(element):
                if attribute.whole.start <= offset <= attribute.whole.stop:
                    found += [attribute.value] if attribute.value.start <= offset <= attribute.value.stop else []
                    found.append(attribute.whole)
            found.append(tag)
        found.append(analysis.extents.whole(element))
    distinct: list[Span] = []
    for span in found:
        if not distinct or (
            span.start <= distinct[-1].start and span.stop >= distinct[-1].stop and span != distinct[-1]
        ):
            distinct.append(span)
    return distinct


def tag_names(analysis: Analysis, offset: int) -> list[Span]:
    """Return the name in the start tag and in the end tag of an element, if the offset is in one of them."""
    text = analysis.text
    for element in analysis.extents.around(offset)[:1]:
        whole, tag = analysis.extents.whole(element), analysis.extents.tag(element)
        name = text[tag.start + 1 : tag.stop].split(None, 1)[0].rstrip("/>")
        begin = text.rfind("</", tag.stop, whole.stop)
        if begin < 0 or text[begin + 2 : whole.stop].rstrip("> \t\r\n") != name:
            return []
        names = [Span(tag.start + 1, len(name)), Span(begin + 2, len(name))]
        return names if any(span.start <= offset <= span.stop for span in names) else []
    return []


def highlights(analysis: Analysis, offset: int) -> list[Span]:
    """Return the place of an id or of a port at an offset, and all places that refer to it."""
    spans = references(analysis, offset)
    owner = analysis.port_at(offset)
    own = analysis.tag(owner.port.at) if owner is not None else renamed_at(analysis, offset)
    if own is None:
        return []
    return [own, *(span for span in spans if span != own)]


def indented(text: str) -> Iterator[tuple[Span, str]]:
    """Yield the replacements of white space between tags that indent each element by a tab more than the one around it,
    as OpenVINO writes files. Elements that contain a text stay as they are, and so do comments.
    """
    depth = 0
    before: Event | None = None
    for event in events(text):
        kind, start = event[:2]
        if kind == "end":
            depth -= 1
        if before is not None:
            gap = Span(before[2], start - before[2])
            blank = not text[gap.start : gap.stop].strip()
            wanted = "\n" + "\t" * max(depth, 0)
            is_short = before[0] == "start" and kind == "end"
            if blank and not is_short and "comment" not in (kind, before[0]) and text[gap.start : gap.stop] != wanted:
                yield gap, wanted
        if kind == "start":
            depth += 1
        before = event
