"""`irexec validate`: everything that is wrong with the given models and snippets."""

from __future__ import annotations

import argparse
import sys

import irexec
from irexec.cli.extension import load_extensions
from irexec.cli.inputs import check_readable, exit_code, refuse
from irexec.diagnostics import Report
from irexec.diagnostics.render import FORMATS, write


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="a model (.xml) or a snippet")
    parser.add_argument("--format", choices=FORMATS, default="text", help="how to show findings (default: text)")
    parser.add_argument(
        "--mode",
        choices=("strict", "openvino"),
        default="strict",
        help="errors are what the format does not define, or what keeps a model from running (default: strict)",
    )
    parser.add_argument("--strict", action="store_true", help="a repair that a snippet needs is an error")
    parser.add_argument("--weights", metavar="BIN", help="the .bin file (default: beside FILE, with the same name)")
    parser.add_argument(
        "--extension", action="append", default=[], metavar="PY", help="a Python file that declares more operators"
    )


def run(args: argparse.Namespace) -> int:
    report = _validate(args)
    write(report, sys.stdout, args.format)
    return exit_code(report)


def _validate(args: argparse.Namespace) -> Report:
    if args.weights is not None and len(args.files) > 1:
        return refuse("U003", f"--weights belongs to one model, but {len(args.files)} are given")
    given = load_extensions(args.extension)
    if args.weights is not None:
        given.extend(check_readable(args.weights))
    if not given.ok:
        return given
    report = Report()
    for path in args.files:
        missing = check_readable(path)
        report.extend(
            missing if len(missing) else irexec.validate(path, weights=args.weights, mode=args.mode, strict=args.strict)
        )
    return report
