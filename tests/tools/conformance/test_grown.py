"""Graphs grown from constraints: names recreate the same graph, and a failing graph is reduced."""

from __future__ import annotations

from pathlib import Path

import pytest

from irexec.tools.conformance.block import JudgeBlock, judged
from irexec.tools.conformance.clusters import clusters_of
from irexec.tools.conformance.defendant import Defendant
from irexec.tools.conformance.growing import groups
from irexec.tools.conformance.grown import draw_grown, layers_of
from irexec.tools.conformance.made import case_named
from irexec.tools.conformance.names import GraphName, UnreadableName
from irexec.tools.conformance.report import failures
from irexec.tools.conformance.simpler import simplest

RUNTIME = f"{Path(__file__).parents[2] / 'lib' / 'support' / 'wrong_runtime.py'}:Wrong"

pytestmark = pytest.mark.any_python


def test_a_name_makes_the_same_graph() -> None:
    layers, kinds = set(), set()
    for index in range(16):
        case = draw_grown(4, index)
        assert case is not None
        again = case_named(case.name)
        assert [node.type for node in again.model.nodes] == [node.type for node in case.model.nodes]
        for ours, theirs in zip(case.inputs, again.inputs, strict=True):
            assert [a.tobytes() for a in ours] == [a.tobytes() for a in theirs]
        layers |= set(case.facts["layers"].split())
        kinds.add(case.kind)
    assert kinds == {"static", "dynamic", "sequence"} and len(layers) > 20


def test_all_groups_have_operators() -> None:
    assert {name: len(found) > 20 for name, found in groups().items()} == dict.fromkeys(groups(), True)


def test_irexec_passes() -> None:
    task = JudgeBlock("irexec", '{"f32": {"mode": "kernels"}, "default": {"mode": "kernels"}}', seed=2)
    tally = task("graph.grown#0+10")
    assert set(tally.totals) <= {"passed", "open", "invalid"}, tally.findings


def test_a_failure_is_made_smaller_before_it_is_listed() -> None:
    """A cluster is named after the few layers that fail."""
    task = JudgeBlock(RUNTIME, '{"f32": {"type": "Reshape"}, "default": {"type": "Reshape"}}', seed=1)
    tally = task("graph.grown#0+10")
    found = failures(tally)
    assert found
    for cluster in clusters_of(found, tally):
        layers = cluster.findings[0].facts["layers"].split()
        assert "Reshape-1" in layers and len(layers) <= 3, cluster.title
    defendant = Defendant(RUNTIME, {"type": "Reshape"})
    name = simplest(found[0].name, lambda case: judged(case, defendant).word == "wrong")
    names = map(GraphName.parse, (name, found[0].name))
    fewer, more = map(layers_of, names)
    assert len(fewer) <= len(more)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("graph.grown/f32/r5/static/seed1", "expected graph.grown/TYPE/r5/layers="),
        ("graph.grown/f31/r5/layers=ReLU-1.3/static/seed1", "is not an element type"),
        ("graph.grown/f32/r5/layers=ReLU/static/seed1", "is not a layer"),
        ("graph.grown/f32/r5/layers=Rely-1.3/static/seed1", "is not an operator"),
        ("graph.grown/f32/r5/layers=LogicalNot-1.3/static/seed1", "does not accept any of the values"),
    ],
)
def test_texts_that_are_not_names(text: str, reason: str) -> None:
    with pytest.raises(UnreadableName, match=reason):
        case_named(text)
