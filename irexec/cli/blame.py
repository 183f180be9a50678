"""`irexec blame`: everything about the cause of a wrong result, and a bundle to report it.

Exit code: 0 the bundle is written, 2 there is no failure or the model cannot be run.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from irexec.cli.carrying import carried_out, printed
from irexec.cli.given import add_input_arguments, load_with_inputs
from irexec.cli.inputs import refusing
from irexec.cli.options import add_bounds, add_config, add_limit, add_output, add_repeatable
from irexec.cli.streams import print_line


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="MODEL", help="a model (.xml, .onnx) with a wrong result")
    parser.add_argument(
        "--with",
        dest="other",
        default="openvino",
        metavar="RUNTIME",
        help="openvino, openvino:DEVICE or onnxruntime (.onnx only); default: openvino",
    )
    add_config(parser)
    add_limit(parser, 120, each="answer of the runtime")
    parser.add_argument(
        "--skip",
        action="append",
        default=[],
        choices=("reduce", "layer", "passes", "release", "settings"),
        help="leave out a part; may be repeated",
    )
    parser.add_argument("--releases", metavar="A,B,C|A..B", help="the releases to search, as in irexec bisect")
    parser.add_argument(
        "--environments",
        metavar="FOLDER",
        help="make virtual environments with pip in this folder, and use those that are there",
    )
    add_repeatable(parser, "--python", "PATH=RELEASE", "use an interpreter that has this release", dest="pythons")
    add_bounds(parser)
    add_input_arguments(parser, steps=True)
    add_output(parser, "OUT.zip", "the archive to write (default: blame.zip)", default="blame.zip")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="output format (default: text)")


def outputs(args: argparse.Namespace) -> Iterator[tuple[str, list[str]]]:
    yield "-o", [args.output]


def run(args: argparse.Namespace) -> int:
    from irexec.tools.bisect.bisect import interpreters
    from irexec.tools.functions.causes import FindCauses

    loaded = load_with_inputs(args)
    with refusing(args):
        pythons = interpreters(args.pythons)
    found = carried_out(args, FindCauses, loaded, pythons=pythons)
    code = printed(args, found)
    if args.format == "text":
        print_line(f"saved {args.output}: {', '.join(found.files)}")
    return code
