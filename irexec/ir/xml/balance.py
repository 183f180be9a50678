"""Start and end tags that do not match: which element was opened where and never closed."""

from __future__ import annotations

from typing import NamedTuple

from irexec.ir.xml.positions import Positions, Span


class Unbalanced(NamedTuple):
    """The first tag that does not fit, or the end of the text, and where the element in question was opened."""

    message: str
    span: Span
    opened: tuple[str, Span] | None


def unbalanced(positions: Positions) -> Unbalanced | None:
    """The first fault of the nesting of elements; None where every element is closed."""
    stack: list[tuple[str, Span]] = []
    for kind, name, span in positions.tags():
        if kind == "open":
            stack.append((name, span))
        elif stack and stack[-1][0] == name:
            stack.pop()
        elif any(name == other for other, _ in stack):
            inner, opened = stack[-1]
            message = f"<{inner}> is never closed: </{name}> comes first"
            return Unbalanced(message, span, (f"<{inner}> is opened here", opened))
        else:
            message = f"</{name}> closes nothing"
            return Unbalanced(message, span, (f"<{stack[-1][0]}> is open here", stack[-1][1]) if stack else None)
    if not stack:
        return None
    name, opened = stack[-1]
    end = len(positions.text.rstrip())
    return Unbalanced(
        f"<{name}> is never closed: the text ends", Span(max(end - 1, 0), 1), (f"<{name}> is opened here", opened)
    )
