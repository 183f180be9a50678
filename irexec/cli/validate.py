"""`irexec validate`: everything that is wrong with the given models and snippets."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from irexec.api import is_onnx, is_snippet
from irexec.cli.inputs import STDIN, check_readable, check_weights, exit_code, find_files, no_models, read_stdin
from irexec.cli.many import add_many_arguments, gather_all, shared_path
from irexec.cli.options import add_extensions, add_weights, release
from irexec.cli.settings import Settings
from irexec.cli.shown import add_choice_arguments, add_showing_arguments, begin, show_findings
from irexec.diagnostics import Report
from irexec.diagnostics.choice import Choice
from irexec.diagnostics.findings import Findings
from irexec.farm.models import SUFFIXES, Validate
from irexec.mend.files import validate_text

if TYPE_CHECKING:
    from irexec.graph.releases import Release


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="a model (.xml, .onnx), a snippet, a folder of such files, or - for stdin",
    )
    parser.add_argument(
        "--mode",
        choices=("strict", "openvino"),
        help="errors are what the format does not define, or what keeps a model from running (default: strict)",
    )
    parser.add_argument(
        "--target", type=release, metavar="RELEASE", help="also what this OpenVINO cannot read, such as 2024.2"
    )
    parser.add_argument("--fix", action="store_true", help="first make the safe fixes, as `irexec fix` does")
    parser.add_argument("--strict", action="store_true", help="a repair that a snippet needs is an error")
    parser.add_argument(
        "--alone", action="store_true", help="of ONNX: do not ask its checker, its reference and ONNX Runtime, too"
    )
    add_choice_arguments(parser)
    add_weights(parser, "FILE")
    add_extensions(parser)
    parser.add_argument("--skip-others", action="store_true", help="say nothing of an .xml without model and layers")
    add_showing_arguments(parser)
    add_many_arguments(parser)


def run(args: argparse.Namespace) -> int:
    settings, choice, report = begin(args)
    found = find_files(args.files, settings.exclude, settings.base, suffixes=SUFFIXES, all_named=not args.skip_others)
    files = [path if path == STDIN else shared_path(args, path) for path in dict.fromkeys(found)]
    report.extend(check_weights(args.weights, files))
    if not files and not args.skip_others:
        report.extend(no_models(args.files[0]))
    reports = _reports(files, args, settings, choice) if report.ok else [report]
    return show_findings(reports, args, sys.stdout)


def _reports(files: list[str], args: argparse.Namespace, settings: Settings, choice: Choice) -> Iterator[Report]:
    """What counts of the findings about each file."""
    mode = args.mode or settings.mode or "strict"
    weights = args.weights and shared_path(args, args.weights)
    reports = {path: _prepared(path, args, choice) for path in files}
    if STDIN in reports:
        reports[STDIN] = validate_text(read_stdin(), None, weights=weights, mode=mode, strict=args.strict)
    task = Validate(mode, args.strict, weights, others=not args.alone)
    wanted = [path for path in files if path != STDIN and not len(reports[path])]
    for outcome in gather_all(args, task, wanted, "files"):
        reports[outcome.item] = outcome.report
    for path, report in reports.items():
        if args.target is not None and path != STDIN and not is_onnx(path):
            report = Report([*report, *_too_new(path, args.target)], report.left_out).sorted()
        yield choice.of(report)


def _too_new(path: str, target: Release) -> Report:
    """What a release of OpenVINO cannot read of a model's file."""
    from irexec.graph.releases import check_release
    from irexec.ir.reader import read
    from irexec.ir.xml.source import Source

    source = Source.from_path(path)
    findings = Findings(source.locate, file=path)
    document = read(source, Findings(source.locate)) if source.readable and not is_snippet(source) else None
    if document is not None:
        check_release(document, target, findings)
    return findings.finished()


def _prepared(path: str, args: argparse.Namespace, choice: Choice) -> Report:
    """Mend a file, where that is asked for; the findings of one that cannot be used, and is not to be validated."""
    missing = check_readable(path, stdin=True)
    if args.fix and path != STDIN and not len(missing) and not is_onnx(path):
        from irexec.cli.fix import mended

        remaining = mended(path, weights=args.weights, wanted=choice.keeps, out=sys.stderr)
        return remaining if exit_code(remaining) == 2 else missing
    return missing
