"""pytest plugin: `pytest --ir-doctest docs/` collects documentation pages, with each example of an IR as a test.

pytest loads this file in every run, so slow imports are deferred until the option is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from irexec.tools.doctest.doctest import Pending
    from irexec.tools.settings import Settings

_SETTINGS: pytest.StashKey[Settings] = pytest.StashKey()
_EMPTY = pytest.StashKey[list[Path]]()
_MOST_SHOWN = 5
"""The number of pages without tests that are named."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("irexec")
    group.addoption(
        "--ir-doctest", action="store_true", help="test the OpenVINO IR examples in documentation pages (irexec)"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Read the settings of the project."""
    if config.getoption("--ir-doctest"):
        from irexec.tools.settings import read_settings

        config.stash[_SETTINGS], report = read_settings(str(config.invocation_params.dir))
        if not report.ok:
            raise pytest.UsageError(str(report.errors[0]))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> PageFile | None:
    if not parent.config.getoption("--ir-doctest"):
        return None
    from irexec.frontends.pages.page import SUFFIXES

    if file_path.suffix.lower() not in SUFFIXES:
        return None
    left_out = parent.config.stash[_SETTINGS].excludes(str(file_path)) and not parent.session.isinitpath(file_path)
    return None if left_out else PageFile.from_parent(parent, path=file_path)


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    """Name the pages that have no tests."""
    empty = config.stash.get(_EMPTY, [])
    shown = [
        *map(str, empty[:_MOST_SHOWN]),
        *([f"{len(empty) - _MOST_SHOWN} more"] if len(empty) > _MOST_SHOWN else []),
    ]
    return [f"irexec: no example in {', '.join(shown)}"] if empty else []


class WrongExample(Exception):
    """An example with errors, or an example that cannot be read."""


class PageFile(pytest.File):
    """A page; its tests are its examples."""

    def collect(self) -> Iterator[PageItem]:
        from irexec.tools.doctest.doctest import plan_page

        page, pending = plan_page(self.path)
        if not page.readable:
            raise self.CollectError(f"{self.path}: {page.problem}")
        if not pending:
            root = self.config.invocation_params.dir
            named = self.path.relative_to(root) if self.path.is_relative_to(root) else self.path
            self.config.stash.setdefault(_EMPTY, []).append(named)
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
        from irexec.tools.doctest.doctest import chosen
        from irexec.tools.doctest.output import errata_text

        checked = chosen(self.pending.check(), self.config.stash[_SETTINGS].choice)
        if checked.errata:
            raise WrongExample(errata_text(checked))
        if not checked.parsed:
            raise WrongExample(f"{self.path}:{checked.place.line}: {checked.not_executed}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, WrongExample):
            return str(excinfo.value).rstrip()
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        line = self.pending.place.line
        return self.path, None if line is None else line - 1, self.name
