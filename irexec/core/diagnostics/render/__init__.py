"""Showing a report: as text with carets, as lines, JSON, SARIF or GitHub annotations, to a string or to a stream."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from typing import IO, Any, Literal, get_args

from irexec.core.diagnostics.diagnostic import Report
from irexec.core.diagnostics.render.characters import inert, inert_json

Format = Literal["text", "concise", "json", "sarif", "github"]
_INERT = {"text": inert, "concise": inert, "json": inert_json, "sarif": inert_json}
FORMATS: tuple[Format, ...] = get_args(Format)


def render(report: Report, format: Format = "text", *, color: bool | None = None) -> str:
    """Return the report in one of FORMATS, ending in a newline; the same report always gives the same string.

    `color` concerns "text" only; None means no colour, because a string is not a terminal.
    Raises ValueError for an unknown format.
    """
    return "".join(_chunks(report, format, color=bool(color)))


def write(
    report: Report,
    file: IO[str],
    format: Format = "text",
    *,
    color: bool | None = None,
    summary: bool = True,
    whole: Report | None = None,
) -> None:
    """Write the report to `file`, finding by finding.

    With `color` None, `wants_color` decides. Without `summary`, a text contains only the findings; on a terminal
    source lines are cut to its width. `whole`: the findings that the summary counts, if `report` contains only those to
    show. Raises ValueError for an unknown format.
    """
    details: dict[str, Any] = {}
    if format == "text":
        details = {"summary": summary, "width": _width() if file.isatty() else None, "whole": whole}
    file.writelines(_chunks(report, format, color=wants_color(file) if color is None else color, **details))


def _width() -> int:
    import shutil

    return shutil.get_terminal_size().columns


def wants_color(file: IO[str]) -> bool:
    """Return whether output to `file` should be coloured: True for a terminal, unless NO_COLOR (https://no-color.org)
    is set.

    FORCE_COLOR (https://force-color.org) also colours files.
    """
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (os.environ.get("TERM") != "dumb" and file.isatty())


def _chunks(report: Report, format: Format, **details: Any) -> Iterator[str]:
    if format not in FORMATS:
        raise ValueError(f"unknown format {format!r}, expected one of {', '.join(FORMATS)}")
    chunks: Iterator[str] = importlib.import_module(f"{__name__}.{format}").chunks(report, **details)
    made = _INERT.get(format)
    return chunks if made is None else map(made, chunks)
