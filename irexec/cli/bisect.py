"""`irexec bisect`: find the release of OpenVINO or ONNX Runtime in which a failure appeared or disappeared, or the
settings that remove it.

Exit code: 0 a release or setting was found, 1 the answer is the same in all of them, 2 nothing could be checked.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from irexec.cli.carrying import carried_out, printed
from irexec.cli.given import add_input_arguments, load_with_inputs
from irexec.cli.inputs import check_readable, refuse, refused, refusing
from irexec.cli.options import add_bounds, add_config, add_limit, add_repeatable

if TYPE_CHECKING:
    from irexec.tools.functions.causes import Bisected


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        nargs="?",
        metavar="MODEL",
        help="a model whose results show the failure, or, with --check, which {} stands for in the command",
    )
    parser.add_argument(
        "--check",
        metavar="COMMAND",
        help="a command with {python}: another exit code than 0 means that the failure is there (default: the failure "
        "is a result that differs from irexec's, a rejected model, a crash or a timeout)",
    )
    parser.add_argument(
        "--with",
        dest="other",
        default="openvino",
        metavar="RUNTIME",
        help="openvino, openvino:DEVICE or onnxruntime (default: openvino)",
    )
    parser.add_argument(
        "--releases",
        metavar="A,B,C|A..B",
        help="the releases to search, as a list or as a range of those that pip finds; A.. ends with the newest",
    )
    parser.add_argument(
        "--settings",
        action="store_true",
        help="find the properties and variables of the runtime that remove the failure, or the optimizers of ONNX "
        "Runtime, in the newest release with the failure, or in the installed one",
    )
    parser.add_argument(
        "--environments",
        metavar="FOLDER",
        help="make virtual environments with pip in this folder, and use those that are there",
    )
    add_repeatable(parser, "--python", "PATH=RELEASE", "use an interpreter that has this release", dest="pythons")
    parser.add_argument("--resume", metavar="LOG.json", help="keep answers in this file, and do not repeat those in it")
    add_config(parser)
    add_bounds(parser)
    parser.add_argument("--format", choices=("text", "json"), default="text", help="output format (default: text)")
    add_limit(parser, 600, each="check")
    add_input_arguments(parser, steps=True)


def outputs(args: argparse.Namespace) -> Iterator[tuple[str, list[str]]]:
    if args.resume is not None:
        yield "--resume", [args.resume]


def run(args: argparse.Namespace) -> int:
    from irexec.tools.bisect.bisect import interpreters
    from irexec.tools.functions.causes import Bisect

    if (wrong := _misused(args)) is not None:
        return refused(refuse("U003", wrong))
    loaded = None if args.check is not None else load_with_inputs(args)
    if loaded is None and args.file is not None and not (report := check_readable(args.file)).ok:
        return refused(report)
    with refusing(args):
        pythons = interpreters(args.pythons)
        if loaded is None:
            return printed(args, _by_command(args, pythons))
    return printed(args, carried_out(args, Bisect, loaded, pythons=pythons))


def _misused(args: argparse.Namespace) -> str | None:
    """Return what is wrong with the options, if anything."""
    if args.check is None and args.file is None:
        return "give a model, or a command with --check"
    if args.releases is None and not args.settings:
        return "give --releases, --settings or both"
    if args.check is not None and args.settings:
        return "--settings requires the failure of a model, not that of a command"
    return None


def _by_command(args: argparse.Namespace, pythons: Mapping[str, str]) -> Bisected:
    """Return the release in which the command began or ceased to fail. Raises Refusal and IRError."""
    from irexec.tools.bisect.bisect import ByCommand, bisect
    from irexec.tools.bisect.environments import Environments, package_of
    from irexec.tools.functions.causes import Bisected, log_of
    from irexec.tools.status import Status

    environments = Environments(package_of(args.other), args.environments, pythons)
    asked = shlex.join([args.other, args.releases, args.check, args.file or ""])
    log = None if args.resume is None else log_of(args.resume, asked)
    keep = (lambda failures: None) if log is None else (lambda failures: log.keep(failures, None))
    check, releases = ByCommand(args.check, args.file, args.timeout), environments.releases(args.releases)
    with Status() as status:
        known = {} if log is None else log.failures
        return Bisected(bisect(check, releases, environments, status.show, known, keep), None)
