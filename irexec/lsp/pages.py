"""Documentation pages in an editor: the findings of `irexec doctest` about the examples in a page, and their fixes."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from irexec.diagnostics import Report
from irexec.diagnostics.choice import EVERY, Choice
from irexec.fixes.applying import examine_page, improve
from irexec.fixes.written import Written
from irexec.ir.xml.source import Source
from irexec.lsp.analysis import Analysis
from irexec.pages.doctest import check_page
from irexec.pages.page import SUFFIXES


def is_page(path: str | None) -> bool:
    """Return whether a file is a page that contains examples, rather than a model."""
    return path is not None and Path(path).suffix.lower() in SUFFIXES and not path.lower().endswith(".xml")


class PageAnalysis(Analysis):
    """The analysis of one version of a page: its examples have findings; there is no model to navigate in."""

    def __init__(self, text: str, path: str, choice: Choice = EVERY) -> None:
        self.text, self.path = text, path
        self._source = Source(text, file=path)
        self._model = None
        self._ports = {}
        page = check_page(path, data=text.encode())
        # Most Markdown pages are not about operators and get no findings.
        self.report: Report = choice.of(page.report) if page.examples else Report()

    @cached_property
    def repaired(self) -> Report:
        return self.report

    @cached_property
    def written(self) -> Written | None:
        return None

    def fixed(self) -> str:
        return improve(self.text.encode(), lambda data: examine_page(data, self.path or ""), unsafe=False).data.decode()
