"""`irexec fix`: apply the fixes of findings to the files of models and snippets."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, Any

from irexec.cli.inputs import (
    STDIN,
    check_readable,
    check_weights,
    find_files,
    no_models,
    not_written,
    read_stdin,
    refuse,
)
from irexec.cli.options import SECONDS, add_extensions, add_limit, add_weights
from irexec.cli.shown import FOR_MACHINES, add_choice_arguments, add_showing_arguments, begin, show_findings
from irexec.cli.streams import put_exactly
from irexec.core.diagnostics import IRError, Place, Report
from irexec.core.diagnostics.choice import Choice
from irexec.core.diagnostics.deadline import time_limit
from irexec.core.diagnostics.render.characters import visible_text

if TYPE_CHECKING:
    from irexec.tools.fixes.applying import FixResult


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="a model or a snippet (.xml), a folder of models, or - to read stdin and write stdout",
    )
    parser.add_argument("--unsafe", action="store_true", help="also apply fixes that may change the results")
    parser.add_argument("--diff", action="store_true", help="print the changes without modifying the files")
    add_choice_arguments(parser)
    add_weights(parser)
    add_extensions(parser)
    add_limit(parser, SECONDS, each="file")
    add_showing_arguments(parser)


def run(args: argparse.Namespace) -> int:
    settings, choice, report = begin(args)
    files = find_files(args.files, settings.exclude, settings.base, marks=(b"<net",))
    report.extend(check_weights(args.weights, files))
    if not files:
        report.extend(no_models(args.files[0]))
    if not report.ok:
        return show_findings([report], args, sys.stdout)
    stream = sys.stderr if args.diff or STDIN in files else sys.stdout
    changed: list[str] = []
    remaining = list(_reports(files, args, choice, changed))
    code = show_findings(remaining, args, stream, every=True)
    if args.format == "text" and not (changed or args.quiet or args.statistics) and any(map(len, remaining)):
        stream.write("nothing to change\n" if args.diff else "nothing was changed\n")
    return code


def _reports(files: list[str], args: argparse.Namespace, choice: Choice, changed: list[str]) -> Iterator[Report]:
    """Yield the remaining findings of each file, after selection, and add the files with fixes to `changed`."""
    how: dict[str, Any] = {"weights": args.weights, "unsafe": args.unsafe, "wanted": choice.keeps}
    for path in files:
        if path == STDIN:
            with time_limit(args.timeout):
                remaining = _stdin_fixed(args.diff, changed, **how)
        else:
            missing = check_readable(path, stdin=True)
            out = sys.stderr if args.format in FOR_MACHINES and not args.diff else sys.stdout
            how_shown: dict[str, Any] = {"diff": args.diff, "out": out, "limit": args.timeout, "changed": changed}
            remaining = missing if len(missing) else fixed(path, **how_shown, **how)
        yield choice.of(remaining)


def fixed(
    path: str,
    *,
    diff: bool = False,
    out: IO[str] | None = None,
    limit: float | None = None,
    changed: list[str] | None = None,
    **how: Any,
) -> Report:
    """Fix a readable file and print the fixes, whether applied or only possible; return the remaining findings, or the
    reason why the file is unchanged.

    `out`: where to print, if not to stdout. `limit`: the time limit in seconds. `changed`: a list to which the path is
    added if there are fixes. `how`: the options of `fix_file`.
    """
    from irexec.tools.fixes.files import fix_file

    return fixed_by(
        path, lambda: fix_file(path, write=not diff, **how), diff=diff, out=out, limit=limit, changed=changed
    )


def fixed_by(
    path: str,
    fix: Callable[[], tuple[bytes, FixResult]],
    *,
    diff: bool = False,
    out: IO[str] | None = None,
    limit: float | None = None,
    changed: list[str] | None = None,
) -> Report:
    """Do the same as `fixed`, for a file that the function `fix` corrects."""
    from irexec.tools.fixes.difference import difference, made_text
    from irexec.tools.fixes.files import NotAModel
    from irexec.tools.fixes.replacing import FileChanged

    try:
        with time_limit(limit, file=path):
            before, after = fix()
    except IRError as error:
        return error.report
    except NotAModel as error:
        return refuse("U012", str(error), place=Place(file=path))
    except FileChanged as error:
        return refuse("U007", str(error), place=Place(file=path))
    except OSError as error:
        return not_written(path, error)
    if changed is not None and after.made:
        changed.append(path)
    stream = out or sys.stdout
    stream.write(_shown(difference(path, before, after.data), stream) if diff else made_text(path, after))
    return after.report


def _stdin_fixed(diff: bool, changed: list[str], **how: Any) -> Report:
    """Fix the text on stdin, write it or the difference to stdout, and return the remaining findings."""
    from irexec.tools.fixes.difference import difference
    from irexec.tools.fixes.files import fixed_bytes

    before = read_stdin()
    after = fixed_bytes(before, None, **how)
    changed += [STDIN] if after.made else []
    if diff:
        put_exactly(_shown(difference(STDIN, before, after.data), sys.stdout))
    else:
        sys.stdout.buffer.write(after.data)
    return after.report


def _shown(text: str, stream: IO[str]) -> str:
    """Return the text unchanged, for `patch`; on a terminal, with control characters escaped."""
    return "\n".join(map(visible_text, text.split("\n"))) if stream.isatty() else text
