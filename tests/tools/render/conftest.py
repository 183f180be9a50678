"""A browser for the tests of a folder's module, and a report."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.browser import PROGRAM, Browser
from support.drawable import stacked

from irexec.tools.inspect.observed import read_observed
from irexec.tools.inspect.summary import summarize
from irexec.tools.render.report.page import report_page


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    assert PROGRAM is not None
    found = Browser(PROGRAM, tmp_path_factory.mktemp("profile"))
    yield found
    found.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of a report on twelve consecutive blocks, after a run in which one layer produced NaN."""
    folder = tmp_path_factory.mktemp("report")
    odd = '[{"element_type": "f32", "shape": [1, 8], "min": -1, "max": 1, "nan": %d}]'
    rows = ", ".join(
        f'{{"name": "net/layer.{n}/relu", "type": "ReLU", "seconds": {n + 1}e-3, "outputs": {odd % (3 * (n == 4))}}}'
        for n in range(12)
    )
    path = folder / "report.html"
    path.write_text(
        report_page([summarize(stacked(12))], [read_observed(f'{{"kind": "model", "trace": [{rows}]}}')]), "utf-8"
    )
    return path
