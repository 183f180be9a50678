"""Start and end tags that do not match: which element was opened at which position and never closed."""

from __future__ import annotations

from typing import NamedTuple

from irexec.ir.xml.events import Span, events


class Unbalanced(NamedTuple):
    """The first tag that does not match, or the end of the text, and the position at which the element was opened."""

    message: str
    span: Span
    opened: tuple[str, Span] | None


def unbalanced(text: str) -> Unbalanced | None:
    """Return the first fault in the nesting of elements; None if every element is closed."""
    stack: list[tuple[str, Span]] = []
    for kind, start, stop, name in events(text):
        span = Span(start, stop - start)
        if kind == "start":
            stack.append((name, span))
        elif kind != "end":
            continue
        elif stack and stack[-1][0] == name:
            stack.pop()
        elif any(name == other for other, _ in stack):
            inner, opened = stack[-1]
            message = f"<{inner}> is not closed before </{name}>"
            return Unbalanced(message, span, (f"<{inner}> is opened here", opened))
        else:
            message = f"</{name}> does not match an open element"
            return Unbalanced(message, span, (f"<{stack[-1][0]}> is open here", stack[-1][1]) if stack else None)
    if not stack:
        return None
    name, opened = stack[-1]
    end = len(text.rstrip())
    return Unbalanced(
        f"<{name}> is not closed before the end of the text",
        Span(max(end - 1, 0), 1),
        (f"<{name}> is opened here", opened),
    )
