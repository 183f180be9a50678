"""The appearance of characters on a terminal: their visible form, and the number of cells that it takes."""

from __future__ import annotations

import re
import unicodedata

TAB = "    "

# Control, format (zero width, right-to-left overrides), surrogate, line and paragraph separator: shown as an escape,
# because a terminal would act on them and the text would no longer look like the contents of the file.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def visible(char: str) -> str:
    """Return the text to print for one character: itself, spaces for a tab, or an escape such as \\x1b."""
    if " " <= char <= "~":
        return char
    if char == "\t":
        return TAB
    if unicodedata.category(char) in _HIDDEN:
        return ascii(char)[1:-1]
    return char


def cells(char: str) -> int:
    """Return how many terminal cells `visible(char)` takes: 0 for a combining mark, 2 for a wide character."""
    shown = visible(char)
    if len(shown) > 1 or char.isascii():
        return len(shown)
    if unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def visible_text(text: str) -> str:
    """Return `text` on one line, without characters that a terminal or a log would act on."""
    return text if _plain(text) else "".join(map(visible, text))


# Colours; a character that is not plain; and what the log of a GitHub action takes for a command: two colons at the
# start of a line (three and a blank are not: findings mark related places so), and two number signs before a bracket.
_ACTING = re.compile(r"(\x1b\[[0-9;]*m)|([^\t\n -~])|^([ \t]*):(?=:(?!: ))|#(?=#\[)", re.MULTILINE)


def inert(text: str) -> str:
    """Return a text of several lines as it is printed: with its colours, and with escapes in place of everything else
    on which a terminal, or the reader of a log, would act.
    """

    def escaped(found: re.Match[str]) -> str:
        colour, char, blanks = found.groups()
        if colour or char:
            return colour or visible(char)
        return "\\x23" if blanks is None else f"{blanks}\\x3a"

    return _ACTING.sub(escaped, text)


def inert_json(text: str) -> str:
    """Return a text in JSON, as `inert` does: what would be a command is inside a string, and has an escape there."""
    return text.replace("##[", "#\\u0023[")


def width(text: str) -> int:
    """Return how many terminal cells `visible_text(text)` takes."""
    return len(text) if _plain(text) else sum(map(cells, text))


def _plain(text: str) -> bool:
    """Return whether every character is shown as itself, in one cell."""
    return text.isascii() and text.isprintable()
