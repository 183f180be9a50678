"""The examples of many documentation pages."""

from __future__ import annotations

from dataclasses import dataclass, replace

from irexec.core.diagnostics import Report
from irexec.tools.doctest.doctest import Checked, CheckedPage, check_page
from irexec.tools.doctest.errata import Erratum
from irexec.tools.parallel.task import PathLike, Task


@dataclass(frozen=True)
class CheckPage(Task[CheckedPage]):
    """Check the examples of a page with `check_page`; the layers that were read are not returned."""

    words = (CheckedPage, Checked, Erratum)

    large: bool = False

    def __call__(self, item: str) -> CheckedPage:
        page = check_page(item, large=self.large)
        page.examples = [replace(example, example=None) for example in page.examples]
        return page

    def files(self, item: str) -> list[PathLike]:
        return [item]

    def report(self, result: CheckedPage) -> Report:
        return result.report
