"""The element, attribute and value at a position in a text, also while the text is being typed.

The text need not be well-formed: only the tag at the position and the layer above it are examined.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from irexec.ir.xml.events import Span, attribute_texts

_NAME = re.compile(r"<([^\s/>!?<]+)")
_ATTRIBUTE = re.compile(
    r"""(?<![^\s=/>"'<])([^\s=/>"'<]++)\s*+=\s*+(?:"([^"<\n]*+)(?:"|(?=[<\n])|\Z)|'([^'<\n]*+)(?:'|(?=[<\n])|\Z))"""
)
_LONGEST_TAG = 10_000


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place inside a start tag.

    `element` is the tag's name; `attribute` the attribute whose value, or name (`in_name`), contains the place; `span`
    the range of this value (without quotes) or name. `others` are all attributes of the tag, `layer` the attributes of
    the layer that the tag belongs to. `has_value`: the name is followed by `=`.
    """

    element: str
    attribute: str | None
    span: Span
    in_name: bool
    others: dict[str, str] = field(default_factory=dict)
    layer: dict[str, str] = field(default_factory=dict)
    has_value: bool = False


def cursor_at(text: str, offset: int) -> Cursor | None:
    """Return the place in the tag around an offset; None between tags and in comments."""
    start = text.rfind("<", max(0, offset - _LONGEST_TAG), offset)
    name = None if start < 0 else _NAME.match(text, start)
    if name is None or offset < start:
        return None
    stop = _tag_end(text, start)
    if offset >= stop and text[stop - 1 : stop] == ">":
        return None
    if text.rfind("<!--", 0, start) > text.rfind("-->", 0, start):
        return None
    written = list(_ATTRIBUTE.finditer(text, name.end(), max(stop, offset)))
    others = {match[1]: _value(match) for match in written}
    layer = others if name[1] == "layer" else _layer_above(text, start)
    if offset <= name.end():
        return Cursor(name[1], None, Span(start + 1, len(name[1])), True, others, layer)
    for match in written:
        value = Span(match.start(2 if match[2] is not None else 3), len(_value(match)))
        if value.start <= offset <= value.stop:
            return Cursor(name[1], match[1], value, False, others, layer)
        if match.start() <= offset <= match.end(1):
            return Cursor(name[1], match[1], Span(match.start(), len(match[1])), True, others, layer, True)
    before = re.search(r"[^\s=/>\"'<]*\Z", text[start:offset])
    typed = before[0] if before else ""
    return Cursor(name[1], typed or None, Span(offset - len(typed), len(typed)), True, others, layer)


def _value(match: re.Match[str]) -> str:
    return match[2] if match[2] is not None else match[3]


def _tag_end(text: str, start: int) -> int:
    """Return the offset after the `>` of a tag; if the tag is unfinished, the offset of the next tag."""
    quote = ""
    for match in re.compile(r"""["'<>]""").finditer(text, start + 1, start + _LONGEST_TAG):
        sign = match[0]
        if sign == "<":
            return match.start()
        if quote:
            quote = "" if sign == quote else quote
        elif sign == ">":
            return match.end()
        else:
            quote = sign
    return min(len(text), start + _LONGEST_TAG)


def _layer_above(text: str, start: int) -> dict[str, str]:
    """Return the attributes of the layer that is open at an offset: its start tag is the last one before the offset."""
    opened = start
    while (opened := text.rfind("<layer", 0, opened)) >= 0:
        if (name := _NAME.match(text, opened)) is not None and name[1] == "layer":
            stop = _tag_end(text, opened)
            is_open = text[stop - 2 : stop] != "/>" and text.rfind("</layer", stop, start) < 0
            return dict(attribute_texts(text, opened, stop)) if is_open else {}
    return {}
