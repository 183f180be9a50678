"""`irexec report`: one HTML file that shows a model, two side by side, or the examples of a page, in any browser."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from irexec.cli.extension import load_extensions
from irexec.cli.given import add_input_arguments
from irexec.cli.inputs import check_readable, exit_code, refuse
from irexec.cli.observe import add_observation_arguments, observations
from irexec.diagnostics import Place, Report
from irexec.diagnostics.findings import Findings
from irexec.diagnostics.render import write


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", help="a model (.xml, .onnx), or a page with examples (.rst, .md, .html, .txt)"
    )
    parser.add_argument(
        "-o", "--output", metavar="OUT.html", help="the file to write (default: FILE's name with .html, here)"
    )
    add_observation_arguments(parser)
    add_input_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from irexec.arrays.options import read_shapes
    from irexec.show.report.page import report_page
    from irexec.survey.read import read_survey

    findings = Findings()
    shapes = read_shapes(args.shape, findings)
    report = Report([*check_readable(args.file), *load_extensions(args.extension), *findings.report])
    output = Path(args.output or f"{Path(args.file).stem}.html")
    if report.ok and _is_page(args.file):
        from irexec.show.report.examples import examples_page

        return _save(output, examples_page(args.file))
    beside, observed = observations(args, report) if report.ok else (None, [])
    surveys = []
    for path, weights, given in ((args.file, args.weights, shapes), (beside, None, {})):
        if path is not None and report.ok:
            survey, found = read_survey(path, weights, given)
            if survey is None:
                report.extend(found)
            else:
                surveys.append(survey)
    if not report.ok or not surveys:
        write(report, sys.stderr)
        return 2
    return _save(output, report_page(surveys, observed))


def _is_page(path: str) -> bool:
    """Whether a file is a page that examples stand on: by its name, and an XML file when it holds loose layers."""
    from irexec.api import is_snippet
    from irexec.ir.xml.source import Source
    from irexec.pages.page import SUFFIXES

    suffix = Path(path).suffix.lower()
    return suffix in SUFFIXES and (suffix != ".xml" or is_snippet(Source.from_path(path)))


def _save(output: Path, text: str) -> int:
    from irexec.arrays.saving import save_text

    try:
        save_text(output, text)
    except OSError as error:
        place = Place(file=str(output))
        report = refuse("U007", f"the file cannot be written: {error.strerror or error}", place=place)
        write(report, sys.stderr)
        return exit_code(report)
    print(f"{output} ({len(text.encode()) / 1e6:.2g} MB)")
    return 0
