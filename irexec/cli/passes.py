"""`irexec passes`: the pass of OpenVINO's compiler that changes the results of a model.

Exit code: 0 all passes and the kernels keep the results, 1 a pass or a kernel is wrong, 2 the model could not be run.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from irexec.cli.carrying import carried_out, printed
from irexec.cli.given import add_input_arguments, load_with_inputs
from irexec.cli.inputs import add_format_argument
from irexec.cli.options import add_config, add_limit


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="MODEL", help="a model (.xml, .onnx, .irt)")
    parser.add_argument(
        "--with",
        dest="other",
        metavar="RUNTIME",
        default="openvino",
        help="openvino (default) or openvino:DEVICE; the passes of the CPU plugin can be shown",
    )
    add_config(parser)
    add_limit(parser, 600, each="compilation")
    add_input_arguments(parser, steps=True)
    show = parser.add_argument_group("output")
    add_format_argument(show, "json prints one object")
    show.add_argument(
        "--html",
        metavar="FILE.html",
        help="write a page with the changes of all passes, and the layer that is followed",
    )
    show.add_argument(
        "--layer", metavar="NAME", help="the layer to follow in the page (default: the one that a wrong pass changes)"
    )
    show.add_argument("--all", action="store_true", help="list all passes that change the graph")


def outputs(args: argparse.Namespace) -> Iterator[tuple[str, list[str]]]:
    if args.html is not None:
        yield "--html", [args.html]


def run(args: argparse.Namespace) -> int:
    from irexec.tools.functions.passes import FindPasses

    loaded = load_with_inputs(args)
    found = carried_out(args, FindPasses, loaded)
    if args.html is not None:
        from irexec.model.arrays.saving import save_text
        from irexec.tools.render.passes_page import passes_page

        save_text(args.html, passes_page(found, args.layer))
    return printed(args, found, loaded, all_passes=args.all)
