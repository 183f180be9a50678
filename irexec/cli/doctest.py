"""`irexec doctest`: the examples of documentation pages, checked and compared with the values that the pages state."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING

from irexec.cli.extension import load_extensions
from irexec.cli.fix import told
from irexec.cli.inputs import check_readable, exit_code, refuse
from irexec.cli.many import add_many_arguments, gather_all, shared_path
from irexec.cli.options import add_extensions
from irexec.diagnostics import Place, Report, Severity
from irexec.diagnostics.render import FORMATS, wants_color, write

if TYPE_CHECKING:
    from irexec.farm.gathering import Outcome
    from irexec.pages.doctest import CheckedPage


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "pages", nargs="+", metavar="PAGE", help="a page (.rst, .md, .html, .txt, .xml) or a folder of pages"
    )
    parser.add_argument("--format", choices=FORMATS, default="text", help="how to show findings (default: text)")
    parser.add_argument(
        "--fail-on",
        choices=("error", "warning"),
        default="error",
        help="what makes the exit code 1: errata, or also repairs of what is printed (default: error)",
    )
    parser.add_argument("--fix", action="store_true", help="first correct what is certain, in the files")
    parser.add_argument("--unsafe", action="store_true", help="with --fix: correct what is likely, too")
    parser.add_argument("--diff", action="store_true", help="print what --fix would change; leave the files alone")
    parser.add_argument("--errata", metavar="FILE.md", help="write a report of the errata that can be acted on")
    parser.add_argument("--large", action="store_true", help="execute large examples that document no values, too")
    parser.add_argument("--verbose", action="store_true", help="show what was checked, and notes")
    add_extensions(parser)
    add_many_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from irexec.pages.doctest import find_pages

    report = load_extensions(args.extension)
    files = find_pages(args.pages)
    if not files:
        empty = ", ".join(args.pages)
        report.extend(refuse("U001", f"there are no pages below {empty}", place=Place(args.pages[0])))
    if not report.ok:
        write(report, sys.stdout, args.format)
        return 2
    if args.diff:
        return _show_differences(args, files)
    if args.fix or args.unsafe:
        out = sys.stdout if args.format == "text" else sys.stderr
        if not (failed := Report([f for file in files for f in _mended(args, file, out) if f.code == "U007"])).ok:
            write(failed, sys.stdout, args.format)
            return 2
    from irexec.farm.pages import CheckPage

    outcomes = gather_all(args, CheckPage(args.large), [shared_path(args, file) for file in files], "pages")
    pages = [outcome.result or _failed(outcome) for outcome in outcomes]
    _show(args, pages)
    unwritten = _write_errata(args.errata, pages) if args.errata is not None else None
    if unwritten is not None:
        write(unwritten, sys.stderr)
        return 2
    return _exit_code(args, pages)


def _mended(args: argparse.Namespace, file: str, out: IO[str]) -> Report:
    """Correct a page, or print what would be; what remains, or why it is left alone."""
    from irexec.mend.pages import mend_page

    if len(missing := check_readable(file)):
        return missing
    return told(file, lambda: mend_page(file, unsafe=args.unsafe, write=not args.diff), diff=args.diff, out=out)


def _show_differences(args: argparse.Namespace, files: Sequence[str]) -> int:
    """Print what would be changed, and on stderr what would remain."""
    remaining = Report([finding for file in files for finding in _mended(args, file, sys.stdout)])
    shown = Report([finding for finding in remaining if finding.severity in _failing(args)])
    write(shown, sys.stderr, args.format, summary=False)
    return exit_code(remaining) or int(len(shown) > 0)


def _failed(outcome: Outcome[CheckedPage]) -> CheckedPage:
    """A page whose check ended without a result."""
    from irexec.pages.doctest import CheckedPage

    return CheckedPage(outcome.item, problem=outcome.report.errors[0].message, readable=False)


def _show(args: argparse.Namespace, pages: Sequence[CheckedPage]) -> None:
    if args.format in ("concise", "sarif", "github"):
        write(Report([finding for page in pages for finding in page.report]), sys.stdout, args.format)
        return
    from irexec.pages.output import as_json, page_text, summary_text

    if args.format == "json":
        print(json.dumps(as_json(pages), indent=2))
        return
    color = wants_color(sys.stdout)
    for page in pages:
        sys.stdout.writelines(page_text(page, verbose=args.verbose, color=color))
    sys.stdout.write(summary_text(pages))


def _write_errata(path: str, pages: Sequence[CheckedPage]) -> Report | None:
    from irexec.arrays.saving import save_atomically
    from irexec.pages.errata_report import errata_report

    def write_to(stream: IO[bytes]) -> None:
        stream.write(errata_report(pages).encode("utf-8", "replace"))

    try:
        save_atomically(path, write_to)
    except OSError as error:
        return refuse("U001", f"cannot write the errata: {error.strerror or error}", place=Place(file=path))
    return None


def _exit_code(args: argparse.Namespace, pages: Sequence[CheckedPage]) -> int:
    """2 when a page could not be read, 1 when something was found that --fail-on names, else 0."""
    if any(not page.readable for page in pages):
        return 2
    failing = _failing(args)
    return 1 if any(finding.severity in failing for page in pages for finding in page.report) else 0


def _failing(args: argparse.Namespace) -> set[Severity]:
    return {Severity.ERROR, Severity.WARNING} if args.fail_on == "warning" else {Severity.ERROR}
