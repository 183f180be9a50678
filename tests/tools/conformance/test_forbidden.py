"""Cases that the specification forbids: one constraint is violated; a refusal passes, a computed result is listed."""

from __future__ import annotations

from pathlib import Path

import pytest

from irexec.tools.conformance.block import judged
from irexec.tools.conformance.clusters import clusters_of
from irexec.tools.conformance.defendant import Defendant
from irexec.tools.conformance.drawing import draw, operators
from irexec.tools.conformance.made import case_named
from irexec.tools.conformance.report import accepted, failures, to_json
from irexec.tools.conformance.results import Finding, Tally

RUNTIME = f"{Path(__file__).parents[2] / 'lib' / 'support' / 'wrong_runtime.py'}:Wrong"
CHANNELS = "Convolution-1/f32/strides=1/pads_begin=0/pads_end=0/dilations=1/data=[1,2,5]/kernel=[3,3,2]/forbidden/seed1"
AXIS = "SoftMax-8/f32/axis=5/x=[2,3]/forbidden/seed1"

pytestmark = [pytest.mark.processes, pytest.mark.any_python]


def test_each_breaks_one_thing() -> None:
    reasons = []
    for operator in operators()[::8]:
        case = draw(operator, 3, 11)
        assert case is not None
        if "forbidden" in case.flags:
            reasons.append(case.facts["forbidden"])
            assert case_named(case.name).name == case.name
            if "attribute" not in case.facts["forbidden"]:
                assert case.facts["forbidden"] != "several constraints"
    assert len(reasons) > 20 and len(set(reasons)) > 6


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (AXIS, "C1"),
        (CHANNELS, "C4"),
        ("Abs-1/boolean/x=[2]/forbidden/seed1", "type of x"),
        ("SoftMax-8/f32/axis=one/x=[2,3]/forbidden/seed1", "attribute axis"),
    ],
)
def test_the_constraint_is_named(name: str, reason: str) -> None:
    assert case_named(name).facts["forbidden"] == reason


def test_verdicts() -> None:
    """irexec refuses; a runtime that computes a result is listed, and one that ends is wrong."""
    assert judged(case_named(AXIS), Defendant("irexec", {"mode": "kernels"})).word == "passed"
    crash = Defendant(RUNTIME, {"type": "Abs", "how": "crash"})
    assert judged(case_named("Abs-1/f32/x=[2]/seed1"), crash).word == "crash"
    lenient = "ReduceSum-1/f32/keep_dims=maybe/data=[2,3]/axes=const:i64[1]{1}/forbidden/seed1"
    assert judged(case_named(lenient), Defendant("irexec", {"mode": "kernels"})).word == "accepted"


def test_accepted_cases_are_clustered_by_their_constraint_and_are_not_failures() -> None:
    tally = Tally(runtime="lenient")
    for number in range(40):
        facts = {"type": "f32", "forbidden": "C1" if number % 2 else "C2"}
        tally.count("SoftMax-8", "f32", "static", "accepted", facts)
        tally.findings.append(Finding(f"SoftMax-8/{number}", "accepted", "", "SoftMax-8", "static", facts))
    assert failures(tally) == []
    found = clusters_of(accepted(tally), tally)
    assert sorted(c.common["forbidden"] for c in found) == ["C1", "C2"] and len(found[0].findings) == 20
    assert [c["count"] for c in to_json(tally, [], [], 0)["accepted"]] == [20, 20]
