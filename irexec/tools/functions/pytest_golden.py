"""pytest plugin: the fixture `ir_golden` compares runs of models with golden files; `pytest --ir-update` writes them.

pytest loads this file in every run, so slow imports are deferred until a test uses the fixture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from irexec.tools.functions.golden import Golden


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("irexec")
    group.addoption("--ir-update", action="store_true", help="write the golden files of models (irexec)")


@pytest.fixture
def ir_golden(request: pytest.FixtureRequest) -> Golden:
    """Return a function that compares the results of a model with golden files: `ir_golden("model.xml", {"x": array},
    layers=["conv1"])`.

    The golden files are in the folder `golden` beside the test's file, one for each test.
    """
    from irexec.tools.functions.golden import Golden

    folder = request.path.parent / "golden" / request.path.stem
    return Golden(folder, request.node.name, update=request.config.getoption("--ir-update"))
