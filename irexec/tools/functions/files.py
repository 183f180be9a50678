"""`report`, `fix` and `doctest` as functions."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from irexec.core.diagnostics import IRError, Report
from irexec.frontends.reading import read
from irexec.ir.io.files import unreadable
from irexec.model.arrays.brief import plural
from irexec.model.arrays.saving import save_text
from irexec.model.graph.model import Model
from irexec.model.inference import infer
from irexec.tools.diff.change import changes_dict
from irexec.tools.diff.diff import diff as find_changes
from irexec.tools.doctest.doctest import CheckedPage, check_page, find_pages
from irexec.tools.doctest.output import page_text, summary_text
from irexec.tools.fixes.applying import FixResult
from irexec.tools.fixes.difference import difference, made_text
from irexec.tools.fixes.files import fix_file
from irexec.tools.functions.given import Inputs, ModelLike, WeightsLike, model_of, name_of, names_of, reference_of
from irexec.tools.functions.result import Result
from irexec.tools.inspect.facts import Summary
from irexec.tools.inspect.observed import Changes, Observed
from irexec.tools.inspect.read import summary_of
from irexec.tools.inspect.record import run_traced
from irexec.tools.inspect.summary import summarize
from irexec.tools.render.printing import Printout
from irexec.tools.render.report.page import report_page
from irexec.tools.render.shapes import open_sizes

_HEIGHT = 600


@dataclass(frozen=True, slots=True, repr=False)
class ModelReport(Result):
    """The report on a model as one HTML page, whose text is `html`. A notebook shows the page in a frame."""

    name: str
    html: str

    @property
    def verdict(self) -> str:
        """A line with the name of the model and the size of the page."""
        return f"{self.name}, {len(self.html.encode()) / 1e6:.2g} MB of HTML"

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file."""
        save_text(path, self.html)
        return Path(path)

    def show(self, page: Printout) -> None:
        page.line(repr(self))

    def _repr_html_(self) -> str:
        # A frame keeps the styles and scripts of the page and of the notebook apart.
        frame = f'width="100%" height="{_HEIGHT}" sandbox="allow-scripts" style="border: 1px solid #ccc"'
        return f'<iframe {frame} srcdoc="{escape(self.html)}"></iframe>'


def report(
    model: ModelLike,
    other: ModelLike | None = None,
    inputs: Inputs | None = None,
    *,
    run: bool = False,
    weights: WeightsLike = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    seed: int = 0,
) -> ModelReport:
    """Make the HTML report on a model, or on two models and their differences, as `irexec report` does.

    `run`: also run the model and show the recorded values; giving `inputs` or `shapes` does so as well. Raises IRError.
    """
    found = [_summary(each, weights if each is model else None) for each in (model, other) if each is not None]
    observed: list[Observed] = []
    if other is not None:
        a, b = names_of(model, other)
        changes = find_changes(model_of(model, weights), model_of(other))
        observed.append(Changes.model_validate(changes_dict(a, b, changes)))
    if run or inputs is not None or shapes is not None:
        reference = reference_of(model_of(model, weights), inputs, shapes, seed)
        observed.append(run_traced(reference.model, reference.steps[0]))
    sizes = [open_sizes(own) for _, own in found] if shapes is None else []
    return ModelReport(name_of(model), report_page([summary for summary, _ in found], observed, sizes))


def _summary(model: ModelLike, weights: WeightsLike) -> tuple[Summary, Model | None]:
    """Return the summary of a model, with its findings, and the model; the model is None if the file has errors. Raises
    IRError.
    """
    if isinstance(model, Model):
        own = model_of(model)
        return summarize(own, infer(own).report), own
    reading = read(model, weights, mode="strict")
    found, findings = summary_of(reading)
    if found is None:
        raise IRError(findings)
    return found, reading.model


@dataclass(frozen=True, slots=True, repr=False)
class Fixed(Result):
    """A fixed file. `report`: the remaining findings. `diff`: the change as a unified diff. `data`: the new bytes."""

    path: str
    before: bytes
    result: FixResult

    @property
    def data(self) -> bytes:
        """The bytes of the file after the fixes."""
        return self.result.data

    @property
    def report(self) -> Report:
        """The remaining findings."""
        return self.result.report

    @property
    def diff(self) -> str:
        """The change as a unified diff; empty if the file did not change."""
        return difference(self.path, self.before, self.data)

    @property
    def verdict(self) -> str:
        """The numbers of fixed and of remaining findings, in one line."""
        made, left = plural(len(self.result.made), "finding"), plural(len(self.report), "finding")
        return f"{made} fixed in {self.path}, {left} left"

    def show(self, page: Printout) -> None:
        for line in (made_text(self.path, self.result) + str(self.report)).split("\n"):
            page.line(line)


def fix(
    path: str | os.PathLike[str],
    *,
    weights: str | os.PathLike[str] | None = None,
    unsafe: bool = False,
    write: bool = True,
) -> Fixed:
    """Apply the fixes of findings to a file, as `irexec fix` does; with `write=False` the file stays as it is.

    `unsafe`: also apply fixes that may change the results. Raises ValueError for a file that is not an IR, IRError and
    OSError.
    """
    try:
        before, result = fix_file(path, weights=weights, unsafe=unsafe, write=write)
    except FileNotFoundError as error:
        message, hint = unreadable(path, error)
        raise FileNotFoundError(error.errno, f"{message}; {hint}" if hint else message, os.fspath(path)) from None
    return Fixed(os.fspath(path), before, result)


@dataclass(frozen=True, slots=True, repr=False)
class CheckedPages(Result):
    """Documentation pages whose examples were checked. `ok`: no example has an error."""

    pages: tuple[CheckedPage, ...]

    @property
    def report(self) -> Report:
        """The report with the findings of all pages, in the order of the pages."""
        return Report([finding for page in self.pages for finding in page.report])

    @property
    def ok(self) -> bool:
        """Whether all pages are free of errors."""
        return self.report.ok

    @property
    def verdict(self) -> str:
        """The numbers of pages, examples and findings, in one line."""
        return summary_text(self.pages).partition("\n")[0]

    def __len__(self) -> int:
        return len(self.pages)

    def __iter__(self) -> Iterator[CheckedPage]:
        return iter(self.pages)

    def show(self, page: Printout) -> None:
        text = "".join(part for each in self.pages for part in page_text(each)) + summary_text(self.pages)
        for line in text.rstrip("\n").split("\n"):
            page.line(line)


def doctest(*pages: str | os.PathLike[str], large: bool = False) -> CheckedPages:
    """Run the examples of documentation pages, or of folders of pages, as `irexec doctest` does.

    No exception is raised for a page that cannot be read: its `problem` gives the reason. `large`: also run large
    examples that document no values.
    """
    return CheckedPages(tuple(check_page(file, large=large) for file in find_pages(pages)))
