"""A sample of the campaign in benchmarks/compare.py: whichever layer goes wrong, a comparison names that one."""

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


def test_some_positions_of_a_model_with_whole_numbers_and_states(campaign) -> None:
    """A layer that makes a length may leave a model that nobody can run; it is counted by itself."""
    nodes = campaign.positions(reference("transformer"))
    assert {str(node.outputs[0].element_type) for node in nodes} >= {"f32", "i64"}
    found = campaign.plant(reference("transformer"), 7)
    assert found.named + len(found.stopped) == 7
    assert found.misjudged == []
