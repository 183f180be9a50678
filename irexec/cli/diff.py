"""`irexec diff`: what changed between two models. Exit code: 0 nothing, 1 something, 2 one of both cannot be read."""

from __future__ import annotations

import argparse
import json
import sys

from irexec.cli.extension import load_extensions
from irexec.cli.given import add_input_arguments, load_with_inputs
from irexec.cli.inputs import add_format_argument, check_readable, refuse
from irexec.diagnostics import IRError, Report
from irexec.diagnostics.render import wants_color, write


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="A", help="a model (.xml, .onnx)")
    parser.add_argument("other", metavar="B", help="another one")
    parser.add_argument("--run", dest="both", action="store_true", help="run both, and compare the layers too")
    add_input_arguments(parser)
    add_format_argument(parser, "json: one object, which irexec report --diff reads")


def run(args: argparse.Namespace) -> int:
    from irexec.api import load
    from irexec.show.diff import show_changes
    from irexec.show.printing import Printout
    from irexec.trust.compare import compare
    from irexec.trust.diff import changes_dict, diff
    from irexec.trust.runtimes import CannotRun, OtherModel

    report = Report([*check_readable(args.file), *check_readable(args.other), *load_extensions(args.extension)])
    if not report.ok:
        return _refused(report)
    models = []
    for path, weights in ((args.file, args.weights), (args.other, None)):
        model, found = load(path, weights)
        if model is None or not found.ok:
            return _refused(found)
        models.append(model)
    try:
        changes = diff(*models)
        comparison = None
        if args.both:
            loaded, report = load_with_inputs(args)
            if loaded is None:
                return _refused(report)
            comparison = compare(loaded.reference, OtherModel(args.other))
    except CannotRun as error:
        return _refused(refuse("U006", f"--run: {error}"))
    except IRError as error:
        return _refused(error.report)
    if args.format == "json":
        text = changes_dict(args.file, args.other, changes)
        print(json.dumps(text | ({"run": comparison.to_dict()} if comparison is not None else {}), indent=2))
    else:
        page = Printout(color=wants_color(sys.stdout))
        show_changes(changes, args.file, args.other, page, comparison)
        sys.stdout.write(page.text)
    return 1 if changes else 0


def _refused(report: Report) -> int:
    write(Report(report.errors), sys.stderr)
    return 2
