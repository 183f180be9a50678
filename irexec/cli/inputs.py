"""What commands share about their arguments: files that can be read, the exit code of a report."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from fnmatch import fnmatch

from irexec.diagnostics import Place, Report
from irexec.diagnostics.codes import CODES, Area
from irexec.diagnostics.findings import Findings
from irexec.diagnostics.nearest import did_you_mean
from irexec.ir.files import named_files, open_regular

STDIN = "-"
"""The name of standard input where a file is asked for."""
_BEGINNING = 1 << 16


def refuse(code: str, message: str, *, place: Place | None = None, hint: str | None = None) -> Report:
    """A report with the one finding that the command line cannot be used."""
    findings = Findings()
    findings.add(code, message, place=place, hint=hint)
    return findings.report


def check_readable(path: str, *, stdin: bool = False) -> Report:
    """An empty report, or U001 when there is no file to read at `path`; with `stdin`, STDIN can be read."""
    if path == STDIN and not os.path.exists(path):
        wanted = "this command reads no standard input; run, validate and fix do"
        return Report() if stdin else refuse("U001", wanted, place=Place(file=path))
    try:
        with open_regular(path):
            return Report()
    except OSError as error:
        hint = None if os.path.lexists(path) else _similar(path)
        return refuse("U001", f"cannot read the file: {error.strerror or error}", place=Place(file=path), hint=hint)


def check_weights(path: str | None, files: Sequence[str]) -> Report:
    """An empty report, or why `--weights` cannot be used for the models."""
    if path is None:
        return Report()
    if len(files) > 1:
        return refuse("U003", f"--weights belongs to one model, but {len(files)} are given")
    return check_readable(path)


def no_models(folder: str) -> Report:
    """U001: nothing that could be looked at."""
    return refuse("U001", "there are no models below the folder", place=Place(file=folder))


def find_files(
    paths: Sequence[str],
    exclude: Sequence[str] = (),
    base: str = ".",
    *,
    suffixes: tuple[str, ...] = (".xml",),
    all_named: bool = True,
) -> list[str]:
    """The files that are meant: of a folder every .onnx below it, and every .xml that holds a model or layers.

    Of those in folders none that a pattern of `exclude` fits: patterns are of paths relative to `base`, or of names.
    Without `all_named` a named .xml must hold a model or layers, too.
    """
    found: list[str] = []
    for path in paths:
        if path != STDIN and os.path.isdir(path):
            found += [e for e in named_files([path], suffixes) if not _is_excluded(e, exclude, base) and holds_ir(e)]
        elif all_named or holds_ir(path):
            found.append(path)
    return found


def holds_ir(path: str) -> bool:
    """True for a file with a model or loose layers in it, as far as its beginning tells, and for all that is no XML."""
    if not path.lower().endswith(".xml"):
        return True
    try:
        with open_regular(path) as stream:
            head = stream.read(_BEGINNING)
    except OSError:
        return True  # It is said later why it cannot be read.
    text = head.replace(b"\0", b"").lower()  # In UTF-16 every other byte of these is 0.
    return b"<net" in text or b"<layer" in text


def _is_excluded(path: str, patterns: Sequence[str], base: str) -> bool:
    relative = os.path.relpath(path, base).replace(os.sep, "/")
    return any(fnmatch(relative, pattern) or fnmatch(os.path.basename(path), pattern) for pattern in patterns)


def exit_code(report: Report) -> int:
    """0 when there is no error, 2 when the command line or what is installed could not be used, else 1."""
    if any(CODES[finding.code].area is Area.USAGE or finding.code == "F001" for finding in report.errors):
        return 2
    return 0 if report.ok else 1


def _similar(path: str) -> str | None:
    """The name beside `path` that it may have meant."""
    from pathlib import Path

    wanted = Path(path)
    try:
        names = [entry.name for entry in wanted.parent.iterdir() if entry.is_file()]
    except (OSError, ValueError):
        return None
    beside = [name for name in names if name != wanted.name]
    return did_you_mean(wanted.name, beside, 1, form=lambda name: str(wanted.parent / name))


def add_format_argument(parser: argparse._ActionsContainer, json: str) -> None:
    """`--format text|json`, and the older spelling `--json`."""
    parser.add_argument("--format", choices=("text", "json"), default="text", help=f"{json} (default: text)")
    parser.add_argument("--json", dest="format", action="store_const", const="json", help=argparse.SUPPRESS)


def read_stdin() -> bytes:
    """All of standard input."""
    return sys.stdin.buffer.read()
