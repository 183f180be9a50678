"""Layers that are run at once have the results that each of them has alone, for the inputs given to it."""

from __future__ import annotations

import numpy as np

import irexec
from irexec import Model
from irexec import opset15 as ops
from irexec.model.graph.cut import Cutter
from irexec.model.graph.model import Value
from irexec.runtime.engine import CompiledModel
from irexec.tools.compare.at_once import at_once

F = np.float32


def network() -> Model:
    x = ops.parameter([4, 8], F, name="x")
    bent = ops.tanh(x, name="bent")
    weights = np.random.default_rng(0).normal(size=(8, 8)).astype(F)
    product = ops.matmul(bent, weights, name="product")
    total = ops.add(product, bent, name="total")
    first, second = ops.split(total, np.int64(0), 2, name="halves").outputs
    return Model([ops.concat([second, first], 0, name="joined")], [x], "network")


def given(model: Model) -> dict[Value, np.ndarray]:
    """Return an array for every value, which no layer before it computed."""
    rng = np.random.default_rng(1)
    values = [value for node in model.nodes if node.constant is None for value in node.outputs]
    return {value: rng.normal(size=value.type.shape.to_shape()).astype(F) for value in values}


def test_each_layer_reads_the_given_inputs() -> None:
    model = network()
    arrays = given(model)
    layers = [node for node in model.nodes if node.type not in ("Parameter", "Result", "Const")]
    found = at_once(Cutter(model), layers, arrays)
    assert [*found] and {*found} == {*layers}
    for node, results in found.items():
        part = Cutter(model).cut([node], node.outputs)
        expected = CompiledModel(part.model)([arrays[value] for value in part.begins]).to_tuple()
        assert len(results) == len(node.outputs)
        for ours, theirs in zip(results, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_layers_that_cannot_be_run_so_are_left_out() -> None:
    model = network()
    arrays = given(model)
    nodes = {node.friendly_name: node for node in model.nodes}
    del arrays[nodes["bent"].outputs[0]]
    layers = [nodes[name] for name in ("bent", "product", "total", "halves", "joined")]
    assert {node.friendly_name for node in at_once(Cutter(model), layers, arrays)} == {"bent", "halves", "joined"}
    arrays[nodes["total"].outputs[0]] = np.zeros((3, 8), F)
    alone = at_once(Cutter(model), [nodes["halves"]], arrays)
    assert alone == {}


def test_a_state_and_large_constants_are_left_out() -> None:
    x = ops.parameter([1, 300], F, name="x")
    past = ops.read_value(x, "past", "f32", [1, 300], name="past")
    product = ops.matmul(past, np.ones((300, 300), F), name="product")
    model = irexec.Model([ops.relu(product, name="end")], [ops.assign(product, "past")], [x], "large")
    layers = [node for node in model.nodes if node.type in ("ReadValue", "MatMul", "ReLU")]
    assert [node.friendly_name for node in at_once(Cutter(model), layers, given(model))] == ["end"]
