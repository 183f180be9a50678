"""Alignment of two models: layers are paired by what they compute, then by structure, then by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irexec
from irexec import Model, Node
from irexec import opset15 as ops
from irexec.model.graph.copies import copy_with_map
from irexec.model.graph.order import ordered
from irexec.tools.compare.align import Alignment, align

F = np.float32
WEIGHTS = np.random.default_rng(0).normal(0, 1, (6, 8, 8)).astype(F)


def block(value: Any, number: int) -> Any:
    product = ops.matmul(value, WEIGHTS[number], name=f"MatMul_{number}")
    return ops.relu(ops.add(product, F(number + 1), name=f"Add_{number}"), name=f"ReLU_{number}")


def chain(count: int = 4, skip: int | None = None) -> Model:
    x = value = ops.parameter([2, 8], F, name="x")
    for number in range(count):
        if number != skip:
            value = block(value, number)
    return Model([ops.softmax(value, 1, name="probabilities")], [x], "chain")


def pairs(found: Alignment) -> dict[str, str]:
    return {one.friendly_name: other.friendly_name for one, other in found.forward.items() if one.type != "Const"}


def layers(model: Model) -> list[Node]:
    return [node for node in model.nodes if node.type != "Const"]


def as_numbers(nodes: list[Node]) -> list[str]:
    """Return numbers as names, as tensors without names have them: in another export, a number is another
    layer's name.
    """
    return [str(38 + number) for number in range(len(nodes))]


def shifted(nodes: list[Node]) -> list[str]:
    """Give each layer the name of the next layer of its type."""
    names = {node: node.friendly_name for node in nodes}
    same = {node: [other for other in nodes if other.type == node.type] for node in nodes}
    return [names[same[node][(same[node].index(node) + 1) % len(same[node])]] for node in nodes]


def backwards(nodes: list[Node]) -> list[str]:
    return as_numbers(nodes)[::-1]


@pytest.mark.parametrize("rename", [as_numbers, shifted, backwards])
@pytest.mark.parametrize("tensors", [True, False])
def test_other_names_change_nothing(rename: Callable[[list[Node]], list[str]], tensors: bool) -> None:
    right = chain()
    other, copies = copy_with_map(right)
    nodes = layers(other)
    for node, name in zip(nodes, rename(nodes), strict=True):
        node.friendly_name = name
        for value in node.outputs:
            value.names = {name} if tensors else set()
    found = align(right, other)
    assert {one: two for one, two in found.forward.items() if one.type != "Const"} == {
        node: copies[node] for node in layers(right)
    }


def test_a_layer_less_shifts_all_names_and_no_pairs() -> None:
    """Without the first block, the layers numbered 1 to 3 are numbered 0 to 2."""
    right, other = chain(), chain(skip=0)
    for node in layers(other):
        kind, _, number = node.friendly_name.rpartition("_")
        if kind:
            node.friendly_name = f"{kind}_{int(number) - 1}"
    found = align(right, other)
    paired = {one.friendly_name: one for one in found.forward}
    for number in range(1, 4):
        one = paired[f"MatMul_{number}"]
        np.testing.assert_array_equal(
            one.inputs[1].node.constant,
            found.forward[one].inputs[1].node.constant,  # type: ignore[union-attr]
        )


def test_another_order_of_the_nodes() -> None:
    x = ops.parameter([2, 8], F, name="x")
    ends = [ops.tanh(block(x, number), name=f"end{number}") for number in range(3)]
    right = Model(ends, [x], "ends")
    other, copies = copy_with_map(right)
    other.nodes = ordered([*other.results[::-1], *other.parameters])
    assert all(copies[node] is found for node, found in align(right, other).forward.items())


def test_operands_in_another_order() -> None:
    right = chain()
    other, copies = copy_with_map(right)
    for node in layers(other):
        node.friendly_name = f"n{node.number}"
        if node.type == "Add":
            node.inputs = list(node.inputs)[::-1]
    found = align(right, other)
    assert all(found.forward[node] is copies[node] for node in layers(right))


def test_inputs_and_results_are_paired_by_name_whatever_their_order() -> None:
    def model(swapped: bool) -> Model:
        a, b = (ops.parameter([2], F, name=name) for name in "ab")
        ends = [ops.relu(a, name="ra"), ops.relu(b, name="rb")]
        for end, name in zip(ends, ("out a", "out b"), strict=True):
            end.outputs[0].names = {name}
        order = slice(None, None, -1 if swapped else 1)
        return Model(ends[order], [a, b][order], "two")

    found = pairs(align(model(False), model(True)))
    assert (found["a"], found["b"], found["ra"], found["rb"]) == ("a", "b", "ra", "rb")


def test_a_layer_of_another_type_in_the_same_place() -> None:
    def model(kind: Any, name: str) -> Model:
        x = ops.parameter([2, 8], F, name="x")
        middle = kind(ops.tanh(x, name=f"{name}1"), name=f"{name}2")
        return Model([ops.exp(middle, name=f"{name}3")], [x], "place")

    found = pairs(align(model(ops.relu, "a"), model(ops.sigmoid, "b")))
    assert found["a2"] == "b2"


def test_names_of_the_same_file_hold_where_edges_changed() -> None:
    """Two layers whose inputs were exchanged are paired with themselves: their inputs have changed."""

    def model(swapped: bool) -> Model:
        x = ops.parameter([2, 8], F, name="x")
        parts = ops.split(x, np.int64(1), 2, name="parts")
        outputs = list(parts.outputs)[:: -1 if swapped else 1]
        keys, values = (ops.tanh(part, name=name) for part, name in zip(outputs, ("keys", "values"), strict=True))
        both = ops.concat([ops.relu(keys, name="k"), ops.exp(values, name="v")], 1, name="both")
        for number in range(3):
            both = block(both, number)
        return Model([both], [x], "split")

    found = pairs(align(model(False), model(True)))
    assert (found["keys"], found["values"]) == ("keys", "values")


def test_variables_under_other_names() -> None:
    def model(prefix: str) -> Model:
        x = ops.parameter([2], F, name="x")
        sinks, ends = [], []
        for number in range(2):
            past = ops.read_value(F([number, 0]), f"{prefix}{number}", "f32", [2], name=f"{prefix}read{number}")
            total = ops.add(past, x, name=f"{prefix}total{number}")
            sinks.append(ops.assign(total, f"{prefix}{number}", name=f"{prefix}assign{number}"))
            ends.append(total)
        return Model(ends, sinks, [x], "states")

    found = pairs(align(model("a"), model("b")))
    assert [found[f"a{what}{number}"] for what in ("read", "total", "assign") for number in (0, 1)] == [
        f"b{what}{number}" for what in ("read", "total", "assign") for number in (0, 1)
    ]
    assert irexec.compile_model(model("a")) is not None
