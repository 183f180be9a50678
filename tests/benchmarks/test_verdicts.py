"""A sample of benchmarks/verdicts.py: planted faults are named, harmless changes agree."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.benchmark import benchmark
from support.failing import reference

from irexec.tools.compare.runtimes.runtime import OtherModel

pytestmark = pytest.mark.any_python

HOME = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def campaign(monkeypatch_module):
    return benchmark("verdicts")


@pytest.fixture(scope="module")
def monkeypatch_module():
    """The other files of the benchmark are found next to it, and nowhere else afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(HOME)
        yield patch


@pytest.mark.by_hand(1)
@pytest.mark.parametrize("through_a_dump", [False, True])
def test_faults_of_every_kind_are_named(campaign, through_a_dump: bool, tmp_path: Path) -> None:
    folder = tmp_path / "dump" if through_a_dump else None
    found = list(campaign.faults_of(reference("loop"), 0, 1, folder))
    assert len(found) >= 6
    named = ("exact", "group", "no effect") if through_a_dump else ("exact", "no effect")
    assert [entry for entry in found if entry[2] not in named] == []


@pytest.mark.by_hand(0)
def test_harmless_changes_agree(campaign) -> None:
    run = reference("transformer")
    kinds = []
    for kind, model in campaign.harmless(run.model):
        kinds.append(kind)
        outcome, verdict = campaign.judged(run, OtherModel("other.xml", model), frozenset(), False)
        assert outcome == "no effect", f"{kind}: {verdict}"
    assert len(kinds) >= 8
