"""`irexec report`: an HTML file that shows a model, two models side by side, or the examples of a page."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from irexec.cli.given import add_input_arguments, weights_of
from irexec.cli.inputs import check_readable
from irexec.cli.observe import add_observation_arguments, observations
from irexec.cli.options import add_limit, add_output
from irexec.cli.shown import add_choice_arguments, begin, write_output
from irexec.cli.streams import print_line
from irexec.core.diagnostics.findings import Findings
from irexec.core.diagnostics.render import write
from irexec.ir.io.guard import reads
from irexec.ir.xml.source import Source, bytes_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a model (.xml, .onnx, .irt), a snippet (.xml), or a page with examples (.rst, .md, .html, .txt)",
    )
    add_output(parser, "OUT.html", "the file to write (default: the name of FILE with .html, in the current folder)")
    add_choice_arguments(parser)
    add_observation_arguments(parser)
    add_input_arguments(parser)
    add_limit(parser)


def outputs(args: argparse.Namespace) -> Iterator[tuple[str, list[str]]]:
    yield "-o", [_output(args)]


def run(args: argparse.Namespace) -> int:
    from irexec.frontends.pages.page import SUFFIXES
    from irexec.frontends.reading import holds_printed_layers, read
    from irexec.tools.inspect.read import summary_of
    from irexec.tools.parallel.inputs import option_files
    from irexec.tools.render.report.page import report_page
    from irexec.tools.render.shapes import SizeRows, open_sizes
    from irexec.tools.run.values import read_shapes

    findings = Findings()
    shapes = read_shapes(args.shape, findings)
    _, choice, report = begin(args)
    args.weights = weights_of(args, findings)
    report.extend([*check_readable(args.file), *findings.report])
    for named in option_files(args.input):  # Without --run the values are not used.
        reads(named, "a file of arrays")
    output = Path(_output(args))
    # An .xml file may hold a model or the layers of a page.
    suffix = Path(args.file).suffix.lower()
    given: str | Source = args.file
    if report.ok and suffix in SUFFIXES:
        data = bytes_of(args.file)
        given = Source.from_bytes(data, args.file)
        if suffix != ".xml" or holds_printed_layers(given):
            from irexec.tools.render.report.examples import examples_page

            return _save(output, examples_page(args.file, data))
    reading = read(given, args.weights, mode="strict") if report.ok else None
    beside, observed = observations(args, reading, report) if reading is not None else (None, [])
    summaries, sizes = [], []
    for read_one, extents in ((reading, shapes), (beside, {})):
        if read_one is not None and report.ok:
            summary, found = summary_of(read_one, extents, choice)
            if summary is None:
                report.extend(found)
            else:
                summaries.append(summary)
                sizes.append(SizeRows() if extents else open_sizes(read_one.model))
    if not report.ok or not summaries:
        write(report, sys.stderr)
        return 2
    return _save(output, report_page(summaries, observed, sizes))


def _output(args: argparse.Namespace) -> str:
    """Return the path of the file to write."""
    return args.output or f"{Path(args.file).stem}.html"


def _save(output: Path, text: str) -> int:
    if not (code := write_output(str(output), text)):
        print_line(f"{output} ({len(text.encode()) / 1e6:.2g} MB)")
    return code
