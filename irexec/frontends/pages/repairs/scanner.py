"""Splitting a printed example into tags, comments and text; no text is rejected."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from irexec.frontends.pages.repairs.changes import without
from irexec.frontends.pages.repairs.grammar import NAMES
from irexec.frontends.pages.repairs.parts import Attribute, Change, PrintedComment, Repair, Text
from irexec.ir.xml.elements import dereferenced
from irexec.ir.xml.events import Span

ELLIPSIS = re.compile(r"\.{2,}|…")

# Dots attached to a name are an ellipsis, not part of the name.
_NAME = r"[A-Za-z_](?:[\w-]|\.(?!\.))*+"
_MARKUP = re.compile(
    rf"""<(?P<comment>\s*+!\s*+--?)
        |<(?P<cdata>!\[CDATA\[)
        |<(?P<instruction>\?)
        |<(?P<declaration>\s*+!)
        |<\s*+(?P<close>/?)\s*+(?P<name>{_NAME}|\.{{2,}}|…|(?<=/)(?=\s*>))""",
    re.VERBOSE,
)
# A tag of the grammar without its `<`: `5/dim>`, `port id="0">`.
_WITHOUT_BRACKET = re.compile(
    rf"(?:(?<=[\s\d>])|^)(?P<close>/?)(?P<name>{'|'.join(sorted(NAMES, key=len, reverse=True))})"
    r"(?P<rest>(?:\s+[\w-]+\s*=\s*\"[^\"<>]*\")*\s*/?)>"
)
_COMMENT_END = {"--": re.compile(r"--\s*>"), "-": re.compile(r"-\s*>")}
_BLANKS = re.compile(r"\s+")
_SLASH_END = re.compile(r"/\s*>")
_ATTRIBUTE_NAME = re.compile(_NAME)
_ASSIGNED = re.compile(r"\s*:?=\s*|\s+(?=\"[^\"=<>]*\")")
_QUOTES = {'"': '"', "'": "'", "“": "”", "”": "”", "„": "“", "‘": "’", "’": "’"}
_BARE_VALUE = re.compile(r"[^\s\"'<>,/=]+(?:/(?!>)[^\s\"'<>,/=]+)*")
# A value that contains the next attribute because its closing quote is missing.
_NEXT_ATTRIBUTE = re.compile(r"\s[\w.:-]+\s*=\s*$")


@dataclass(slots=True)
class Tag:
    """A start or end tag; `name` is an ellipsis or "" if no name is written."""

    name: str
    span: Span
    closing: bool = False
    empty: bool = False
    attributes: dict[str, Attribute] = field(default_factory=dict)


class Scanner:
    """Divides a text into tags, comments and text, and records the repairs.

    `unsafe` is the location of a document type declaration or a similar construct, where reading stops.
    """

    def __init__(self, text: str, repairs: list[Repair]) -> None:
        self.text = text
        self.repairs = repairs
        self.unsafe: Span | None = None
        self.cut_off = False
        self._endless: set[str] = set()

    def tokens(self) -> Iterator[Tag | PrintedComment | Text]:
        position = 0
        while position < len(self.text) and self.unsafe is None:
            match = _MARKUP.search(self.text, position)
            start = match.start() if match else len(self.text)
            if start > position:
                yield from self._characters(position, start)
            if match is None:
                return
            token, position = self._markup(match)
            if token is not None:
                yield token

    def attributes_of_text(self, span: Span) -> dict[str, Attribute]:
        """Return the attributes that are written as text, as in `<data>axis="1"</data>`."""
        inner = Scanner(self.text[: span.start + span.length], self.repairs)
        tag = Tag("data", span)
        inner._attributes(tag, span.start)
        return tag.attributes

    # Markup

    def _markup(self, match: re.Match[str]) -> tuple[Tag | PrintedComment | Text | None, int]:
        start = match.start()
        if match["comment"] is not None:
            return self._comment(match)
        if match["cdata"] is not None:
            end = self.text.find("]]>", start)
            end = len(self.text) if end < 0 else end
            return Text(self.text[match.end() : end], match.end()), min(end + 3, len(self.text))
        if match["instruction"] is not None:
            return None, self._instruction(start)
        if match["declaration"] is not None:
            self.unsafe = Span(start, match.end() - start)
            return None, len(self.text)
        tag = Tag(match["name"], Span(start, 0), closing=match["close"] == "/")
        end = self._attributes(tag, match.end())
        tag.span = Span(start, end - start)
        return tag, end

    def _comment(self, match: re.Match[str]) -> tuple[PrintedComment, int]:
        start = match.start()
        end = self._find("--" if match[0].endswith("--") else "-", match.end())
        if match[0] != "<!--":
            ending = [Change(Span(end.start(), len(end[0])), "-->")] if end is not None and end[0] != "-->" else []
            changes = [Change(Span(start, len(match[0])), "<!--"), *ending]
            self._repair("Q011", "a comment must start with '<!--'", start, len(match[0]), "write '<!--'", *changes)
        if end is None:
            line_end = self.text.find("\n", start)
            stop = len(self.text) if line_end < 0 else line_end
            self._repair("Q011", "the comment has no end", start, stop - start)
            return PrintedComment(self.text[match.end() : stop], Span(start, stop - start)), stop
        return PrintedComment(self.text[match.end() : end.start()], Span(start, end.end() - start)), end.end()

    def _find(self, mark: str, position: int) -> re.Match[str] | None:
        """Search for the end of a comment. A failed search is remembered, so that it is not repeated."""
        if mark in self._endless:
            return None
        found = _COMMENT_END[mark].search(self.text, position)
        if found is None:
            self._endless.add(mark)
        return found

    def _instruction(self, start: int) -> int:
        end = self.text.find("?>", start)
        bracket = self.text.find(">", start)
        if end >= 0 and end < bracket:
            return end + 2
        stop = bracket + 1 if bracket >= 0 else len(self.text)
        self._repair("Q012", "the XML declaration must end with '?>'", start, stop - start)
        return stop

    # Attributes

    def _attributes(self, tag: Tag, position: int) -> int:
        """Read up to the `>` of a tag and return the offset after it. A tag does not continue after an empty line."""
        text, end = self.text, len(self.text)
        while position < end:
            blanks = _BLANKS.match(text, position)
            start, position = position, blanks.end() if blanks else position
            character = text[position : position + 1]
            if character == "<" or text.count("\n", start, position) > 1:
                length = start - tag.span.start
                what = f"'>' of the tag <{tag.name}> is missing"
                self._repair("Q007", what, tag.span.start, length, "add the '>'", Change(Span(start, 0), ">"))
                return start
            if character == ">":
                return position + 1
            if (close := _SLASH_END.match(text, position)) is not None:
                tag.empty = not tag.closing
                return close.end()
            if (dots := ELLIPSIS.match(text, position)) is not None:
                self._repair("Q001", "an ellipsis stands for omitted attributes", position, len(dots[0]))
                position = dots.end()
            elif (name := _ATTRIBUTE_NAME.match(text, position)) is not None:
                position = self._attribute(tag, name)
            elif character:
                what = "','" if character == "," else repr(character)
                message, change = f"{what} is not allowed between attributes", without(text, Span(position, 1))
                self._repair("Q009", message, position, 1, f"remove {what}", change)
                position += 1
        self.cut_off = True
        return end

    def _attribute(self, tag: Tag, name: re.Match[str]) -> int:
        key, position = name[0], name.end()
        assigned = _ASSIGNED.match(self.text, position)
        if assigned is None:
            self._repair("Q009", f"{key!r} has no value", name.start(), len(key))
            return position
        if "=" not in assigned[0]:
            change = Change(Span(position, len(assigned[0])), "=")
            self._repair("Q010", f"'=' is missing after {key!r}", name.start(), len(key), "add the '='", change)
        value, span, end = self._value(key, assigned.end())
        if key in tag.attributes:
            self._repair("Q027", f"attribute {key!r} is repeated; the first is used", span.start, span.length)
        else:
            tag.attributes[key] = Attribute(key, dereferenced(value), span, Span(name.start(), len(key)))
        return end

    def _value(self, key: str, start: int) -> tuple[str, Span, int]:
        text = self.text
        opening = text[start : start + 1]
        if opening not in _QUOTES or not opening:
            bare = _BARE_VALUE.match(text, start)
            value = bare[0] if bare else ""
            change = Change(Span(start, len(value)), f'"{value}"')
            self._repair("Q010", f"the value of {key!r} is not quoted", start, len(value), "add the quotes", change)
            return value, Span(start, len(value)), start + len(value)
        stop = re.compile(f"[{_QUOTES[opening]}<]" if opening in "\"'" else '["”“’<]').search(text, start + 1)
        end = stop.start() if stop else len(text)
        value = text[start + 1 : end]
        swallowed = _NEXT_ATTRIBUTE.search(value) if stop and text[end + 1 : end + 2].strip(" \t\r\n/>") else None
        if stop is None or stop[0] == "<" or swallowed:
            whole = re.compile(r"[^\s\"'<>/]*").match(text, start + 1)
            value = whole[0] if whole else ""
            begin, ending = Change(Span(start, 1), '"'), Change(Span(start + 1 + len(value), 0), '"')
            message, length = f"the closing quote of {key!r} is missing", len(value) + 1
            self._repair("Q010", message, start, length, "add the quote", *([begin] if opening != '"' else []), ending)
            return value, Span(start + 1, len(value)), start + 1 + len(value)
        if opening not in "\"'":
            message, quotes = f"the value of {key!r} is in typographic quotes", (Span(start, 1), Span(end, 1))
            self._repair("Q010", message, start, 1, 'write "', *(Change(quote, '"') for quote in quotes))
        return value, Span(start + 1, len(value)), end + 1

    # Text

    def _characters(self, start: int, end: int) -> Iterator[Tag | Text]:
        """Yield text between tags, which may contain a tag whose `<` is missing."""
        if (doubled := re.compile(r"\s*(>+)").match(self.text, start, end)) is not None and start > 0:
            span = Span(doubled.start(1), len(doubled[1]))
            self._repair("Q013", "'>' is repeated", *span, "remove the second '>'", Change(span, ""))
            start = doubled.end()
        while (lost := _WITHOUT_BRACKET.search(self.text, start, end)) is not None:
            message, change = (
                f"'<' of the tag <{lost['close']}{lost['name']}> is missing",
                Change(Span(lost.start(), 0), "<"),
            )
            self._repair("Q007", message, lost.start(), len(lost[0]), "add the '<'", change)
            if lost.start() > start:
                yield Text(dereferenced(self.text[start : lost.start()]), start)
            tag = Tag(lost["name"], Span(lost.start(), len(lost[0])), closing=bool(lost["close"]))
            self._attributes(tag, lost.end("name"))
            yield tag
            start = lost.end()
        if end > start:
            yield Text(dereferenced(self.text[start:end]), start)

    def _repair(self, code: str, message: str, start: int, length: int, title: str = "", *changes: Change) -> None:
        span = Span(start, max(length, 1))
        self.repairs.append(Repair(code, message, span, change_title=title, changes=changes))
