"""The uses of a value: maintained by `Node.inputs`, in models that were read, built, copied or edited."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import irexec
from irexec.model.graph.copies import copied, copy_with_map
from irexec.model.graph.model import Model, Node

ops = irexec.opset8
SAMPLES = sorted((Path(__file__).parents[3] / "samples").rglob("*.xml"))


def assert_true_uses(model: Model) -> None:
    """Check that every edge of the model is a use, and every use of a value is an input that reads it."""
    nodes = [*model.nodes, *model.unreachable]
    expected = {
        (id(value), node, index) for node in nodes for index, value in enumerate(node.inputs) if value is not None
    }
    found = {(id(value), *use) for node in nodes for value in node.outputs for use in value.uses() if use[0] in nodes}
    assert found == expected


def models() -> Iterator[Model]:
    for path in SAMPLES:
        try:
            yield irexec.read_model(path)
        except irexec.IRError:
            continue


def small() -> tuple[Node, Node, Model]:
    x = ops.parameter([2, 3], np.float32, name="x")
    add = ops.add(x, x, name="add")
    return x, add, irexec.Model([ops.relu(add), ops.tanh(add)], [x], "small")


@pytest.mark.filterwarnings("ignore")
def test_the_uses_of_every_sample_are_its_edges() -> None:
    read = list(models())
    assert len(read) >= 3
    for model in read:
        for part in (model, copied(model)):
            assert_true_uses(part)
            for body in (body for node in part.walk() for body in node.bodies):
                assert_true_uses(body.model)


def test_a_node_that_takes_a_value_twice_uses_it_twice() -> None:
    x, add, _ = small()
    assert x.outputs[0].uses() == [(add, 0), (add, 1)]
    assert x.outputs[0].users == [add]


def test_assigned_inputs_replace_the_uses_of_the_earlier_ones() -> None:
    x, add, model = small()
    other = ops.constant(np.float32([[1, 2, 3]]))
    add.inputs = [other.outputs[0], x.outputs[0]]
    assert (x.outputs[0].uses(), other.outputs[0].uses()) == ([(add, 1)], [(add, 0)])
    add.replace_input_with(3, x.outputs[0])
    assert add.inputs[2] is None
    assert x.outputs[0].uses() == [(add, 1), (add, 3)]
    assert add in model.nodes


def test_inputs_change_by_assignment_alone() -> None:
    _, add, _ = small()
    with pytest.raises(TypeError):
        add.inputs[0] = None  # type: ignore[index]


def test_all_users_can_be_given_another_value() -> None:
    x, add, _ = small()
    negative = ops.negative(x)
    x.outputs[0].replace_uses(negative.outputs[0], keep=[negative])
    assert x.outputs[0].users == [negative]
    assert [*add.inputs] == [negative.outputs[0]] * 2


def test_a_value_does_not_keep_its_users_alive() -> None:
    x = ops.parameter([2], np.float32)
    ops.relu(x)
    gc.collect()
    assert x.outputs[0].users == []


def test_a_copy_has_uses_of_its_own() -> None:
    x, add, model = small()
    other, copies = copy_with_map(model)
    assert x.outputs[0].users == [add]
    assert copies[x].outputs[0].users == [copies[add]]
    assert (copies[add].name, copies[add].number) == (add.name, add.number)
    assert_true_uses(other)


def test_sinks_and_unreachable_nodes_are_copied() -> None:
    _, add, model = small()
    lonely = ops.sqrt(add, name="lonely")
    model.unreachable.append(lonely)
    other, copies = copy_with_map(model)
    assert other.unreachable == [copies[lonely]]
    assert copies[lonely].inputs[0] is copies[add].outputs[0]
