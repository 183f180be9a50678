"""pytest plugin: `pytest --ir-doctest docs/` collects documentation pages, with each example of an IR as a test.

pytest loads this file in every run, so slow imports are deferred until the option is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from irexec.pages.doctest import Pending


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("irexec")
    group.addoption(
        "--ir-doctest", action="store_true", help="test the OpenVINO IR examples in documentation pages (irexec)"
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> PageFile | None:
    if not parent.config.getoption("--ir-doctest"):
        return None
    from irexec.pages.page import SUFFIXES

    return PageFile.from_parent(parent, path=file_path) if file_path.suffix.lower() in SUFFIXES else None


class WrongExample(Exception):
    """An example with errors, or an example that cannot be read."""


class PageFile(pytest.File):
    """A page; its tests are its examples."""

    def collect(self) -> Iterator[PageItem]:
        from irexec.pages.doctest import plan_page

        page, pending = plan_page(self.path)
        if not page.readable:
            raise self.CollectError(f"{self.path}: {page.problem}")
        several = len(set(page.about)) > 1
        for example in pending:
            parts = [example.about] if several and example.about else []
            if example.heading and example.heading not in parts:
                parts.append(example.heading)
            yield PageItem.from_parent(self, name=": ".join([*parts, example.label]), pending=example)


class PageItem(pytest.Item):
    """One example of a page."""

    def __init__(self, *, pending: Pending, **options: Any) -> None:
        super().__init__(**options)
        self.pending = pending

    def runtest(self) -> None:
        from irexec.pages.output import errata_text

        checked = self.pending.check()
        if checked.errata:
            raise WrongExample(errata_text([found.diagnostic for found in checked.errata]))
        if not checked.parsed:
            raise WrongExample(f"{self.path}:{checked.place.line}: {checked.not_executed}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, WrongExample):
            return str(excinfo.value).rstrip()
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        line = self.pending.place.line
        return self.path, None if line is None else line - 1, self.name
