"""`irexec schema`: the RELAX NG schema of the file format, or the JSON Schema of one operator's attributes."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from irexec.cli.inputs import exit_code, refuse
from irexec.diagnostics import Place, Report
from irexec.diagnostics.render import write


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "operator",
        nargs="?",
        metavar="TYPE",
        help="an operator, such as Gather or Gather-opset7; without it the schema of the whole file format",
    )
    parser.add_argument("--out", metavar="DIR", help="write files to this folder: all schemas, or that of the operator")


def run(args: argparse.Namespace) -> int:
    report = _operator_schema(args) if args.operator is not None else _schemas(args)
    if not report.ok:
        write(report, sys.stderr)
    return exit_code(report)


def _schemas(args: argparse.Namespace) -> Report:
    from irexec.catalog.relaxng import ir_schema
    from irexec.catalog.schema import write_schemas

    if args.out is None:
        print(ir_schema(), end="")
        return Report()
    try:
        written = write_schemas(Path(args.out))
    except OSError as error:
        return _unwritable(args.out, error)
    print(f"{len(written)} schemas in {args.out}")
    return Report()


def _operator_schema(args: argparse.Namespace) -> Report:
    from irexec.catalog.facts import facts_of, operator_of
    from irexec.catalog.schema import json_text, write_schema
    from irexec.cli.ops import unknown_operator

    facts = facts_of(args.operator)
    if facts is None:
        return unknown_operator(args.operator)
    operator = operator_of(facts)
    if operator is None:
        return refuse("U005", f"{facts.name} is not implemented yet, so nothing is known of its attributes")
    if args.out is None:
        print(json_text(operator), end="")
        return Report()
    try:
        print(write_schema(operator, Path(args.out)))
    except OSError as error:
        return _unwritable(args.out, error)
    return Report()


def _unwritable(folder: str, error: OSError) -> Report:
    return refuse("U007", f"cannot write there: {error.strerror or error}", place=Place(file=error.filename or folder))
