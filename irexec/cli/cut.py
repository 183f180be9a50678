"""`irexec cut`: extract part of a model as a standalone model, with the inputs recorded in a run."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from irexec.cli.given import Loaded, add_input_arguments, findings_and_inputs
from irexec.cli.inputs import exit_code_of_use, not_written, refused
from irexec.cli.options import add_limit, add_older, add_output, whole
from irexec.cli.streams import put
from irexec.core.diagnostics import Report
from irexec.core.diagnostics.render import write

if TYPE_CHECKING:
    from irexec.tools.cut.extract import Extract


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="MODEL", help="a model (.xml, .onnx, .irt)")
    what = parser.add_argument_group("part to extract (layer names; layers inside bodies are allowed)")
    what.add_argument(
        "--from",
        dest="begin",
        metavar="LAYER",
        help="the first layer (default: include all layers that --to depends on)",
    )
    what.add_argument("--to", metavar="LAYER", help="the last layer")
    what.add_argument("--around", metavar="LAYER", help="extract this layer, and with --distance its neighbours")
    what.add_argument(
        "--distance",
        type=whole(),
        default=0,
        metavar="N",
        help="also extract layers up to N edges away from --around (default: 0)",
    )
    what.add_argument(
        "--iteration",
        type=whole(),
        default=0,
        metavar="N",
        help="iteration to record, for layers inside a body (default: 0, the first)",
    )
    add_input_arguments(parser)
    add_limit(parser)
    about = "replace names and values with random ones and drop rt_info"
    add_older(parser, parser.add_argument("--anonymize", action="store_true", help=about), "--anonymise")
    add_output(
        parser, "OUT.xml", "the file to write (default: cut.xml), with .bin, .irt and .npz beside it", default="cut.xml"
    )


def outputs(args: argparse.Namespace) -> Iterator[tuple[str, list[str]]]:
    file = os.path.splitext(args.output)[0]
    yield "-o", [f"{file}{suffix}" for suffix in (".xml", ".bin", ".irt", ".npz")]


def run(args: argparse.Namespace) -> int:
    from irexec.tools.cut.select import select

    loaded, report = findings_and_inputs(args)
    extract = None
    if loaded is not None:
        extract = select(
            loaded.reference,
            begin=args.begin,
            end=args.to,
            around=args.around,
            distance=args.distance,
            call=args.iteration,
            anonymise=args.anonymize,
            report=report,
        )
    if loaded is None or extract is None:
        write(Report(report.errors), sys.stderr)
        return exit_code_of_use(report) or 2
    return _save(extract, args.output, loaded)


def _save(extract: Extract, path: str, loaded: Loaded) -> int:
    from irexec.tools.render.cut import show_extract
    from irexec.tools.render.printing import Printout

    try:
        files = extract.save(path)
    except OSError as error:
        return refused(not_written(path, error))
    page = Printout()
    show_extract(extract, [str(file) for file in files], loaded.reference.model, page)
    put(page.text)
    return 1 if extract.checked is False else 0
