"""Texts from files inside Markdown, shown literally and never as markup."""

from __future__ import annotations

import re

from irexec.core.diagnostics.render.characters import visible_text

# Characters that begin markup within a line. An underscore within a word does not, and brackets only before certain
# characters.
_MARKUP = re.compile(r"[\\`*<|~]|&(?=#?\w+;)|(?<!\w)_|_(?!\w)|\](?=[(\[:])")


def prose(text: str) -> str:
    """Return a text as Markdown on one line, to be placed in a table cell or after the start of a line."""
    return _MARKUP.sub(r"\\\g<0>", _on_one_line(text))


def code(text: str) -> str:
    """Return a text on one line, as a code span."""
    ticks = "`" * (1 + _longest_ticks(text))
    blank = " " if "`" in text else ""
    return f"{ticks}{blank}{_on_one_line(text)}{blank}{ticks}"


def fenced(text: str) -> list[str]:
    """Return the lines of a fenced code block that shows a text."""
    fence = "`" * max(3, 1 + _longest_ticks(text))
    return [f"{fence}text", *map(visible_text, text.splitlines()), fence]


def _on_one_line(text: str) -> str:
    return visible_text(re.sub(r"\s+", lambda blanks: " " if "\n" in blanks[0] else blanks[0], text))


def _longest_ticks(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
