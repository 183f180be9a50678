"""`irexec show`: a model without running it, as text, JSON, a drawing, or a graph for Model Explorer."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from irexec.cli.given import weights_of
from irexec.cli.inputs import check_readable, exit_code, refuse, refused
from irexec.cli.options import (
    add_extensions,
    add_limit,
    add_output,
    add_random_weights,
    add_repeatable,
    add_shapes,
    add_weights,
)
from irexec.cli.shown import add_choice_arguments, begin, write_output
from irexec.cli.streams import print_json, print_line, printout, put, put_exactly
from irexec.core.diagnostics import IRError, Place, Report
from irexec.core.diagnostics.findings import Findings
from irexec.core.diagnostics.render import wants_color, write
from irexec.core.diagnostics.render.characters import inert_json

if TYPE_CHECKING:
    from irexec.frontends.reading import Reading
    from irexec.tools.inspect.facts import Summary


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="MODEL",
        help="a model (.xml, .onnx, .irt), an execution graph (.xml), or a folder with the parts of a language model",
    )
    parser.add_argument(
        "--format",
        choices=("text", "json", "svg", "model-explorer"),
        default="text",
        help="output format (default: text)",
    )
    for short in ("json", "svg"):
        parser.add_argument(f"--{short}", dest="format", action="store_const", const=short, help=argparse.SUPPRESS)
    parser.add_argument("--text", action="store_true", help="also print the layers, in the text form")
    add_repeatable(parser, "--layer", "NAME", "print only the layers with this name, in the text form")
    add_output(parser, "OUT", "the file to write, e.g. model.svg (default: standard output)")
    add_choice_arguments(parser)
    add_weights(parser)
    add_random_weights(parser, seed=True)
    add_shapes(parser)
    add_extensions(parser)
    add_limit(parser)


def outputs(args: argparse.Namespace) -> Iterator[tuple[str, list[str]]]:
    if args.output is not None:
        yield "-o", [args.output]


def run(args: argparse.Namespace) -> int:
    from irexec.frontends.reading import read
    from irexec.tools.inspect.read import summary_of
    from irexec.tools.run.values import read_shapes

    if os.path.isdir(args.file) and any(Path(args.file).glob("*.xml")):
        return _show_folder(args)
    findings = Findings()
    shapes = read_shapes(args.shape, findings)
    _, choice, report = begin(args)
    if args.format != "text" and (args.text or args.layer):
        report.extend(refuse("U003", f"{'--text' if args.text else '--layer'} requires --format text"))
    args.weights = weights_of(args, findings)
    report.extend([*check_readable(args.file), *findings.report])
    reading = read(args.file, args.weights, mode="strict") if report.ok else None
    summary, found = None, Report()
    if reading is not None:
        summary, found = summary_of(reading, shapes, choice, places=args.format != "text")
    report.extend(found)
    if reading is not None and (execution := _execution(args, reading)) is not None:
        return execution
    if summary is None:
        write(report, sys.stderr)
        return 2
    lines, wrong = _lines(args, reading)
    if not wrong.ok:
        return refused(wrong)
    text = lines if args.layer else _text(args, summary, report) + lines
    if args.output is None:
        put(text) if args.format == "text" else put_exactly(text if args.format == "svg" else inert_json(text))
        return exit_code(report)
    if code := write_output(args.output, text):
        return code
    print_line(args.output)
    return exit_code(report)


def _execution(args: argparse.Namespace, reading: Reading) -> int | None:
    """Show an execution graph, and return the exit code; None for any other file."""
    from irexec.tools.inspect.read import execution_in

    found = execution_in(reading)
    if found is None or args.format not in ("text", "json"):
        return None
    if args.format == "json":
        text = json.dumps(found.to_dict(), indent=2) + "\n"
    else:
        from irexec.tools.render.execution import show_execution
        from irexec.tools.render.printing import Printout

        page = Printout(color=args.output is None and wants_color(sys.stdout))
        show_execution(found, page)
        text = page.text
    if args.output is None:
        put(text) if args.format == "text" else put_exactly(inert_json(text))
        return 0
    return write_output(args.output, text)


def _show_folder(args: argparse.Namespace) -> int:
    """Print the parts of a language model."""
    from irexec.model.arrays.brief import plural
    from irexec.tools.language.folder import Folder
    from irexec.tools.language.parts import parts
    from irexec.tools.render.summary import shown_bytes

    _, _, report = begin(args)
    given = [option for option in ("output", "shape", "weights", "text", "layer") if getattr(args, option)]
    if given or args.format not in ("text", "json"):
        wrong = f"--{given[0]}" if given else f"--format {args.format}"
        report.extend(refuse("U003", f"{wrong} requires a model, not a folder", place=Place(args.file)))
    if not report.ok:
        return refused(report)
    found, errors = parts(Folder(Path(args.file)))
    if args.format == "json":
        print_json({"kind": "folder", "file": args.file, "parts": [part.to_dict() for part in found]})
    else:
        with printout() as page:
            page.line(args.file, "heading")
            for part in found:
                facts = [part.title]
                if part.layers:
                    facts.append(plural(part.layers, "layer"))
                if part.states:
                    facts.append(plural(part.states, "state"))
                facts += [f"{kind} {shown_bytes(size)}" for kind, size in [*part.weights.items()][:3]]
                facts += [f"compressed to {part.compressed}"] if part.compressed else []
                page.line(f"  {part.file}: {', '.join(facts)}; {', '.join(part.written_by)}".removesuffix("; "))
            page.findings(errors, verbose=False)
    return exit_code(errors)


def _lines(args: argparse.Namespace, reading: Reading | None) -> tuple[str, Report]:
    """Return the layers that the options ask for as lines of the text form, and what is wrong with their names."""
    from irexec.core.diagnostics.nearest import likely_names
    from irexec.frontends.text.printer import layer_lines, print_text

    if reading is None or reading.model is None or not (args.text or args.layer):
        return "", Report()
    model = reading.model
    try:
        if not args.layer:
            return f"\n{print_text(model, reading.document)}", Report()
        lines = [*layer_lines(model, reading.document, lambda layer: layer.name in args.layer)]
    except IRError as error:
        return "", error.report
    found = {layer.name for layer, _ in lines}
    for name in args.layer:
        if name not in found:
            hint = likely_names(name, (node.friendly_name for node in model.walk() if node.friendly_name))
            return "", refuse("U005", f"--layer {name}: no layer has this name", hint=hint)
    return "".join(f"{line}\n" for _, line in lines), Report()


def _text(args: argparse.Namespace, summary: Summary, report: Report) -> str:
    """Return the summary in the requested format."""
    if args.format == "json":
        return json.dumps(summary.to_dict(), indent=2) + "\n"
    if args.format == "model-explorer":
        from irexec.tools.render.model_explorer import graph_collection

        return json.dumps(graph_collection(summary), indent=1) + "\n"
    if args.format == "svg":
        from irexec.tools.render.drawing.svg import svg_document

        return svg_document(summary)
    from irexec.tools.render.printing import Printout
    from irexec.tools.render.summary import show

    page = Printout(color=args.output is None and wants_color(sys.stdout))
    show(summary, page)
    page.findings(report, verbose=False)
    return page.text
