"""`irexec cut`: a part of a model as a model of its own, with the inputs that reach it in a run."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from irexec.cli.given import Loaded, add_input_arguments, load_with_inputs
from irexec.cli.inputs import exit_code, refuse
from irexec.cli.options import whole
from irexec.diagnostics import Place, Report
from irexec.diagnostics.render import write

if TYPE_CHECKING:
    from irexec.trust.extract import Extract


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="MODEL", help="a model (.xml, .onnx)")
    what = parser.add_argument_group("what to cut out (layers by name; those of bodies too)")
    what.add_argument("--from", dest="begin", metavar="LAYER", help="the first layer; without it all that --to needs")
    what.add_argument("--to", metavar="LAYER", help="the last layer")
    what.add_argument("--around", metavar="LAYER", help="this layer and those near it")
    what.add_argument("--distance", type=whole(), default=0, metavar="N", help="how many edges away (default: 0)")
    what.add_argument("--iteration", type=whole(), default=0, metavar="N", help="of a body (default: 0, the first)")
    add_input_arguments(parser)
    parser.add_argument("--anonymise", action="store_true", help="other names, no rt_info, noise for values")
    parser.add_argument("--output", "-o", default="cut.xml", metavar="FILE", help="default: cut.xml, .bin and .npz")


def run(args: argparse.Namespace) -> int:
    from irexec.trust.select import select

    loaded, report = load_with_inputs(args)
    extract = None
    if loaded is not None:
        extract = select(
            loaded.reference,
            begin=args.begin,
            end=args.to,
            around=args.around,
            distance=args.distance,
            call=args.iteration,
            anonymise=args.anonymise,
            report=report,
        )
    if loaded is None or extract is None:
        write(Report(report.errors), sys.stderr)
        return exit_code(report) or 2
    return _save(extract, args.output, loaded)


def _save(extract: Extract, path: str, loaded: Loaded) -> int:
    from irexec.show.cut import show_extract
    from irexec.show.printing import Printout

    try:
        files = extract.save(path)
    except OSError as error:
        message = f"the file cannot be written: {error.strerror or error}"
        write(refuse("U007", message, place=Place(file=path)), sys.stderr)
        return 2
    page = Printout()
    show_extract(extract, [str(file) for file in files], loaded.reference.model, page)
    sys.stdout.write(page.text)
    return 1 if extract.checked is False else 0
