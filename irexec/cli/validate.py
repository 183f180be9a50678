"""`irexec validate`: report all errors in models and snippets."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Iterator

from irexec.cli.inputs import STDIN, check_readable, check_weights, exit_code, find_files, no_models, read_stdin
from irexec.cli.many import add_many_arguments, gather_all, log_output, shared_path
from irexec.cli.options import SECONDS, add_extensions, add_limit, add_no_repairs, add_weights, release
from irexec.cli.shown import add_choice_arguments, add_showing_arguments, begin, show_findings, write_output
from irexec.cli.streams import complain
from irexec.core.diagnostics import Report
from irexec.core.diagnostics.choice import Choice
from irexec.core.diagnostics.deadline import time_limit
from irexec.core.diagnostics.people import without_notes
from irexec.frontends.reading import is_onnx
from irexec.tools.parallel.models import SUFFIXES, Validate
from irexec.tools.settings import Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="a model (.xml, .onnx, .irt), a snippet, a folder of such files, or - for stdin",
    )
    parser.add_argument(
        "--mode",
        choices=("strict", "openvino"),
        help="strict: everything the format forbids is an error; openvino: only what prevents OpenVINO from "
        "running the model (default: strict)",
    )
    parser.add_argument(
        "--target",
        type=release,
        metavar="RELEASE",
        help="also report what this OpenVINO release (e.g. 2024.2; openvino: the newest) cannot read, or ignores in "
        "ONNX models",
    )
    parser.add_argument("--fix", action="store_true", help="apply safe fixes first, like `irexec fix`")
    add_no_repairs(parser)
    parser.add_argument(
        "--alone",
        action="store_true",
        help="skip the additional checks of ONNX models by onnx.checker, onnx.reference and ONNX Runtime",
    )
    add_choice_arguments(parser)
    add_weights(parser)
    add_extensions(parser)
    add_limit(parser, SECONDS, each="file")
    parser.add_argument(
        "--skip-others", action="store_true", help="ignore .xml files that contain no OpenVINO model or layer"
    )
    add_showing_arguments(parser, to_file=True)
    add_many_arguments(parser)


def outputs(args: argparse.Namespace) -> Iterator[tuple[str, list[str]]]:
    if args.output is not None:
        yield "-o", [args.output]
    yield from log_output(args)


def run(args: argparse.Namespace) -> int:
    settings, choice, report = begin(args)
    found = find_files(args.files, settings.exclude, settings.base, suffixes=SUFFIXES, all_named=not args.skip_others)
    files = [path if path == STDIN else shared_path(args, path) for path in dict.fromkeys(found)]
    report.extend(check_weights(args.weights, files))
    if not files and not args.skip_others:
        report.extend(no_models(args.files[0]))
    reports = _reports(files, args, settings, choice) if report.ok else [report]
    if args.output is None:
        return show_findings(reports, args, sys.stdout)
    written, reports = io.StringIO(), list(reports)
    code = show_findings(reports, args, written)
    if failed := write_output(args.output, written.getvalue()):
        return failed
    if not args.quiet:
        from irexec.core.diagnostics.render.text import counts_text

        whole = Report()
        for each in reports:
            whole.extend(without_notes(each))
        complain(f"{counts_text(whole)}, written to {args.output}")
    return code


def _reports(files: list[str], args: argparse.Namespace, settings: Settings, choice: Choice) -> Iterator[Report]:
    """Yield the findings about each file, after selection."""
    mode = args.mode or settings.mode or "strict"
    weights = args.weights and shared_path(args, args.weights)
    reports = {path: _prepared(path, args, choice) for path in files}
    task = Validate(mode, args.no_repairs, weights, others=not args.alone, target=args.target, lines=args.verbose)
    if STDIN in reports:
        with time_limit(args.timeout):
            reports[STDIN] = task.of(read_stdin())
    wanted = [path for path in files if path != STDIN and not len(reports[path])]
    for outcome in gather_all(args, task, wanted, "files", args.timeout):
        reports[outcome.item] = outcome.report
    yield from map(choice.of, reports.values())


def _prepared(path: str, args: argparse.Namespace, choice: Choice) -> Report:
    """Fix a file if requested; return findings if the file cannot be used and must not be validated."""
    missing = check_readable(path, stdin=True)
    if args.fix and path != STDIN and not len(missing) and not is_onnx(path):
        from irexec.cli.fix import fixed

        how = {"weights": args.weights, "wanted": choice.keeps, "limit": args.timeout}
        remaining = fixed(path, out=sys.stderr, **how)
        return remaining if exit_code(remaining) == 2 else missing
    return missing
