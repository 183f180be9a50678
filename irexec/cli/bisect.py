"""`irexec bisect`: find the release of OpenVINO or ONNX Runtime in which a failure appeared or disappeared.

Exit code: 0 a release was found, 1 the answer is the same in all releases, 2 nothing could be checked.
"""

from __future__ import annotations

import argparse

from irexec.cli.inputs import check_readable, refuse, refused
from irexec.cli.options import add_limit, add_repeatable
from irexec.cli.streams import print_json, put
from irexec.core.diagnostics import Report, WrongArgument


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", nargs="?", metavar="MODEL", help="a model, which {} stands for in the command (default: none)"
    )
    parser.add_argument(
        "--check",
        required=True,
        metavar="COMMAND",
        help="a command with {python}: another exit code than 0 means that the failure is there",
    )
    parser.add_argument(
        "--with",
        dest="package",
        default="openvino",
        choices=("openvino", "onnxruntime"),
        help="the package whose releases are searched (default: openvino)",
    )
    parser.add_argument(
        "--releases",
        required=True,
        metavar="A,B,C|A..B",
        help="the releases to search, as a list or as a range of those that pip finds; A.. ends with the newest",
    )
    parser.add_argument(
        "--environments",
        metavar="FOLDER",
        help="make virtual environments with pip in this folder, and use those that are there",
    )
    add_repeatable(parser, "--python", "PATH=RELEASE", "use an interpreter that has this release")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="output format (default: text)")
    add_limit(parser, 600, each="check")


def run(args: argparse.Namespace) -> int:
    from irexec.tools.bisect.bisect import ByCommand, bisect, interpreters
    from irexec.tools.bisect.environments import Environments, NoRelease
    from irexec.tools.status import Status

    report = check_readable(args.file) if args.file is not None else Report()
    if not report.ok:
        return refused(report)
    try:
        check = ByCommand(args.check, args.file, args.limit_of_each)
        environments = Environments(args.package, args.environments, interpreters(args.python))
        releases = environments.releases(args.releases)
    except WrongArgument as error:
        return refused(refuse("U004", str(error)))
    except NoRelease as error:
        return refused(refuse("U005", f"--releases: {error}"))
    with Status() as status:
        found = bisect(check, releases, environments, status.show)
    if args.format == "json":
        print_json(found.to_dict(), indent=1)
    else:
        put(found.text())
    return found.exit_code
