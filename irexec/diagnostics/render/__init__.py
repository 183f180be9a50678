"""Showing a report: as text with carets, JSON, SARIF or GitHub annotations, to a string or to a stream."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from typing import IO, Literal, get_args

from irexec.diagnostics.diagnostic import Report

Format = Literal["text", "json", "sarif", "github"]
FORMATS: tuple[Format, ...] = get_args(Format)


def render(report: Report, format: Format = "text", *, color: bool | None = None) -> str:
    """The report in one of FORMATS, ending in a newline; the same report always gives the same string.

    `color` concerns "text" only; None means no colour, because a string is not a terminal.
    Raises ValueError for an unknown format.
    """
    return "".join(_chunks(report, format, bool(color)))


def write(report: Report, file: IO[str], format: Format = "text", *, color: bool | None = None) -> None:
    """Write the report to `file`, finding by finding.

    `color` None means: when `file` is a terminal and the environment does not set NO_COLOR.
    Raises ValueError for an unknown format.
    """
    file.writelines(_chunks(report, format, wants_color(file) if color is None else color))


def wants_color(file: IO[str]) -> bool:
    """Whether output to `file` should be coloured (https://no-color.org)."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and file.isatty()


def _chunks(report: Report, format: Format, color: bool) -> Iterator[str]:
    if format not in FORMATS:
        raise ValueError(f"unknown format {format!r}, expected one of {', '.join(FORMATS)}")
    chunks: Iterator[str] = importlib.import_module(f"{__name__}.{format}").chunks(report, color=color)
    return chunks
