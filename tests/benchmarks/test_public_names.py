"""benchmarks/public_names.py: irexec has the modules and the public names of OpenVINO."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.any_python

pytest.importorskip("openvino")
HOME = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def names() -> ModuleType:
    spec = importlib.util.spec_from_file_location("public_names", HOME / "benchmarks" / "public_names.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.filterwarnings("ignore")
def test_no_module_and_no_name_is_missing_without_a_reason(names: ModuleType) -> None:
    missing = names.compare()
    assert (missing.modules, missing.names) == ([], [])
    assert missing.compared > 3000
    assert len(names.NO_NAMES) <= 10


def test_a_name_that_is_not_there_is_found(names: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    import irexec.openvino.experimental

    monkeypatch.delattr(irexec.openvino.experimental, "evaluate_both_bounds")
    assert "openvino.experimental.evaluate_both_bounds" in names.compare().names
