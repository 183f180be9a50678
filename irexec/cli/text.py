"""`irexec text`: prints a model in the text form, or writes it as a file that every command reads."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator

from irexec.cli.inputs import check_readable, exit_code_of_use, not_written, refused
from irexec.cli.options import add_extensions, add_limit, add_output, add_weights
from irexec.cli.streams import print_line, put_exactly
from irexec.core.diagnostics import IRError, Report
from irexec.core.diagnostics.render import write


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="MODEL", help="a model (.xml, .onnx, .irt)")
    add_output(parser, "OUT.irt", "the file to write, with a .bin file for large constants (default: standard output)")
    parser.add_argument(
        "--full", action="store_true", help="with everything in the file: tensor names, rt_info, ids, metadata"
    )
    add_weights(parser)
    add_extensions(parser)
    add_limit(parser)


def outputs(args: argparse.Namespace) -> Iterator[tuple[str, list[str]]]:
    if args.output is not None:
        from irexec.frontends.text.saving import has_own_weights
        from irexec.ir.weights.file import weights_beside

        copies = has_own_weights(args.output, _weights(args))
        yield "-o", [args.output, *([weights_beside(args.output)] if copies else [])]


def _weights(args: argparse.Namespace) -> str:
    """Return the path of the model's weights."""
    given: str | None = vars(args).get("weights")
    return os.path.splitext(args.file)[0] + ".bin" if given is None else given


def run(args: argparse.Namespace) -> int:
    from irexec.frontends.reading import read
    from irexec.frontends.text.printer import print_text
    from irexec.frontends.text.saving import save_text

    report = check_readable(args.file)
    if not report.ok:
        return refused(report)
    reading = read(args.file, args.weights)
    if reading.model is None:
        write(Report(reading.report.errors), sys.stderr)
        return exit_code_of_use(reading.report) or 2
    weights = _weights(args)
    try:
        if args.output is None:
            put_exactly(print_text(reading.model, reading.document, full=args.full))
        else:
            beside = weights if os.path.isfile(weights) else None
            files = save_text(reading.model, args.output, reading.document, full=args.full, weights=beside)
            print_line(f"{', '.join(files)}: written")
    except IRError as error:
        write(error.report, sys.stderr)
        return 1
    except OSError as error:
        return refused(not_written(args.output, error))
    return 0
