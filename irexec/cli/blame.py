"""`irexec blame`: everything about the cause of a wrong result, and a bundle to report it.

Exit code: 0 the bundle is written, 2 there is no failure or the model cannot be run.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from irexec.cli.given import add_input_arguments, load_with_inputs
from irexec.cli.inputs import refuse, refused
from irexec.cli.options import add_bounds, add_config, add_limit, add_output, add_repeatable
from irexec.cli.runtimes import bounds_of, config_of
from irexec.cli.streams import is_of_output, print_json, print_line, put
from irexec.core.diagnostics import WrongArgument


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
    add_limit(parser, 120, response="answer of the runtime")
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
    from irexec.tools.compare.runtimes.runtime import CannotRun
    from irexec.tools.reduce.case import NotACase
    from irexec.tools.status import Status

    loaded, report = load_with_inputs(args)
    if loaded is None:
        return refused(report)
    reference, config = loaded.reference, config_of(args)
    try:
        environments = Environments(package_of(args.other), args.environments, interpreters(args.python))
        with Status() as status:
            runtime = runtime_of(args.other, config, reference.model, args.limit_of_response)
            work = Blaming(
                reference, runtime, args.other, config, environments,
                releases=args.releases, skip=args.skip, bounds=bounds_of(args), limit=args.limit_of_response,
                progress=status.show,
            )  # fmt: skip
            found = work.run(Path(args.output))
    except CannotRun as error:
        return refused(refuse(error.code, f"--with {args.other}: {error}"))
    except NotACase as error:
        return refused(refuse("U012", str(error)))
    except WrongArgument as error:
        return refused(refuse("U004", str(error)))
    except OSError as error:
        if is_of_output(error):
            raise
        return refused(refuse("U007", f"{error.filename or args.output}: {error.strerror or error}"))
    if found is None:
        message = f"nothing to blame: {runtime.name} does not fail on {args.file} with these inputs"
        return refused(refuse("U011", message, hint=work.hint()))
    if args.format == "json":
        print_json(found.to_dict(), indent=1)
    else:
        put(found.text())
        print_line(f"saved {args.output}: {', '.join(found.files)}")
    return 0
