"""A seeded sample of the campaign in benchmarks/mutants.py: nothing escapes, and refusals have a line."""

from __future__ import annotations

import importlib.util
import os
import random
from pathlib import Path

import pytest
from support.mutants import mutant

from irexec.ops.declare.contents import CONTENTS

HOME = Path(__file__).parents[2]
COUNT = 150


@pytest.fixture(scope="module")
def campaign():
    spec = importlib.util.spec_from_file_location("mutants_campaign", HOME / "benchmarks" / "mutants.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_nothing_escapes(campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IREXEC_TRACEBACK", "1")
    # One example is written like the others, and its arrays of 150 MB would take half of the time.
    known = [original for original in campaign.originals([HOME / "samples"]) if original.path.stem != "example_5"]
    path, changed = tmp_path / "model.xml", set()
    for number in range(COUNT):
        rng = random.Random(f"sample/{number}")
        original, text = known[number % len(known)]
        mutated = mutant(text, rng, list(CONTENTS))
        changed.add(mutated)
        path.write_bytes(mutated.encode("utf-8", "surrogatepass"))
        campaign.with_weights(original, path)
        assert campaign.commands(str(path)) == [], mutated
    assert len(changed) > COUNT * 0.9


def test_what_the_campaign_would_say(campaign, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An exception, and an error without a line, are what it looks for."""
    answers = iter(['{"diagnostics": []}', '{"diagnostics": [{"severity": "error", "code": "O001", "message": "m"}]}'])

    def command(arguments: list[str]) -> int:
        print(next(answers))
        return 0

    monkeypatch.setattr(campaign, "irexec_main", command)
    found = campaign.commands("m.xml")
    assert [what.partition(":")[0] for what in found] == ["no line", "escape"]
    assert "StopIteration" in found[1]


def test_the_campaign_goes_on_behind_a_mutant_that_kills_its_process(
    campaign, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    taken = 0

    def deadly(path: str) -> list[str]:
        nonlocal taken
        taken += 1
        if taken == 3:
            os._exit(7)
        return ["escape: of some kind"] if taken == 2 else []

    monkeypatch.setattr(campaign, "commands", deadly)
    mutants = campaign.Campaign(campaign.originals([HOME / "samples"]), 0, tmp_path / "model.xml")
    found = [(outcome.number, outcome.wrong) for outcome in mutants.outcomes(10, 14)]
    assert found == [
        (10, []),
        (11, ["escape: of some kind"]),
        (12, ["escape: the process ended with code 7"]),
        (13, []),
    ]
