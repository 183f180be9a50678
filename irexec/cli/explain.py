"""`irexec explain`: the page of a diagnostic code, or the list of all codes."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from irexec.cli.streams import complain, print_line, put
from irexec.core.diagnostics.codes import CODES
from irexec.core.diagnostics.nearest import common_start, suggestion
from irexec.core.diagnostics.render import wants_color

_PACKAGE = Path(__file__).resolve().parent.parent
_FOLDERS = (_PACKAGE / "_codes", _PACKAGE.parent / "docs" / "codes")
"""The folders of the pages: in an installed irexec, and in a checkout."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "codes", nargs="*", metavar="CODE", help="a diagnostic code, e.g. P005 (default: list all codes)"
    )


def run(args: argparse.Namespace) -> int:
    if not args.codes:
        for entry in CODES.values():
            print_line(f"{entry.code}  {entry.severity:<7}  {entry.title}")
        return 0
    return max([_explain(code.upper()) for code in args.codes])


def page(code: str) -> str:
    """Return the Markdown page of an existing code; only the title if the page is missing."""
    for folder in _FOLDERS:
        path = folder / f"{code}.md"
        if path.is_file():
            return path.read_text(encoding="utf-8")
    return f"# {code}: {CODES[code].title}\n"


def _is_one_edit(code: str, known: str) -> bool:
    """Return whether two codes differ by one character that is replaced, missing or added."""
    start = common_start(code, known)
    end = common_start(code[start:][::-1], known[start:][::-1])
    return start + end >= max(len(code), len(known)) - 1


def _explain(code: str) -> int:
    if code not in CODES:
        near = [known for known in CODES if _is_one_edit(code, known)]
        advice = suggestion(near[:3]) or "`irexec explain` lists all codes"
        complain(f"irexec explain: unknown code {code!r}: {advice}")
        return 2
    if wants_color(sys.stdout):
        from irexec.tools.render.explanation import show_page

        show_page(page(code), sys.stdout)
    else:
        put(f"{page(code)}\n")
    return 0
