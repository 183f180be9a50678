"""The page of a diagnostic code on a terminal: its Markdown, and the changes in the repaired example."""

from __future__ import annotations

import re
import shutil
from difflib import unified_diff
from typing import IO

from rich.console import Console, RenderableType
from rich.markdown import Markdown
from rich.syntax import Syntax

_BLOCK = re.compile(r"^```(\w++)([^\n]*+)\n((?:(?!```)[^\n]*+\n)*+)```$\n?", re.MULTILINE)
_STYLE = "ansi_dark"
_CONTEXT = 3


def show_page(page: str, stream: IO[str]) -> None:
    """Write a page; the repaired example is shown as a difference from the example that fails."""
    console = Console(file=stream, force_terminal=True, width=min(shutil.get_terminal_size().columns, 120))
    for part in _parts(page):
        console.print(part)


def _parts(page: str) -> list[RenderableType]:
    """Return the text between the examples, and the examples."""
    parts: list[RenderableType] = []
    failing: dict[str, str] = {}
    done = 0
    for block in _BLOCK.finditer(page):
        language, words, text = block[1], block[2].split(), block[3]
        parts += [Markdown(page[done : block.start()])]
        done = block.end()
        if "fixed" in words and language in failing:
            parts.append(_colored(_difference(failing[language], text), "diff"))
        else:
            failing.setdefault(language, text)
            parts.append(_colored(text, language))
    return [*parts, Markdown(page[done:])]


def _difference(failing: str, repaired: str) -> str:
    lines = unified_diff(failing.splitlines(), repaired.splitlines(), n=_CONTEXT, lineterm="")
    return "\n".join(list(lines)[2:])


def _colored(text: str, language: str) -> Syntax:
    return Syntax(text.rstrip("\n"), language, theme=_STYLE, background_color="default", word_wrap=True)
