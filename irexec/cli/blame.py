"""`irexec blame`: everything about the cause of a wrong result, and a bundle to report it.

Exit code: 0 the bundle is written, 2 there is no failure or the model cannot be run.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from irexec.cli.given import add_input_arguments, load_with_inputs
from irexec.cli.inputs import refuse, refused, refusing
from irexec.cli.options import add_bounds, add_config, add_limit, add_output, add_repeatable
from irexec.cli.runtimes import bounds_of, config_of
from irexec.cli.streams import print_json, print_line, put


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
    add_repeatable(parser, "--python", "PATH=RELEASE", "use an interpreter that has this release")
    add_bounds(parser)
    add_input_arguments(parser, steps=True)
    add_output(parser, "OUT.zip", "the archive to write (default: blame.zip)", default="blame.zip")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="output format (default: text)")


def outputs(args: argparse.Namespace) -> Iterator[tuple[str, list[str]]]:
    yield "-o", [args.output]


def run(args: argparse.Namespace) -> int:
    from pathlib import Path

    from irexec.tools.bisect.bisect import interpreters
    from irexec.tools.bisect.environments import Environments, package_of
    from irexec.tools.blame.blame import Blaming
    from irexec.tools.compare.runtimes.choose import runtime_of
    from irexec.tools.status import Status

    reference, config = load_with_inputs(args).reference, config_of(args)
    with refusing(args), Status() as status:
        environments = Environments(package_of(args.other), args.environments, interpreters(args.python))
        runtime = runtime_of(args.other, config, reference.model, args.timeout)
        work = Blaming(
            reference, runtime, args.other, config, environments,
            releases=args.releases, skip=args.skip, bounds=bounds_of(args), limit=args.timeout,
            progress=status.show,
        )  # fmt: skip
        found = work.run(Path(args.output))
    if found is None:
        message = f"nothing to blame: {runtime.name} does not fail on {args.file} with these inputs"
        return refused(refuse("U011", message, hint=work.hint()))
    if args.format == "json":
        print_json(found.to_dict(), indent=1)
    else:
        put(found.text())
        print_line(f"saved {args.output}: {', '.join(found.files)}")
    return 0
