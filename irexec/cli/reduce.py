"""`irexec reduce`: the smallest model that still fails in the same way.

Exit code: 0 reduced, 2 there is no failure or the model cannot be run, 130 interrupted (the same command continues the
reduction).
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator

from irexec.cli.carrying import carried_out, printed
from irexec.cli.given import add_input_arguments, load_with_inputs
from irexec.cli.options import add_bounds, add_config, add_limit, add_output, whole
from irexec.cli.runtimes import add_python
from irexec.cli.streams import complain

# Further files of the smallest model: its inputs, script, report and state.
_BESIDE = (".bin", ".npz", ".json", ".py", ".md", ".expected.npz")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="MODEL", help="a model (.xml, .onnx, .irt)")
    fails = parser.add_argument_group("the failure to reproduce").add_mutually_exclusive_group(required=True)
    fails.add_argument(
        "--with",
        dest="other",
        metavar="RUNTIME",
        help="openvino, openvino:DEVICE or onnxruntime (.onnx only): a result that differs from irexec's, a "
        "rejected model, a crash or a timeout; or passes: a wrong pass of OpenVINO's compiler",
    )
    fails.add_argument(
        "--check",
        metavar="'COMMAND {}'",
        help="a program and its arguments, run on each candidate without a shell ({} is the file); the failure is its "
        "non-zero exit code",
    )
    add_config(parser)
    add_python(parser)
    add_limit(parser, 120, each="candidate")
    parser.add_argument(
        "--same",
        default="",
        metavar="REGEX",
        help="count only failures with a match in the output of the --check command, or in the runtime's error "
        "message and the layer types, e.g. Gelu",
    )
    parser.add_argument(
        "--tries",
        type=whole(1),
        default=1,
        metavar="N",
        help="run each candidate up to N times, until it fails (default: 1)",
    )
    parser.add_argument(
        "-j", "--jobs", type=whole(1), default=1, metavar="N", help="number of candidates tried at a time (default: 1)"
    )
    add_bounds(parser)
    add_input_arguments(parser, steps=True)
    add_output(
        parser,
        "OUT.xml",
        "the file to write, with .bin, .npz, .py, .md and .json files next to it (default: repro.xml; repro.onnx for "
        "an .onnx model, except with passes)",
        default="repro",
    )
    parser.add_argument(
        "--restart", action="store_true", help="start again instead of resuming an interrupted reduction"
    )


def outputs(args: argparse.Namespace) -> Iterator[tuple[str, list[str]]]:
    from irexec.tools.functions.reducing import suffix_of

    file = os.path.splitext(args.output)[0]
    yield "-o", [f"{file}{suffix}" for suffix in (suffix_of(args.file, args.other), *_BESIDE)]


def run(args: argparse.Namespace) -> int:
    from irexec.cli.interrupts import INTERRUPTED
    from irexec.tools.functions.reducing import Reduce

    try:
        return printed(args, carried_out(args, Reduce, load_with_inputs(args)))
    except KeyboardInterrupt as stopped:
        for file in stopped.args:
            complain(
                f"irexec reduce: interrupted; {file} is the smallest model so far; run the same command again "
                "to continue"
            )
        return INTERRUPTED
