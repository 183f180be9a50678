"""`irexec show`: a model without running it, as text, JSON, a drawing, or a graph for Model Explorer."""

from __future__ import annotations

import argparse
import json
import sys

from irexec.cli.extension import load_extensions
from irexec.cli.inputs import check_readable
from irexec.cli.options import add_extensions, add_limit, add_shapes, add_weights
from irexec.diagnostics import Report
from irexec.diagnostics.findings import Findings
from irexec.diagnostics.render import wants_color, write


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="MODEL", help="a model (.xml, .onnx)")
    parser.add_argument(
        "--format",
        choices=("text", "json", "svg", "model-explorer"),
        default="text",
        help="output format (default: text)",
    )
    for short in ("json", "svg"):
        parser.add_argument(f"--{short}", dest="format", action="store_const", const=short, help=argparse.SUPPRESS)
    add_weights(parser, "MODEL")
    add_shapes(parser)
    add_extensions(parser)
    add_limit(parser)


def run(args: argparse.Namespace) -> int:
    from irexec.inspect.read import read_summary
    from irexec.render.printing import Printout
    from irexec.render.summary import show
    from irexec.runs.values import read_shapes

    findings = Findings()
    shapes = read_shapes(args.shape, findings)
    report = Report([*check_readable(args.file), *load_extensions(args.extension), *findings.report])
    summary, found = read_summary(args.file, args.weights, shapes) if report.ok else (None, Report())
    report.extend(found)
    if summary is None:
        write(report, sys.stderr)
        return 2
    if args.format == "json":
        print(json.dumps(summary.to_dict(), indent=2))
        return 0
    if args.format == "model-explorer":
        from irexec.render.model_explorer import graph_collection

        print(json.dumps(graph_collection(summary), indent=1))
        return 0
    if args.format == "svg":
        from irexec.render.drawing.svg import svg_document

        sys.stdout.write(svg_document(summary))
        return 0
    page = Printout(color=wants_color(sys.stdout))
    show(summary, page)
    page.findings(report, verbose=False)
    sys.stdout.write(page.text)
    return 0
