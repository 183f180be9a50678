"""`irexec report`: one HTML file that shows a model, or the examples of a page, in any browser."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from irexec.cli.extension import load_extensions
from irexec.cli.inputs import check_readable, exit_code
from irexec.diagnostics import Place, Report
from irexec.diagnostics.findings import Findings
from irexec.diagnostics.render import write

if TYPE_CHECKING:
    from irexec.survey.observed import Observed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", help="a model (.xml, .onnx), or a page with examples (.rst, .md, .html, .txt)"
    )
    parser.add_argument(
        "-o", "--output", metavar="OUT.html", help="the file to write (default: FILE's name with .html, here)"
    )
    parser.add_argument("--weights", metavar="BIN", help="the .bin file (default: beside FILE, with the same name)")
    parser.add_argument(
        "--shape", action="append", default=[], metavar="NAME=DIMS", help="of an open input: x=1,3,224,224"
    )
    parser.add_argument("--extension", action="append", default=[], metavar="PY", help="a file that declares operators")
    seen = parser.add_argument_group("what was observed, to be laid over the graph")
    for option, source in (("trace", "run --trace"), ("compare", "compare"), ("diff", "diff")):
        seen.add_argument(
            f"--{option}",
            action="append",
            default=[],
            metavar="FILE.json",
            help=f"what `irexec {source} --json` printed",
        )


def run(args: argparse.Namespace) -> int:
    from irexec.arrays.options import read_shapes
    from irexec.cli.main import COMMANDS
    from irexec.show.report.page import report_page
    from irexec.survey.read import read_survey

    findings = Findings()
    shapes = read_shapes(args.shape, findings)
    report = Report([*check_readable(args.file), *load_extensions(args.extension), *findings.report])
    output = Path(args.output or f"{Path(args.file).stem}.html")
    if report.ok and _is_page(args.file):
        from irexec.show.report.examples import examples_page

        return _save(output, examples_page(args.file))
    observed = _observed([*args.trace, *args.compare, *args.diff], report)
    survey, found = read_survey(args.file, args.weights, shapes) if report.ok else (None, Report())
    report.extend(found)
    if survey is None:
        write(report, sys.stderr)
        return exit_code(report) or 2
    text = report_page(survey, observed, cut="cut" in COMMANDS)
    return _save(output, text)


def _is_page(path: str) -> bool:
    """Whether a file is a page that examples stand on: by its name, and an XML file when it holds loose layers."""
    from irexec.api import is_snippet
    from irexec.ir.xml.source import Source
    from irexec.pages.page import SUFFIXES

    suffix = Path(path).suffix.lower()
    return suffix in SUFFIXES and (suffix != ".xml" or is_snippet(Source.from_path(path)))


def _observed(paths: list[str], report: Report) -> list[Observed]:
    from irexec.survey.observed import read_observed

    observed: list[Observed] = []
    for path in paths:
        missing = check_readable(path)
        report.extend(missing)
        if len(missing):
            continue
        try:
            observed.append(read_observed(Path(path).read_bytes()))
        except ValueError as error:
            findings = Findings()
            findings.add("U004", f"the file cannot be used: {error}", place=Place(file=path))
            report.extend(findings.report)
    return observed


def _save(output: Path, text: str) -> int:
    from irexec.arrays.saving import save_text

    try:
        save_text(output, text)
    except OSError as error:
        findings = Findings()
        findings.add("U007", f"the file cannot be written: {error.strerror or error}", place=Place(file=str(output)))
        write(findings.report, sys.stderr)
        return exit_code(findings.report)
    print(f"{output} ({len(text.encode()) / 1e6:.2g} MB)")
    return 0
