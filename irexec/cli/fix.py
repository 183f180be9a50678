"""`irexec fix`: mends models and loose layers in their files, as far as it is certain what is meant."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, Any

from irexec.cli.inputs import STDIN, check_readable, check_weights, find_files, no_models, read_stdin, refuse
from irexec.cli.options import add_extensions, add_weights
from irexec.cli.shown import FOR_MACHINES, add_choice_arguments, add_showing_arguments, begin, show_findings
from irexec.diagnostics import Place, Report
from irexec.diagnostics.choice import Choice

if TYPE_CHECKING:
    from irexec.mend.mend import Mended


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="a model or loose layers (.xml), a folder with models, or - for stdin to stdout",
    )
    parser.add_argument("--unsafe", action="store_true", help="make fixes that may change what is computed, too")
    parser.add_argument("--diff", action="store_true", help="print what would be changed; leave the files alone")
    add_choice_arguments(parser)
    add_weights(parser, "FILE")
    add_extensions(parser)
    add_showing_arguments(parser)


def run(args: argparse.Namespace) -> int:
    settings, choice, report = begin(args)
    files = _models(args.files, find_files(args.files, settings.exclude, settings.base))
    report.extend(check_weights(args.weights, files))
    if not files:
        report.extend(no_models(args.files[0]))
    if not report.ok:
        return show_findings([report], args, sys.stdout)
    stream = sys.stderr if args.diff or STDIN in files else sys.stdout
    return show_findings(_reports(files, args, choice), args, stream, every=True)


def _models(named: list[str], found: list[str]) -> list[str]:
    """The files that are named, and of those found in folders the models."""
    from irexec.mend.files import is_model_file

    return [path for path in found if path in named or is_model_file(path)]


def _reports(files: list[str], args: argparse.Namespace, choice: Choice) -> Iterator[Report]:
    """What counts of the findings that remain in each file."""
    how: dict[str, Any] = {"weights": args.weights, "unsafe": args.unsafe, "wanted": choice.keeps}
    for path in files:
        if path == STDIN:
            remaining = _stdin_mended(args.diff, **how)
        else:
            missing = check_readable(path, stdin=True)
            told = sys.stderr if args.format in FOR_MACHINES and not args.diff else sys.stdout
            remaining = missing if len(missing) else mended(path, diff=args.diff, out=told, **how)
        yield choice.of(remaining)


def mended(path: str, *, diff: bool = False, out: IO[str] | None = None, **how: Any) -> Report:
    """Mend a file that can be read and print what was done, or would be; what remains, or why it is left alone.

    `out`: where to print, if not to stdout. `how`: as `irexec.mend.files.mend_file` takes it.
    """
    from irexec.mend.files import mend_file

    return told(path, lambda: mend_file(path, write=not diff, **how), diff=diff, out=out)


def told(
    path: str, mend: Callable[[], tuple[bytes, Mended]], *, diff: bool = False, out: IO[str] | None = None
) -> Report:
    """As `mended`, of a file that `mend` mends."""
    from irexec.mend.files import NotAModel
    from irexec.mend.replacing import FileChanged
    from irexec.mend.show import difference, made_text

    try:
        before, after = mend()
    except NotAModel as error:
        return refuse("U006", str(error), place=Place(file=path))
    except FileChanged as error:
        return refuse("U007", str(error), place=Place(file=path))
    except OSError as error:
        return refuse("U007", f"the file cannot be written: {error.strerror or error}", place=Place(file=path))
    (out or sys.stdout).write(difference(path, before, after.data) if diff else made_text(path, after))
    return after.report


def _stdin_mended(diff: bool, **how: Any) -> Report:
    """Mend what stands on stdin, and write it, or the difference, to stdout; what remains."""
    from irexec.mend.files import mended_bytes
    from irexec.mend.show import difference

    before = read_stdin()
    after = mended_bytes(before, None, **how)
    if diff:
        sys.stdout.write(difference(STDIN, before, after.data))
    else:
        sys.stdout.buffer.write(after.data)
    return after.report
