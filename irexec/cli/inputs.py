"""Input files of commands and the exit code of a report, shared by all commands."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from irexec.cli.streams import is_of_output
from irexec.core.diagnostics import IRError, Place, Refusal, Report
from irexec.core.diagnostics.codes import CODES, Area
from irexec.core.diagnostics.findings import Findings
from irexec.ir.io.files import check_regular, named_files, open_regular, unreadable
from irexec.ir.io.guard import reads
from irexec.tools.settings import is_excluded

STDIN = "-"
"""The name of standard input as a file argument."""
_BEGINNING = 1 << 16


def refuse(code: str, message: str, *, place: Place | None = None, hint: str | None = None) -> Report:
    """Return a report with a single finding about the command line."""
    findings = Findings()
    findings.add(code, message, place=place, hint=hint)
    return findings.report


def not_written(path: str, error: OSError | ValueError) -> Report:
    """Return the finding about a file that cannot be written."""
    reason = getattr(error, "strerror", None) or error
    return refuse("U007", f"the file cannot be written: {reason}", place=Place(file=path))


@contextmanager
def refusing(args: argparse.Namespace) -> Iterator[None]:
    """Raise IRError with a finding about the command line, or about a file, for what the work refuses."""
    try:
        yield
    except Refusal as error:
        from irexec.tools.compare.runtimes.runtime import CannotRun

        of = f"--with {args.other}: " if isinstance(error, CannotRun) else ""
        raise IRError(refuse(error.code, f"{of}{error}")) from error
    except OSError as error:
        if is_of_output(error):
            raise
        named = error.filename or getattr(args, "output", None)
        raise IRError(refuse("U007", ": ".join(filter(None, (named, error.strerror or str(error)))))) from error


def check_readable(path: str, role: str = "the model", *, stdin: bool = False) -> Report:
    """Return an empty report, or U001 if there is no file to read at `path`; with `stdin`, STDIN is accepted.

    `role`: the purpose of the file in the command. Raises OutputIsInput (see `irexec.ir.io.guard`).
    """
    if path == STDIN and not os.path.exists(path):
        wanted = "this command cannot read standard input; run, validate and fix can"
        return Report() if stdin else refuse("U001", wanted, place=Place(file=path))
    try:
        check_regular(path, role)
        return Report()
    except OSError as error:
        message, hint = unreadable(path, error)
        return refuse("U001", message, place=Place(file=path), hint=hint)


def check_weights(path: str | None, files: Sequence[str]) -> Report:
    """Return an empty report, or a finding that gives the reason why `--weights` cannot be used for the models."""
    if path is None:
        return Report()
    if len(files) > 1:
        return refuse("U003", f"--weights is for one model, but {len(files)} are given")
    return check_readable(path, "the weights file")


def no_models(folder: str) -> Report:
    """Return U001 for a folder without any file to process."""
    return refuse("U001", "the folder contains no .xml, .onnx or .irt files", place=Place(file=folder))


def find_files(
    paths: Sequence[str],
    exclude: Sequence[str] = (),
    base: str = ".",
    *,
    suffixes: tuple[str, ...] = (".xml",),
    all_named: bool = True,
    marks: tuple[bytes, ...] = (b"<net", b"<layer"),
) -> list[str]:
    """Return the files to process: for a folder, every model below it, but only .xml files that contain one of `marks`.

    A .bin file stands for the .xml file next to it. Files in folders are skipped if they match a pattern of `exclude`:
    patterns are for paths relative to `base`, or for names. Without `all_named`, a file given by name is also skipped
    if it is an .xml file without model or layers, or a .bin file without .xml file.
    """
    found: list[str] = []
    for path in dict.fromkeys(map(_model_of, paths)):
        if path != STDIN and os.path.isdir(path):
            below = (each for each in named_files([path], suffixes) if not is_excluded(each, exclude, base))
            found += [each for each in below if _holds(each, marks)]
        elif all_named or _holds(path, marks):
            found.append(path)
    return found


def _model_of(path: str) -> str:
    """Return the path of the .xml file next to a .bin file, if it exists, otherwise the path itself."""
    stem, suffix = os.path.splitext(path)
    return f"{stem}.xml" if suffix.lower() == ".bin" and os.path.isfile(f"{stem}.xml") else path


def _holds(path: str, marks: tuple[bytes, ...]) -> bool:
    """Return True if the beginning of the file contains one of the texts, or if it is neither XML nor weights."""
    if not path.lower().endswith(".xml"):
        return not path.lower().endswith(".bin")
    try:
        with open_regular(path, "the model") as stream:
            head = stream.read(_BEGINNING)
    except OSError:
        return True  # The reason why the file cannot be read is reported later.
    text = head.replace(b"\0", b"").lower()  # In UTF-16 every other byte of ASCII text is 0.
    return any(mark in text for mark in marks)


def exit_code(report: Report) -> int:
    """Return 0 without errors, 2 if the command line or an installed package cannot be used, else 1."""
    if any(CODES[finding.code].area is Area.USAGE or finding.code == "F001" for finding in report.errors):
        return 2
    return 0 if report.ok else 1


def exit_code_of_use(report: Report) -> int:
    """Return the exit code of a command that needs a model: 0 without errors, 2 if there is no model, else 1."""
    if any(CODES[finding.code].stops_all for finding in report.errors):
        return 2
    return 0 if report.ok else 1


def refused(report: Report) -> int:
    """Print the errors to standard error, and return the exit code of input that cannot be used."""
    from irexec.core.diagnostics.render import write

    write(Report(report.errors), sys.stderr)
    return 2


def add_format_argument(parser: argparse._ActionsContainer, json: str) -> None:
    """Add `--format text|json`, and the older spelling `--json`."""
    parser.add_argument("--format", choices=("text", "json"), default="text", help=f"{json} (default: text)")
    parser.add_argument("--json", dest="format", action="store_const", const="json", help=argparse.SUPPRESS)


def read_stdin() -> bytes:
    """Return the bytes of standard input. A file from which it is redirected is registered as an input."""
    with suppress(OSError, ValueError):
        reads("/dev/stdin", "the file on standard input", os.fstat(sys.stdin.buffer.fileno()))
    return sys.stdin.buffer.read()
