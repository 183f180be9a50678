"""A seeded sample of benchmarks/mutants.py: no exception escapes, and rejections have a line."""

from __future__ import annotations

import math
import os
import random
import resource
from pathlib import Path

import pytest
from support.amounts import amount
from support.benchmark import benchmark
from support.mutants import mutant

from irexec.ops.spec.contents import CONTENTS

pytestmark = pytest.mark.any_python

HOME = Path(__file__).parents[2]
COUNT = amount(150, 30)


@pytest.fixture(scope="module")
def campaign():
    return benchmark("mutants")


@pytest.mark.by_hand(0)
def test_nothing_escapes(campaign, tmp_path: Path) -> None:
    known = [original for original in campaign.originals([HOME / "samples"]) if campaign.declared(original) < 1 << 24]
    assert len(known) > 8
    path, changed, commands = tmp_path / "model.xml", set(), campaign.Commands()
    for number in range(COUNT):
        rng = random.Random(f"sample/{number}")
        original, text = known[number % len(known)]
        mutated = mutant(text, rng, list(CONTENTS))
        changed.add(mutated)
        path.write_bytes(mutated.encode("utf-8", "surrogatepass"))
        campaign.with_weights(original, path)
        assert commands(str(path)).wrong == [], mutated
    assert len(changed) > COUNT * 0.9


def test_what_the_campaign_would_say(campaign, tmp_path: Path) -> None:
    """The benchmark reports an exception, and an error without a line."""
    answers = iter(['{"diagnostics": []}', '{"diagnostics": [{"severity": "error", "code": "O001", "message": "m"}]}'])

    class Parser:
        def parse_args(self, arguments: list[str]) -> Parser:
            return self

        def run(self, arguments: object) -> None:
            print(next(answers))

    commands = campaign.Commands()
    commands._parser = Parser()
    found = commands("m.xml").wrong
    assert [what.partition(":")[0] for what in found] == ["no line", "escape"]
    assert "StopIteration" in found[1]


def test_what_is_too_costly(campaign) -> None:
    cheap = campaign.Outcome(0, [], validating=1.9, running=1.9, megabytes_validating=499, megabytes=499)
    assert not cheap.is_costly()
    assert cheap._replace(running=2.1).is_costly()
    assert cheap._replace(megabytes=501).is_costly()
    large = cheap._replace(bytes=100 << 20)
    assert not large._replace(running=3.0, megabytes=699).is_costly()
    assert large._replace(running=3.1).is_costly()
    assert large._replace(megabytes=701).is_costly()
    assert large._replace(validating=2.1).is_costly()


def test_what_a_run_holds(campaign) -> None:
    scalar = {"element_type": "i64", "shape": []}
    tensors = [{"element_type": "f32", "shape": [2, 3]}, {"element_type": "i64", "shape": None}]
    assert campaign.held_by({"examples": [{"inputs": tensors, "outputs": [scalar]}]}) == 32
    assert campaign.held_by({"inputs": tensors, "outputs": []}) == 24


def test_the_campaign_continues_after_a_mutant_that_kills_its_process(
    campaign, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    taken = 0

    def deadly(commands: object, path: str) -> object:
        nonlocal taken
        taken += 1
        if taken == 3:
            os._exit(7)
        return campaign.Outcome(0, ["escape: of some kind"] if taken == 2 else [])

    monkeypatch.setattr(campaign.Commands, "__call__", deadly)
    # The process is a copy of this one, which may have any amount of memory.
    for limit in ("SECONDS", "MEGABYTES"):
        monkeypatch.setattr(campaign, limit, math.inf)
    monkeypatch.setattr(campaign, "ADDRESS_SPACE", resource.RLIM_INFINITY)
    mutants = campaign.Campaign(campaign.originals([HOME / "samples"]), 0, tmp_path)
    found = [(outcome.number, outcome.wrong) for outcome in mutants.outcomes(range(10, 14))]
    assert found == [
        (10, []),
        (11, ["escape: of some kind"]),
        (12, ["escape: the process ended with code 7"]),
        (13, []),
    ]


@pytest.mark.by_hand(0)
def test_several_processes_share_the_mutants(campaign, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(campaign, "PER_PROCESS", 3)
    monkeypatch.setattr(campaign.Commands, "__call__", lambda commands, path: campaign.Outcome(0, []))
    mutants = campaign.Campaign(campaign.originals([HOME / "samples"]), 0, tmp_path)
    assert sorted(outcome.number for outcome in mutants.outcomes(range(20), jobs=2)) == list(range(20))
