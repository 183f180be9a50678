"""`irexec diff`: the differences between two models. Exit code: 0 none, 1 some, 2 a model cannot be read."""

from __future__ import annotations

import argparse
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING

from irexec.cli.extension import load_extensions
from irexec.cli.given import add_input_arguments, load_with_inputs
from irexec.cli.inputs import add_format_argument, check_readable, refuse, refused
from irexec.cli.options import add_limit
from irexec.cli.streams import print_json, printout, put
from irexec.core.diagnostics import Report

if TYPE_CHECKING:
    from irexec.frontends.reading import Reading
    from irexec.ir.weights.file import Weights
    from irexec.model.graph.model import Model
    from irexec.tools.inspect.execution import Execution


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="A", help="a model (.xml, .onnx, .irt), or an execution graph (.xml)")
    parser.add_argument("other", metavar="B", help="the model to compare with")
    parser.add_argument(
        "--run", dest="both", action="store_true", help="run both models and compare the results of their layers"
    )
    parser.add_argument("--text", action="store_true", help="also print the layers that differ, in the text form")
    add_input_arguments(parser, steps=True, random_weights=False)
    add_limit(parser)
    add_format_argument(parser, "json prints one object, which irexec report --diff reads")


def _graphs(files: list[str], readings: list[Reading]) -> list[Model]:
    """Return the readable graphs of two files, at least one of which has errors.

    An ONNX model with errors can be compared only as it is written, and only with another ONNX model.
    """
    from irexec.frontends.reading import is_onnx

    found = [reading.model for reading in readings]
    if None in found and all(map(is_onnx, files)):
        with suppress(ImportError):  # The absence of the package onnx is a finding of both files.
            from irexec.frontends.onnx.written import as_written

            found = [as_written(file) for file in files]
    return [_whole(model) for model in found if model is not None]


def _whole(model: Model) -> Model:
    """Return a model with all its layers, including those that lead to no result."""
    if not model.unreachable:
        return model
    from irexec.model.graph.model import Model

    return Model.of(model.results, model.parameters, model.name, [*model.sinks, *model.unreachable])


def run(args: argparse.Namespace) -> int:
    from irexec.frontends.reading import read
    from irexec.ir.weights.file import Weights
    from irexec.tools.compare.compare import compare
    from irexec.tools.compare.runtimes.runtime import CannotRun, OtherModel
    from irexec.tools.diff.change import changes_dict
    from irexec.tools.diff.diff import diff
    from irexec.tools.inspect.read import execution_in
    from irexec.tools.render.compare import show_changes

    report = Report([*check_readable(args.file), *check_readable(args.other), *load_extensions(args.extension)])
    if not report.ok:
        return refused(report)
    readings, unread = [read(args.file, args.weights), read(args.other)], ""
    executions = [execution_in(reading) for reading in readings]
    if None not in executions:
        return _executions(args, executions)
    lacking = [found for reading in readings if (found := _lacking(reading)) is not None]
    if lacking and not args.both and all(reading.document is not None for reading in readings):
        # Without the weights of one model, those of the other one cannot be compared either.
        readings = [read(file, Weights()) for file in (args.file, args.other)]
        unread = f"weights were not compared: {lacking[0].missing}"
    files = [args.file, args.other]
    broken = [number for number, reading in enumerate(readings) if not (unread or reading.report.ok)]
    if broken and not args.both:
        models = _graphs(files, readings)
    else:
        models = [reading.model for reading in readings if reading.model is not None and (unread or reading.report.ok)]
    if len(models) < len(readings):
        return refused(Report([error for reading in readings for error in reading.report.errors]))
    notes = [unread] if unread else []
    notes += [f"{files[number]} has errors: `irexec validate {files[number]}` lists them" for number in broken]
    try:
        changes = diff(*models)
        comparison = None
        if args.both:
            loaded = load_with_inputs(args, readings[0])
            comparison = compare(loaded.reference, OtherModel(args.other, models[1]))
    except CannotRun as error:
        return refused(refuse(error.code, f"--run: {error}"))
    if args.format == "json":
        text = changes_dict(args.file, args.other, changes)
        text |= {"run": comparison.to_dict()} if comparison is not None else {}
        text |= {"weights_compared": False} if unread else {}
        text |= {"with_errors": [files[number] for number in broken]} if broken else {}
        print_json(text)
    else:
        with printout() as page:
            show_changes(changes, args.file, args.other, page, comparison)
            for note in notes:
                page.line(note)
        if args.text and changes:
            put(_hunks(models, readings, files))
    return 1 if changes else 0


def _executions(args: argparse.Namespace, found: list[Execution | None]) -> int:
    """Print the differences between two execution graphs; return 1 if there are any."""
    from irexec.tools.inspect.execution import changes
    from irexec.tools.render.execution import show_execution_changes

    a, b = (each for each in found if each is not None)
    made = changes(a, b)
    if args.format == "json":
        rows = [asdict(each) for each in made]
        print_json({"kind": "executions", "a": args.file, "b": args.other, "changes": rows})
    else:
        with printout() as page:
            show_execution_changes(made, args.file, args.other, page)
    return int(bool(made))


def _hunks(models: list[Model], readings: list[Reading], files: list[str]) -> str:
    """Return the differing lines of the models' text forms, with the lines around them."""
    from irexec.core.diagnostics import IRError
    from irexec.tools.diff.hunks import hunks

    documents = [
        reading.document if reading.model is model else None for model, reading in zip(models, readings, strict=True)
    ]
    try:
        return "\n" + hunks(models, documents, files)
    except IRError:  # An ONNX model with operators or types that IR cannot represent.
        return ""


def _lacking(reading: Reading) -> Weights | None:
    """Return the weights of a model if their file is missing, and nothing else is wrong with the model."""
    from irexec.ir.weights.file import Weights

    codes = {finding.code for finding in reading.report.errors}
    is_complete = reading.model is not None and codes == {"C010"}
    return reading.weights if is_complete and isinstance(reading.weights, Weights) else None
