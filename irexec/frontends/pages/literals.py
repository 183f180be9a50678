"""Literals as pages print them: lists with remarks between the rows, NumPy's arrays without commas; never evaluated."""

from __future__ import annotations

import re
from dataclasses import dataclass

from irexec.frontends.pages.listed import MAX_DEPTH, MAX_DIGITS, ListedValue
from irexec.ir.xml.events import Span

_NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_ITEM = re.compile(
    rf"(?P<special>[-+]?(?:np\.)?(?:nan|inf(?:inity)?))(?!\w)"
    rf"|(?P<number>{_NUMBER})(?:[fF](?!\w))?(?![\w.])"
    r"|(?P<bool>true|false)(?!\w)"
    r"|(?P<quote>[\"'])(?P<string>[^\"'\n]*)(?P=quote)",
    re.IGNORECASE,
)
_GAP = re.compile(r"(?:\s|\\$|<-+[^\n]*|\#[^\n]*|//[^\n]*)*+", re.MULTILINE)
# Inside a comment of a program, every line begins with the mark of the comment.
_COMMENTED_GAP = re.compile(r"(?:\s|^[ \t]*(?:\#|//))*+", re.MULTILINE)
_OPEN, _CLOSE = "[({", "])}"


@dataclass(frozen=True, slots=True)
class Literal:
    """A value and its place; `leaves` are the places of its items, in order."""

    value: ListedValue
    span: Span
    leaves: tuple[Span, ...]

    @property
    def end(self) -> int:
        return self.span.start + self.span.length


def read_literal(text: str, start: int, *, commented: bool = False) -> Literal | None:
    """Return the literal at `start`; None for any other text, such as a formula, an ellipsis or a name.

    `commented`: the literal is in a comment of a program, whose markers are skipped.
    """
    gap = _COMMENTED_GAP if commented else _GAP
    if text[start : start + 1] not in _OPEN or start >= len(text):
        match = _ITEM.match(text, start)
        if match is None:
            return None
        value = _item(match)
        span = Span(start, match.end() - start)
        return None if value is None else Literal(value, span, (span,))
    stack: list[list[ListedValue]] = [[]]
    leaves: list[Span] = []
    position = start
    while True:
        position = gap.match(text, position).end()  # type: ignore[union-attr]
        character = text[position : position + 1]
        if character and character in _OPEN:
            if len(stack) > MAX_DEPTH:
                return None
            inner: list[ListedValue] = []
            stack[-1].append(inner)
            stack.append(inner)
            position += 1
        elif character and character in _CLOSE:
            stack.pop()
            position += 1
            if len(stack) == 1:
                return Literal(stack[0][0], Span(start, position - start), tuple(leaves))
        elif character == ",":
            position += 1
        else:
            match = _ITEM.match(text, position)
            value = _item(match) if match is not None else None
            if match is None or value is None:
                return None
            stack[-1].append(value)
            leaves.append(Span(position, match.end() - position))
            position = match.end()


def _item(match: re.Match[str]) -> ListedValue | None:
    if match["special"] is not None:
        return float(match["special"].lower().replace("np.", ""))
    if match["number"] is not None:
        digits = match["number"]
        whole = digits.lstrip("+-").isdigit() and match[0] == digits
        if not whole:
            return float(digits)
        return int(digits) if len(digits) <= MAX_DIGITS else None
    if match["bool"] is not None:
        return match["bool"].lower() == "true"
    return match["string"]
