"""A sample of benchmarks/unseen_faults.py: every fault with an effect is named, with experiments that hold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.benchmark import benchmark

from irexec.tools.compare.compare import compare
from irexec.tools.compare.runtimes.runtime import Aligned, OtherModel
from irexec.tools.run.record import Reference

pytestmark = pytest.mark.any_python

HOME = Path(__file__).parents[2] / "benchmarks"
FAMILIES = ["integers", "ties", "quantization", "scales", "cancelling", "loops", "states"]


@pytest.fixture(scope="module")
def campaign():
    """The other files of the benchmark are found next to it, and nowhere else afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(HOME)
        yield benchmark("unseen_faults")


def test_the_families(campaign) -> None:
    assert [*campaign.FAMILIES] == FAMILIES


@pytest.mark.parametrize("name", FAMILIES)
def test_faults_are_named_and_proved(campaign, name: str) -> None:
    family = campaign.FAMILIES[name]
    model, steps = family.build(np.random.default_rng(0), "")
    run, outcomes = Reference(model, steps), []
    for fault, layers in [("", ""), *family.faults.items()]:
        other = family.build(np.random.default_rng(0), fault)[0]
        there = bool(layers) and campaign.effect(run, Reference(other, steps)) is not False
        outcome, verdict = campaign.judged(run, OtherModel("other.xml", other), frozenset(layers.split()), there)
        assert outcome in ("exact", "no effect"), f"{fault}: {verdict}"
        outcomes.append(outcome)
    assert outcomes.count("exact") >= 5


def test_a_proof_that_does_not_hold_is_noticed(campaign) -> None:
    family = campaign.FAMILIES["cancelling"]
    model, steps = family.build(np.random.default_rng(0), "")
    run = Reference(model, steps)
    found = compare(run, OtherModel("other.xml", family.build(np.random.default_rng(0), "first")[0]))
    assert found.culprit is not None and campaign.unproved(run, found) == ""
    right = run.record(found.culprit.outputs)[0]
    found.culprit.outputs = {value: right[value] for value in found.culprit.outputs}
    assert campaign.unproved(run, found) == "the values of the named layers do not change the results"
    found.proof = ""
    assert campaign.unproved(run, found) == "no proof"


def test_a_repair_that_does_not_hold_is_noticed(campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    family = campaign.FAMILIES["scales"]
    model, steps = family.build(np.random.default_rng(0), "")
    run = Reference(model, steps)
    fault = next(fault for fault, layers in family.faults.items() if layers)
    other = OtherModel("other.xml", family.build(np.random.default_rng(0), fault)[0])
    found = compare(run, other)
    assert found.culprit is not None and "with irexec's" in found.proof
    assert campaign.unproved(run, found, other) == ""
    monkeypatch.setattr(Aligned, "changed", lambda self, steps, values: [[a + 1000 for a in r] for r in found.plain])
    assert campaign.unproved(run, found, other).startswith(
        "with irexec's values of the named layers, the other side is "
    )
