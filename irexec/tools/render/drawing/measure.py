"""Texts in a drawing: their width, and the shortening of long texts."""

from __future__ import annotations

from irexec.core.diagnostics.render.characters import visible_text, width

# The mean width of a character, in units of the drawing, for the fonts of style.css.
TITLE, SMALL = 7.0, 5.7
_LONGEST = 30


def shortened(text: str, longest: int = _LONGEST) -> str:
    """Return the text without control characters. A long text is cut to its end, the more specific part of a path."""
    seen = visible_text(text)
    return seen if len(seen) <= longest else "…" + seen[len(seen) - longest + 1 :]


def text_width(text: str, character: float) -> float:
    """Return the approximate width of a text."""
    return width(text) * character
