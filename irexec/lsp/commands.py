"""Commands of an editor about the text that is open: its report as an HTML file, and a run with random inputs."""

from __future__ import annotations

from pathlib import Path

from irexec.arrays.given import Given
from irexec.arrays.saving import save_text
from irexec.inspect.read import summary_of
from irexec.ir.xml.source import Source
from irexec.pages.page import SUFFIXES
from irexec.reading import read
from irexec.render.example import show_examples
from irexec.render.model import show_model
from irexec.render.printing import Printout
from irexec.render.report.examples import examples_page
from irexec.render.report.page import report_page
from irexec.render.shapes import open_sizes
from irexec.runs.run import run_model
from irexec.snippets.run import run_examples

REPORT, RUN, FIX = "irexec.showReport", "irexec.run", "irexec.fixAll"


class Impossible(Exception):
    """A command that a text does not allow; the message gives the reason."""


def write_report(text: str, path: str | None, folder: Path) -> Path:
    """Write the report of a text into a folder, and return the file. Raises Impossible and OSError."""
    name = Path(path or "model.xml")
    reading = read(Source(text, file=path), mode="strict")
    if reading.snippet is not None or (name.suffix.lower() in SUFFIXES and name.suffix.lower() != ".xml"):
        page = examples_page(path or "text", text.encode())
    else:
        summary, found = summary_of(reading)
        if summary is None:
            raise Impossible(f"no report can be made of this document: {found.errors[0].message}")
        page = report_page([summary], sizes=[open_sizes(reading.model)])
    file = folder / f"{name.stem}.html"
    save_text(file, page)
    return file


def run_text(text: str, path: str | None) -> str:
    """Run a model or a snippet with random inputs, and return the output of `irexec run`. Raises Impossible."""
    reading = read(Source(text, file=path))
    page = Printout(columns=100)
    if reading.snippet is not None:
        show_examples(run_examples(reading.snippet, Given()), page)
    elif reading.model is not None and reading.report.ok:
        show_model(run_model(reading.model, Given()), page)
    else:
        errors = reading.report.errors
        raise Impossible(f"the document cannot be run: {errors[0].message if errors else 'it contains no model'}")
    return page.text
