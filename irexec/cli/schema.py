"""`irexec schema`: the RELAX NG schema of the file format, or the JSON Schema of one operator's attributes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from irexec.cli.inputs import exit_code, refuse
from irexec.cli.options import add_output
from irexec.cli.streams import print_line, put_exactly
from irexec.core.diagnostics import Place, Report
from irexec.core.diagnostics.render import write


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "operator",
        nargs="?",
        metavar="TYPE",
        help="an operator, e.g. Gather or Gather-opset7 (default: the schema of the whole file format)",
    )
    add_output(parser, "DIR", "write all schemas, or the schema of TYPE, to this folder", older="--out")


def outputs(args: argparse.Namespace) -> Iterator[tuple[str, list[str]]]:
    if args.output is not None:
        yield "-o", [args.output]


def run(args: argparse.Namespace) -> int:
    report = _operator_schema(args) if args.operator is not None else _schemas(args)
    if not report.ok:
        write(report, sys.stderr)
    return exit_code(report)


def _schemas(args: argparse.Namespace) -> Report:
    from irexec.tools.catalog.relaxng import ir_schema
    from irexec.tools.catalog.schema import write_schemas

    if args.output is None:
        put_exactly(ir_schema())
        return Report()
    try:
        written = write_schemas(Path(args.output))
    except OSError as error:
        return _unwritable(args.output, error)
    print_line(f"{len(written)} schemas in {args.output}")
    return Report()


def _operator_schema(args: argparse.Namespace) -> Report:
    from irexec.cli.ops import unknown_operator
    from irexec.tools.catalog.facts import facts_of, operator_of
    from irexec.tools.catalog.schema import json_text, write_schema

    facts = facts_of(args.operator)
    if facts is None:
        return unknown_operator(args.operator)
    operator = operator_of(facts)
    if operator is None:
        return refuse("U005", f"{facts.name} is not implemented yet, so its attributes are unknown")
    if args.output is None:
        put_exactly(json_text(operator))
        return Report()
    try:
        print_line(str(write_schema(operator, Path(args.output))))
    except OSError as error:
        return _unwritable(args.output, error)
    return Report()


def _unwritable(folder: str, error: OSError) -> Report:
    return refuse(
        "U007",
        f"nothing can be written to this folder: {error.strerror or error}",
        place=Place(file=error.filename or folder),
    )
