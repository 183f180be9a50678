"""`irexec doctest`: the examples of documentation pages, checked and compared with the values that the pages state."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any

from irexec.cli.fix import fixed_by
from irexec.cli.inputs import check_readable, exit_code, refuse
from irexec.cli.many import add_many_arguments, gather_all, log_output, shared_path
from irexec.cli.options import SECONDS, add_extensions, add_limit
from irexec.cli.shown import add_choice_arguments, begin
from irexec.cli.streams import print_json, put
from irexec.core.diagnostics import Place, Report, Severity
from irexec.core.diagnostics.choice import Choice
from irexec.core.diagnostics.render import FORMATS, wants_color, write

if TYPE_CHECKING:
    from irexec.tools.doctest.doctest import CheckedPage
    from irexec.tools.parallel.gathering import Outcome


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "pages", nargs="+", metavar="PAGE", help="a page (.rst, .md, .html, .txt, .xml) or a folder of pages"
    )
    parser.add_argument(
        "--format", choices=FORMATS, default="text", help="output format of the findings (default: text)"
    )
    parser.add_argument(
        "--fail-on",
        choices=("error", "warning"),
        default="error",
        help="exit with 1 on errors only, or on repairs of incomplete examples as well (default: error)",
    )
    parser.add_argument("--fix", action="store_true", help="apply safe corrections to the pages first")
    parser.add_argument(
        "--unsafe", action="store_true", help="with --fix or --diff, also make corrections that are only likely"
    )
    parser.add_argument("--diff", action="store_true", help="print the changes of --fix without modifying the pages")
    parser.add_argument(
        "--errata", metavar="FILE.md", help="write a report of the errors that have a suggested correction"
    )
    parser.add_argument("--large", action="store_true", help="also execute large examples that document no values")
    parser.add_argument("-v", "--verbose", action="store_true", help="show the checks performed and notes")
    add_choice_arguments(parser)
    add_extensions(parser)
    add_limit(parser, SECONDS, each="page")
    add_many_arguments(parser)


def outputs(args: argparse.Namespace) -> Iterator[tuple[str, list[str]]]:
    if args.errata is not None:
        yield "--errata", [args.errata]
    yield from log_output(args)


def run(args: argparse.Namespace) -> int:
    from irexec.tools.doctest.doctest import chosen_of, find_pages

    settings, choice, report = begin(args)
    files = find_pages(args.pages, settings.excludes)
    if not files:
        empty = ", ".join(args.pages)
        report.extend(refuse("U001", f"{empty} contains no pages", place=Place(args.pages[0])))
    if args.unsafe and not (args.fix or args.diff):
        report.extend(refuse("U003", "--unsafe requires --fix, which corrects the pages, or --diff"))
    if not report.ok:
        write(report, sys.stdout, args.format)
        return 2
    if args.diff:
        return _show_differences(args, files, choice)
    if args.fix:
        out = sys.stdout if args.format == "text" else sys.stderr
        if not (
            failed := Report([f for file in files for f in _fixed(args, file, out, choice) if f.code == "U007"])
        ).ok:
            write(failed, sys.stdout, args.format)
            return 2
    from irexec.tools.parallel.pages import CheckPage

    items = [shared_path(args, file) for file in files]
    outcomes = gather_all(args, CheckPage(args.large), items, "pages", args.timeout)
    pages = [chosen_of(outcome.result or _failed(outcome), choice) for outcome in outcomes]
    _show(args, pages)
    unwritten = _write_errata(args.errata, pages) if args.errata is not None else None
    if unwritten is not None:
        write(unwritten, sys.stderr)
        return 2
    return _exit_code(args, pages)


def _fixed(args: argparse.Namespace, file: str, out: IO[str], choice: Choice) -> Report:
    """Correct a page, or print the corrections; return the remaining findings, or why the page is unchanged."""
    from irexec.tools.fixes.pages import fix_page

    if len(missing := check_readable(file, "a page")):
        return missing
    how: dict[str, Any] = {"diff": args.diff, "out": out, "limit": args.timeout}
    return fixed_by(file, lambda: fix_page(file, unsafe=args.unsafe, wanted=choice.keeps, write=not args.diff), **how)


def _show_differences(args: argparse.Namespace, files: Sequence[str], choice: Choice) -> int:
    """Print the corrections, and the remaining findings on stderr."""
    remaining = choice.of(Report([f for file in files for f in _fixed(args, file, sys.stdout, choice)]))
    shown = Report([finding for finding in remaining if finding.severity in _failing(args)])
    write(shown, sys.stderr, args.format, summary=False)
    return exit_code(remaining) or int(len(shown) > 0)


def _failed(outcome: Outcome[CheckedPage]) -> CheckedPage:
    """Return a page whose check ended without a result."""
    from irexec.tools.doctest.doctest import CheckedPage

    return CheckedPage(outcome.item, problem=outcome.report.errors[0].message, readable=False)


def _show(args: argparse.Namespace, pages: Sequence[CheckedPage]) -> None:
    if args.format in ("concise", "sarif", "github"):
        write(Report([finding for page in pages for finding in page.report]), sys.stdout, args.format)
        return
    from irexec.tools.doctest.output import as_json, page_text, summary_text

    if args.format == "json":
        print_json(as_json(pages))
        return
    color = wants_color(sys.stdout)
    for page in pages:
        put("".join(page_text(page, verbose=args.verbose, color=color)))
    put(summary_text(pages))


def _write_errata(path: str, pages: Sequence[CheckedPage]) -> Report | None:
    from irexec.model.arrays.saving import save_text
    from irexec.tools.doctest.errata_report import errata_report

    try:
        save_text(path, errata_report(pages))
    except OSError as error:
        return refuse("U007", f"cannot write the errata: {error.strerror or error}", place=Place(file=path))
    return None


def _exit_code(args: argparse.Namespace, pages: Sequence[CheckedPage]) -> int:
    """Return 2 if a page could not be read or took too long, 1 if there are findings of the severity of --fail-on,
    otherwise 0.
    """
    if any(not page.readable or page.stopped is not None for page in pages):
        return 2
    failing = _failing(args)
    return 1 if any(finding.severity in failing for page in pages for finding in page.report) else 0


def _failing(args: argparse.Namespace) -> set[Severity]:
    return {Severity.ERROR, Severity.WARNING} if args.fail_on == "warning" else {Severity.ERROR}
