"""Texts as a drawing shows them: how wide they are, and what of a long one is left."""

from __future__ import annotations

from irexec.diagnostics.render.characters import visible_text, width

# The mean width of a character, in units of the drawing, for the fonts of style.css.
TITLE, SMALL = 7.0, 5.7
_LONGEST = 30


def shortened(text: str, longest: int = _LONGEST) -> str:
    """The text with nothing in it that acts on what shows it; of a long one the end, which tells more of a path."""
    seen = visible_text(text)
    return seen if len(seen) <= longest else "…" + seen[len(seen) - longest + 1 :]


def text_width(text: str, character: float) -> float:
    """About how wide a text is."""
    return width(text) * character
