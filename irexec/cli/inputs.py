"""What commands share about their arguments: files that can be read, the exit code of a report."""

from __future__ import annotations

from pathlib import Path

from irexec.diagnostics import Place, Report
from irexec.diagnostics.codes import CODES, Area
from irexec.diagnostics.findings import Findings
from irexec.diagnostics.nearest import did_you_mean
from irexec.ir.files import open_regular


def refuse(code: str, message: str, *, place: Place | None = None, hint: str | None = None) -> Report:
    """A report with the one finding that the command line cannot be used."""
    findings = Findings()
    findings.add(code, message, place=place, hint=hint)
    return findings.report


def check_readable(path: str) -> Report:
    """An empty report, or U001 when there is no file to read at `path`."""
    try:
        with open_regular(path):
            return Report()
    except OSError as error:
        return refuse(
            "U001", f"cannot read the file: {error.strerror or error}", place=Place(file=path), hint=_similar(path)
        )


def exit_code(report: Report) -> int:
    """0 when there is no error, 2 when the command line itself could not be used, else 1."""
    if any(CODES[finding.code].area is Area.USAGE for finding in report.errors):
        return 2
    return 0 if report.ok else 1


def _similar(path: str) -> str | None:
    """The name beside `path` that it may have meant."""
    wanted = Path(path)
    try:
        names = [entry.name for entry in wanted.parent.iterdir() if entry.is_file()]
    except (OSError, ValueError):
        return None
    beside = [name for name in names if name != wanted.name]
    return did_you_mean(wanted.name, beside, 1, form=lambda name: str(wanted.parent / name))
