"""`irexec validate`: everything that is wrong with the given models and snippets."""

from __future__ import annotations

import argparse
import sys

from irexec.cli.extension import load_extensions
from irexec.cli.fix import mended
from irexec.cli.inputs import check_readable, exit_code, refuse
from irexec.cli.many import add_many_arguments, gather_all, shared_path
from irexec.cli.options import add_extensions, add_weights
from irexec.diagnostics import Place, Report
from irexec.diagnostics.render import FORMATS, write
from irexec.farm.models import Validate, models_in
from irexec.mend.files import is_model_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="a model (.xml, .onnx), a snippet, or a folder of such files"
    )
    parser.add_argument("--format", choices=FORMATS, default="text", help="how to show findings (default: text)")
    parser.add_argument(
        "--mode",
        choices=("strict", "openvino"),
        default="strict",
        help="errors are what the format does not define, or what keeps a model from running (default: strict)",
    )
    parser.add_argument("--fix", action="store_true", help="first make the safe fixes, as `irexec fix` does")
    parser.add_argument("--strict", action="store_true", help="a repair that a snippet needs is an error")
    parser.add_argument(
        "--alone", action="store_true", help="of ONNX: do not ask its checker, its reference and ONNX Runtime, too"
    )
    add_weights(parser, "FILE")
    add_extensions(parser)
    add_many_arguments(parser)


def run(args: argparse.Namespace) -> int:
    report = _validate(args)
    write(report, sys.stdout, args.format)
    return exit_code(report)


def _validate(args: argparse.Namespace) -> Report:
    files = [shared_path(args, path) for path in models_in(args.files)]
    if args.weights is not None and len(files) > 1:
        return refuse("U003", f"--weights belongs to one model, but {len(files)} are given")
    given = load_extensions(args.extension)
    if args.weights is not None:
        given.extend(check_readable(args.weights))
    if not files:
        given.extend(refuse("U001", "there are no models below the folder", place=Place(args.files[0])))
    if not given.ok:
        return given
    reports = {path: _prepared(path, args) for path in files}
    weights = args.weights and shared_path(args, args.weights)
    task = Validate(args.mode, args.strict, weights, others=not args.alone)
    for outcome in gather_all(args, task, [path for path in files if not len(reports[path])], "files"):
        reports[outcome.item] = outcome.report
    report = Report()
    for found in reports.values():
        report.extend(found)
    return report


def _prepared(path: str, args: argparse.Namespace) -> Report:
    """Mend a file, where that is asked for; the findings of one that cannot be used, and is not to be validated."""
    missing = check_readable(path)
    if args.fix and not len(missing) and is_model_file(path):
        remaining = mended(path, weights=args.weights, out=sys.stderr)
        return remaining if exit_code(remaining) == 2 else missing
    return missing
