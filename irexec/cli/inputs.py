"""What commands share about their arguments: files that can be read, extensions to load, the exit code of a report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from irexec.diagnostics import Place, Report
from irexec.diagnostics.findings import Findings


def refuse(code: str, message: str, *, place: Place | None = None, hint: str | None = None) -> Report:
    """A report with the one finding that the command line cannot be used."""
    findings = Findings()
    findings.add(code, message, place=place, hint=hint)
    return findings.report


def check_readable(path: str) -> Report:
    """An empty report, or U001 when there is no file to read at `path`."""
    try:
        with open(path, "rb"):
            return Report()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return refuse("U001", f"cannot read the file: {reason}", place=Place(file=path), hint=_similar(path))


def load_extensions(paths: Sequence[str]) -> Report:
    """Execute the Python files given with --extension; the findings of those that cannot be."""
    if not paths:
        return Report()
    from irexec.cli.extension import load_extension

    return Report([finding for path in paths for finding in load_extension(path)])


def exit_code(report: Report) -> int:
    """0 when there is no error, 2 when the command line itself could not be used, else 1."""
    if any(finding.code.startswith("U") for finding in report.errors):
        return 2
    return 0 if report.ok else 1


def _similar(path: str) -> str | None:
    """The name beside `path` that it may have meant."""
    import difflib

    wanted = Path(path)
    try:
        names = [entry.name for entry in wanted.parent.iterdir() if entry.is_file()]
    except (OSError, ValueError):
        return None
    near = difflib.get_close_matches(wanted.name, names, n=1)
    return f"did you mean {wanted.parent / near[0]}?" if near and near[0] != wanted.name else None
