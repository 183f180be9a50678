"""What commands share about their arguments: files that can be read, extensions to load, the exit code of a report."""

from __future__ import annotations

import importlib.util
import linecache
import os
import sys
import traceback
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


def load_extension(path: str) -> Report:
    """Execute a Python file that declares operators; an empty report, or U001 or U002 when that fails."""
    if not (report := check_readable(path)).ok:
        return report
    spec = importlib.util.spec_from_file_location(f"irexec_extension_{Path(path).stem}", path)
    if spec is None or spec.loader is None:
        return refuse("U002", "an extension is a Python file (.py)", place=Place(file=path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        return refuse("U002", f"{type(error).__name__}: {error}", place=_place_of(error, path))
    return Report()


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


def _place_of(error: BaseException, path: str) -> Place:
    """The last line of the file at `path` that took part in the error."""
    full = os.path.abspath(path)
    if isinstance(error, SyntaxError) and error.filename == full:
        lines, columns = [error.lineno], error.offset
    else:
        lines, columns = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == full], None
    if not lines or not lines[-1]:
        return Place(path)
    text = linecache.getline(full, lines[-1]).rstrip("\n")
    start = columns - 1 if columns else len(text) - len(text.lstrip())
    return Place(path, lines[-1], start + 1, 1 if columns else len(text) - start, text)
