"""pytest plugin: the fixture `ir_golden` compares runs of models with golden files; `pytest --ir-update` writes them.

pytest loads this file in every run, so slow imports are deferred until a test uses the fixture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from irexec.core.types import Array
    from irexec.tools.functions.golden import Golden

_WRITTEN: pytest.StashKey[dict[Path, dict[str, Array]]] = pytest.StashKey()
"""The golden files of this run with their values."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("irexec")
    group.addoption("--ir-update", action="store_true", help="write the golden files of models (irexec)")


@pytest.fixture
def ir_golden(request: pytest.FixtureRequest) -> Golden:
    """Return a function that compares the results of a model with golden files: `ir_golden("model.xml", {"x": array},
    layers=["conv1"])`.

    The golden files are in the folder `golden` beside the test's file, one for each test: `TestClass.test_name.npz`.
    """
    from irexec.tools.functions.golden import Golden

    folder = request.path.parent / "golden" / request.path.stem
    name = ".".join(node.name for node in request.node.listchain() if isinstance(node, pytest.Class | pytest.Item))
    written = request.config.stash.setdefault(_WRITTEN, {}) if request.config.getoption("--ir-update") else None
    return Golden(folder, name, written)
