"""Options of commands that report findings: selection, output format, and the exit code."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from typing import IO

from irexec.cli.extension import load_extensions
from irexec.cli.inputs import exit_code, not_written, refuse, refused
from irexec.cli.options import add_older, add_output, whole
from irexec.core.diagnostics import Report
from irexec.core.diagnostics.choice import Choice, names_no_code
from irexec.core.diagnostics.codes import CODES
from irexec.core.diagnostics.nearest import did_you_mean
from irexec.core.diagnostics.people import MOST, for_people, grouped, without_notes
from irexec.core.diagnostics.render import FORMATS, write
from irexec.tools.settings import Settings, read_settings

FOR_MACHINES = ("json", "sarif")


def add_choice_arguments(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--select", metavar="CODES", help="consider only these findings: codes or prefixes, e.g. P004,D"
    )
    parser.add_argument("--ignore", metavar="CODES", help="ignore these findings: codes or prefixes")


def add_showing_arguments(parser: argparse.ArgumentParser, *, to_file: bool = False) -> None:
    """Add the options for the output of findings. `to_file`: also `-o`, which `write_output` writes."""
    show = parser.add_argument_group("output")
    about = "output format of the findings (default: text)"
    option = show.add_argument("--format", choices=FORMATS, default="text", help=about)
    add_older(show, option, "--output-format")  # The name of this option in ruff.
    if to_file:
        add_output(show, "FILE", "write the findings to this file (default: standard output)")
    show.add_argument("--statistics", action="store_true", help="print only the number of findings per code")
    show.add_argument(
        "--most",
        type=whole(),
        metavar="N",
        help="show at most N findings per code and file (default: 20; 0: the maximum, 1000)",
    )
    show.add_argument("-v", "--verbose", action="store_true", help="show notes as well, and all findings of each code")
    show.add_argument("-q", "--quiet", action="store_true", help="show only findings, without a summary")
    show.add_argument("--exit-zero", action="store_true", help="exit with 0 even if there are findings")


def begin(args: argparse.Namespace) -> tuple[Settings, Choice, Report]:
    """Load the extensions; return the project's settings, the choice of findings, and findings about all of these."""
    settings, report = read_settings(os.getcwd())
    choice, unknown = chosen(args, settings)
    report.extend([*unknown, *load_extensions(args.extension)])
    return settings, choice, report


def chosen(args: argparse.Namespace, settings: Settings) -> tuple[Choice, Report]:
    """Return the choice of findings that options or project settings make, and findings about unknown codes."""
    report = Report()

    def codes(option: str, otherwise: tuple[str, ...] | None) -> tuple[str, ...] | None:
        text: str | None = getattr(args, option)
        if text is None:
            return otherwise
        found = tuple(code.strip().upper() for code in text.split(",") if code.strip())
        for code in found:
            if names_no_code(code):
                hint = did_you_mean(code, CODES) or "`irexec explain` lists all codes"
                report.extend(refuse("U005", f"--{option}: no code starts with {code!r}", hint=hint))
        return found

    select, ignore = codes("select", settings.select), codes("ignore", settings.ignore)
    return Choice(("",) if select is None else select, ignore or (), settings.per_file, settings.base), report


def show_findings(reports: Iterable[Report], args: argparse.Namespace, out: IO[str], *, every: bool = False) -> int:
    """Write the findings, given file by file, as the options require; return the exit code.

    The exit code is 1 if there are errors or, with `every`, errors or warnings.
    """
    whole, shown = Report(), Report()
    for report in reports:
        whole.extend(report)
        shown.extend(report if args.format in FOR_MACHINES else _for_people(report, args))
    if args.format == "text" and not args.verbose and args.most != 0:
        shown = grouped(shown)
    if args.statistics:
        from irexec.core.diagnostics.render.statistics import statistics

        out.write(statistics(whole))
    else:
        write(shown, out, args.format, summary=not args.quiet, whole=whole if args.verbose else without_notes(whole))
    code = exit_code(whole) or int(every and len(without_notes(whole)) > 0)
    return 0 if args.exit_zero and code == 1 else code


def write_output(path: str, text: str) -> int:
    """Write the file given by `-o`; return the exit code, which is 2, with a finding, if it cannot be written."""
    from irexec.model.arrays.saving import save_text

    try:
        save_text(path, text)
    except OSError as error:
        return refused(not_written(path, error))
    return 0


def _for_people(report: Report, args: argparse.Namespace) -> Report:
    most = args.most if args.most is not None else 0 if args.verbose else MOST
    return for_people(report, most, verbose=args.verbose, fold=args.format == "text")
