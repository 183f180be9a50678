"""A sample of benchmarks/compare.py: whichever layer is wrong, a comparison names exactly this layer."""

from __future__ import annotations

import pytest
from support.benchmark import benchmark
from support.failing import reference

pytestmark = pytest.mark.any_python


@pytest.fixture(scope="module")
def campaign():
    return benchmark("compare")


def test_bodies_are_among_the_positions(campaign) -> None:
    found = campaign.plant(reference("loop"))
    assert (found.named, found.stopped, found.misjudged) == (5, [], [])


@pytest.mark.by_hand(0)
def test_some_positions_of_a_model_with_integers_and_states(campaign) -> None:
    """A layer that computes a length may make the model impossible to run; it is counted separately."""
    nodes = campaign.positions(reference("transformer"))
    assert {str(node.outputs[0].element_type) for node in nodes} >= {"f32", "i64"}
    found = campaign.plant(reference("transformer"), 7)
    assert found.named + len(found.stopped) == 7
    assert found.misjudged == []
