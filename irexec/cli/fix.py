"""`irexec fix`: mends models in their files, as far as it is certain what is meant."""

from __future__ import annotations

import argparse
import sys
from typing import IO, Any

from irexec.cli.extension import load_extensions
from irexec.cli.inputs import check_readable, exit_code, refuse
from irexec.cli.options import add_extensions, add_weights
from irexec.diagnostics import Diagnostic, Place, Report
from irexec.diagnostics.render import write


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="a model (.xml)")
    parser.add_argument("--unsafe", action="store_true", help="make fixes that may change what is computed, too")
    parser.add_argument("--diff", action="store_true", help="print what would be changed; leave the files alone")
    parser.add_argument("--select", metavar="CODES", help="mend these findings only, such as P004,D or L0")
    parser.add_argument("--ignore", metavar="CODES", help="leave these findings alone")
    add_weights(parser, "FILE")
    add_extensions(parser)


def run(args: argparse.Namespace) -> int:
    report = load_extensions(args.extension)
    if args.weights is not None and len(args.files) > 1:
        report.extend(refuse("U003", f"--weights belongs to one model, but {len(args.files)} are given"))
    if report.ok:
        for path in args.files:
            report.extend(_fix(path, args))
    write(report, sys.stderr if args.diff else sys.stdout)
    return exit_code(report) or int(len(report) > 0)


def _fix(path: str, args: argparse.Namespace) -> Report:
    """Mend one file, and say so; what remains to be found in it."""
    missing = check_readable(path)
    if len(missing):
        return missing

    def wanted(finding: Diagnostic) -> bool:
        return _names(args.select, finding, True) and not _names(args.ignore, finding, False)

    return mended(path, weights=args.weights, unsafe=args.unsafe, wanted=wanted, diff=args.diff)


def mended(path: str, *, diff: bool = False, out: IO[str] | None = None, **how: Any) -> Report:
    """Mend a file that can be read and print what was done, or would be; what remains, or why it is left alone.

    `out`: where to print, if not to stdout. `how`: as `irexec.mend.files.mend_file` takes it.
    """
    from irexec.mend.files import FileChanged, NotAModel, mend_file
    from irexec.mend.show import difference, made_text

    try:
        before, after = mend_file(path, write=not diff, **how)
    except NotAModel as error:
        return refuse("U006", str(error), place=Place(file=path))
    except FileChanged as error:
        return refuse("U007", str(error), place=Place(file=path))
    except OSError as error:
        return refuse("U007", f"the file cannot be written: {error.strerror or error}", place=Place(file=path))
    (out or sys.stdout).write(difference(path, before, after.data) if diff else made_text(path, after))
    return after.report


def _names(codes: str | None, finding: Diagnostic, otherwise: bool) -> bool:
    """Whether the codes of an option, or beginnings of codes, name a finding; `otherwise` without the option."""
    return (
        otherwise if codes is None else finding.code.startswith(tuple(c.strip() for c in codes.split(",") if c.strip()))
    )
