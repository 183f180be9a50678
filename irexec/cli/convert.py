"""`irexec convert`: an ONNX model, or an IR of irexec's own operators, written as IR that OpenVINO reads."""

from __future__ import annotations

import argparse
import sys

from irexec.cli.inputs import check_readable, exit_code
from irexec.diagnostics import IRError, Report
from irexec.diagnostics.render import write


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="MODEL", help="a model (.onnx, .xml)")
    parser.add_argument("output", metavar="OUT", help="the .xml to write; its .bin goes beside it")
    parser.add_argument(
        "--any-operator", action="store_true", help="write operators that only irexec has, too, under their own opset"
    )


def run(args: argparse.Namespace) -> int:
    missing = check_readable(args.file)
    report = missing if len(missing) else _converted(args)
    if report.ok:
        print(f"{args.output}: written")
    write(Report(report.errors), sys.stderr)
    return exit_code(report)


def _converted(args: argparse.Namespace) -> Report:
    """Every error there was; none when the files are written."""
    from irexec.api import load
    from irexec.diagnostics.findings import Findings
    from irexec.graph.portable import check_portable
    from irexec.graph.write import write_model

    model, report = load(args.file)
    if model is None or not report.ok:
        return report
    findings = Findings(file=args.file)
    if not args.any_operator and not check_portable(model, findings):
        return findings.report
    try:
        write_model(model, args.output)
    except IRError as error:
        return error.report
    except (OSError, ValueError) as error:
        findings.add("U001", f"cannot write {args.output}: {getattr(error, 'strerror', None) or error}")
        return findings.report
    return report
