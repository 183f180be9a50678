"""`irexec shapes`: the sizes that a dynamic model accepts, and the layers that reject all others."""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from irexec.cli.extension import load_extensions
from irexec.cli.given import weights_of
from irexec.cli.inputs import check_readable, not_written, refused
from irexec.cli.options import (
    add_extensions,
    add_limit,
    add_older,
    add_random_weights,
    add_repeatable,
    add_weights,
)
from irexec.cli.streams import complain, print_json, print_line, printout
from irexec.core.diagnostics import Place, Report, WrongArgument
from irexec.core.diagnostics.findings import Findings
from irexec.core.diagnostics.render import write
from irexec.ir.beside import Unreadable, text_of

DEFAULT_SECONDS = 60.0

if TYPE_CHECKING:
    from irexec.model.graph.model import Model
    from irexec.tools.shapes.answer import Shapes
    from irexec.tools.shapes.rows import Row
    from irexec.tools.status import Status


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="MODEL", help="a model (.xml, .onnx, .irt)")
    about = "set the shape of an input, e.g. image=?,3,?,?, or the size of a symbol in the output, e.g. seq=128"
    add_older(parser, add_repeatable(parser, "--shape", "NAME=SIZES", about), "--input")
    parser.add_argument(
        "--check",
        metavar="FILE.csv",
        help="also check the combinations of sizes in a table whose columns are symbols or inputs",
    )
    parser.add_argument(
        "--unbake",
        metavar="OUT.xml",
        help="write a model without the constants by which an exporter fixed dynamic dimensions, verified by "
        "running both models",
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="output format (default: text)")
    add_weights(parser)
    add_random_weights(parser, seed=True)
    add_extensions(parser)
    add_limit(parser, DEFAULT_SECONDS, each="study of sizes")


def outputs(args: argparse.Namespace) -> Iterator[tuple[str, list[str]]]:
    if args.unbake is not None:
        yield "--unbake", [args.unbake, os.path.splitext(args.unbake)[0] + ".bin"]


def run(args: argparse.Namespace) -> int:
    from irexec.frontends.reading import read
    from irexec.tools.shapes.ask import model_with_sizes

    findings = Findings()
    report = Report([*check_readable(args.file), *load_extensions(args.extension)])
    weights = weights_of(args, findings)
    report.extend(findings.report)
    if args.check is not None:
        report.extend(check_readable(args.check, "the table of sizes"))
    if report.ok:
        reading = read(args.file, weights, mode="openvino")
        if (model := model_with_sizes(reading)) is not None:
            return _answer(args, model)
        report.extend(reading.report)
        if reading.snippet is not None:
            findings = Findings(file=args.file)
            findings.add("U012", "the file contains layers without a model")
            report.extend(findings.report)
    write(Report(report.errors), sys.stderr)
    return 2


def _answer(args: argparse.Namespace, model: Model) -> int:
    from irexec.tools.shapes.rows import read_rows
    from irexec.tools.status import Status

    findings = Findings(file=args.file)
    rows: list[Row] | None = None
    try:
        with Status() as status:
            shapes = _studied(model, args, status, findings)
        if shapes is not None and args.check is not None and shapes.refusal is None:
            rows = read_rows(text_of(args.check, "the table of sizes"), shapes)
    except Unreadable as error:
        findings.add("U012", str(error), place=Place(file=args.check))
    if not findings.report.ok or shapes is None:
        write(findings.report, sys.stderr)
        return 2
    if not shapes.has_sizes:
        return _report_refusal(shapes)
    if args.unbake is not None:
        return _unbake(shapes, args.unbake)
    _print(args, shapes, rows)
    return 1 if any(row.refusal is not None for row in rows or ()) else 0


def _studied(model: Model, args: argparse.Namespace, status: Status, findings: Findings) -> Shapes | None:
    """Return the accepted shapes, given the inputs and sizes that options set; None, with findings, if one is wrong."""
    from irexec.model.graph.ports import port_name
    from irexec.tools.run.values import named
    from irexec.tools.shapes.ask import UnknownName, accepted_shapes

    given = named(args.shape, str, findings, "--shape", "image=?,3,?,?", last=True)
    if not findings.report.ok:
        return None
    try:
        seconds = math.inf if args.timeout is None else args.timeout
        progress = lambda count: status.show(f"{count} combinations of sizes")  # noqa: E731
        return accepted_shapes(model, given, seconds=seconds, progress=progress)
    except UnknownName as error:
        known = f"the inputs are {', '.join(port_name(value) for value in model.inputs)}"
        findings.add("U005", f"--shape: {error}", hint=error.hint or known)
    except WrongArgument as error:
        findings.add("U004", f"--shape: {error}")
    return None


def _report_refusal(shapes: Shapes) -> int:
    """Report that no accepted sizes were found, with the finding of the last layer that was reached."""
    if shapes.refusal is None:
        complain("irexec shapes: no sizes that the model accepts were found within the time limit")
        return 1
    write(Report([shapes.refusal.finding]), sys.stderr)
    told = "the model accepts none of the sizes tried; the finding above is about the last of them"
    complain(f"irexec shapes: {told if shapes.dims else 'the model rejects these sizes'}")
    return 1


def _unbake(shapes: Shapes, path: str) -> int:
    """Write the model without its baked constants, and print the changes."""
    from irexec.model.graph.write import write_model
    from irexec.tools.fixes.unbaked import CannotUnbake, unbaked

    try:
        made = unbaked(shapes)
    except CannotUnbake as error:
        complain(f"irexec shapes: {path} is not written: {error}")
        return 1
    try:
        write_model(made.model, path)
    except OSError as error:
        return refused(not_written(path, error))
    lines = [*map(str, made.changes), *(f"verified: {each}" for each in made.verified)]
    for line in (*lines, *(f"still fixed: {each}" for each in made.kept), f"saved {path}"):
        print_line(line)
    return 0


def _print(args: argparse.Namespace, shapes: Shapes, rows: Sequence[Row] | None) -> None:
    from irexec.tools.render.shapes import show_rows, show_shapes

    if args.format == "json":
        from irexec.tools.inspect.costs import costs

        answer = shapes.to_dict() | costs(shapes).to_dict(shapes.symbols)
        if rows is not None:
            answer["checked"] = [row.to_dict(shapes) for row in rows]
        print_json(answer)
        return
    with printout() as page:
        show_shapes(shapes, page)
        if rows is not None:
            show_rows(rows, shapes, page)
