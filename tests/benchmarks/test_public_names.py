"""benchmarks/public_names.py: irexec has the modules and the public names of OpenVINO."""

from __future__ import annotations

from types import ModuleType

import pytest
from support.benchmark import benchmark

pytestmark = pytest.mark.any_python

pytest.importorskip("openvino")


@pytest.fixture(scope="module")
def names() -> ModuleType:
    return benchmark("public_names")


@pytest.mark.by_hand(0)
@pytest.mark.filterwarnings("ignore")
def test_no_module_and_no_name_is_missing_without_a_reason(names: ModuleType) -> None:
    missing = names.compare()
    assert (missing.modules, missing.names) == ([], [])
    assert missing.compared > 3000
    assert len(names.NO_NAMES) <= 10


def test_a_name_that_is_not_there_is_found(names: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    import irexec.api.openvino.experimental

    monkeypatch.delattr(irexec.api.openvino.experimental, "evaluate_both_bounds")
    assert "openvino.experimental.evaluate_both_bounds" in names.compare().names
