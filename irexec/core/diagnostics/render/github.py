"""The report as GitHub workflow commands, which a pull request shows as annotations beside the lines.

Form: https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from irexec.core.diagnostics.diagnostic import Diagnostic, Report, Severity
from irexec.core.diagnostics.render.characters import visible_text
from irexec.core.diagnostics.render.notes import notes

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def chunks(report: Report, *, color: bool = False) -> Iterator[str]:
    """Yield one line per finding; `color` is ignored."""
    for diagnostic in report:
        yield f"::{_COMMANDS[diagnostic.severity]} {_properties(diagnostic)}::{_message(diagnostic)}\n"
    for (severity, code), count in sorted(report.left_out.items()):
        yield f"::{_COMMANDS[severity]} title=irexec {code}::{count:,} more of {code}\n"


def _properties(diagnostic: Diagnostic) -> str:
    place = diagnostic.place
    file = None if place.file is None else PurePath(place.file).as_posix()
    values: dict[str, object] = {"file": file, "line": place.line, "col": place.column}
    if place.column is not None:
        values["endColumn"] = place.column + max(place.length, 1)
    values["title"] = f"irexec {diagnostic.code}"
    return ",".join(f"{name}={_property(str(value))}" for name, value in values.items() if value is not None)


def _message(diagnostic: Diagnostic) -> str:
    lines = [diagnostic.message, *(f"{label}: {text}" for label, text in notes(diagnostic))]
    return _data("\n".join(lines))


def _data(text: str) -> str:
    return "%0A".join(visible_text(line).replace("%", "%25").replace("##[", "#%23[") for line in text.split("\n"))


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
