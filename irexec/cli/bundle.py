"""`irexec bundle`: the files written by `irexec reduce`, as one archive. Exit code: 0 if the archive is written, 2 if
there is nothing to pack.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator

from irexec.cli.inputs import check_readable, refused, refusing
from irexec.cli.options import add_older, add_output
from irexec.cli.streams import print_line


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="REPRO", help="the model written by irexec reduce (.xml, .onnx)")
    about = "replace the names of layers, tensors and files, and leave out runtime information and the report"
    add_older(parser, parser.add_argument("--anonymize", action="store_true", help=about), "--anonymise")
    add_output(parser, "OUT.zip", "the archive to write (default: REPRO with .zip)")


def outputs(args: argparse.Namespace) -> Iterator[tuple[str, list[str]]]:
    yield "-o", [_target(args)]


def run(args: argparse.Namespace) -> int:
    from pathlib import Path

    from irexec.tools.reduce.bundle import bundle

    report = check_readable(args.file)
    if not report.ok:
        return refused(report)
    target = _target(args)
    with refusing(args):
        names = bundle(Path(args.file), Path(target), anonymise=args.anonymize)
    print_line(f"saved {target}: {', '.join(names)}")
    return 0


def _target(args: argparse.Namespace) -> str:
    return str(args.output or f"{os.path.splitext(args.file)[0]}.zip")
