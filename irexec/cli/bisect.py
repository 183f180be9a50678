"""`irexec bisect`: find the release of OpenVINO or ONNX Runtime in which a failure appeared or disappeared, or the
settings that remove it.

Exit code: 0 a release or setting was found, 1 the answer is the same in all of them, 2 nothing could be checked.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from irexec.cli.given import add_input_arguments, load_with_inputs
from irexec.cli.inputs import check_readable, refuse, refused, refusing
from irexec.cli.options import add_bounds, add_config, add_limit, add_repeatable
from irexec.cli.runtimes import bounds_of, config_of
from irexec.cli.streams import print_json, put
from irexec.core.diagnostics import IRError, Place

if TYPE_CHECKING:
    from irexec.tools.bisect.bisect import Bisection
    from irexec.tools.bisect.log import Log
    from irexec.tools.bisect.settings import SettingsFound
    from irexec.tools.run.record import Reference


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
    add_repeatable(parser, "--python", "PATH=RELEASE", "use an interpreter that has this release")
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
    if (wrong := _misused(args)) is not None:
        return refused(refuse("U003", wrong))
    reference: Reference | None = None
    if args.check is None:
        reference = load_with_inputs(args).reference
    elif args.file is not None and not (report := check_readable(args.file)).ok:
        return refused(report)
    with refusing(args):
        return _search(args, reference)


def _misused(args: argparse.Namespace) -> str | None:
    """Return what is wrong with the options, if anything."""
    if args.check is None and args.file is None:
        return "give a model, or a command with --check"
    if args.releases is None and not args.settings:
        return "give --releases, --settings or both"
    if args.check is not None and args.settings:
        return "--settings requires the failure of a model, not that of a command"
    return None


def _search(args: argparse.Namespace, reference: Reference | None) -> int:
    """Print the answers and return the exit code. Raises Refusal."""
    from irexec.tools.bisect.bisect import ByCommand, bisect, interpreters
    from irexec.tools.bisect.environments import Environments, package_of
    from irexec.tools.bisect.of_model import OfModel
    from irexec.tools.status import Status

    environments = Environments(package_of(args.other), args.environments, interpreters(args.python))
    log = _log(args, reference)
    found: list[Bisection | SettingsFound] = []
    with Status() as status:
        if reference is None:
            check, known = ByCommand(args.check, args.file, args.timeout), {} if log is None else log.failures
            keep = (lambda failures: None) if log is None else (lambda failures: log.keep(failures, None))
            releases = environments.releases(args.releases)
            found.append(bisect(check, releases, environments, status.show, known, keep))
        else:
            config, bounds, limit = config_of(args), bounds_of(args), args.timeout
            search = OfModel(reference, args.other, environments, config, bounds, limit, status.show)
            searched = None if args.releases is None else search.releases(args.releases, log)
            found += [] if searched is None else [searched]
            found += [search.settings(searched)] if args.settings else []
    if args.format == "json":
        print_json({name: value for one in found for name, value in one.to_dict().items()}, indent=1)
    else:
        put("\n".join(one.text() for one in found))
    return max(one.exit_code for one in found)


def _log(args: argparse.Namespace, reference: Reference | None) -> Log | None:
    """Return the answers of an interrupted search. Raises IRError."""
    from irexec.ir.beside import Unreadable
    from irexec.tools.bisect.log import Log
    from irexec.tools.reduce.repro import identity

    if args.resume is None:
        return None
    words = [args.other, args.releases or "", args.check or "", args.file or "", *args.config]
    asked = shlex.join([*words, str(args.atol), str(args.rtol)])
    try:
        return Log(args.resume, asked if reference is None else identity(reference, asked))
    except Unreadable as error:
        raise IRError(refuse("U012", str(error), place=Place(file=args.resume))) from None
