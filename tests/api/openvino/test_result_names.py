"""The names of a model's outputs after edits, with both OpenVINO and irexec."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irexec

openvino = pytest.importorskip("openvino")
pytest.importorskip("openvino.passes")


def network(ov: Any, name: set[str], own: set[str]) -> tuple[Any, Any, Any]:
    """Return a Parameter, a layer with a name, and their model, whose Result has names of its own."""
    ops = ov.opset13
    x = ops.parameter([4], np.float32, name="x")
    x.output(0).set_names({"x"})
    relu = ops.relu(x, name="relu")
    relu.output(0).set_names(name)
    result = ops.result(relu, name="result")
    if own:
        result.output(0).set_names(own)
    return x, relu, ov.Model([result], [x], "m")


def names(*models: Any) -> list[list[str]]:
    return [sorted(port.get_names()) for model in models for port in (*model.inputs, *model.outputs)]


def take_another(ov: Any, x: Any, relu: Any, model: Any) -> Any:
    node = ov.opset13.tanh(x)
    model.get_results()[0].input(0).replace_source_output(node.output(0))
    return node


def replaced(ov: Any, x: Any, relu: Any, model: Any) -> Any:
    before = names(model)
    relu.output(0).replace(x.output(0))
    now = names(model)
    model.validate_nodes_and_infer_types()
    return before, now, names(model)


def connected(ov: Any, x: Any, relu: Any, model: Any) -> Any:
    node = take_another(ov, x, relu, model)
    now = [names(model), sorted(node.output(0).get_names()), sorted(relu.output(0).get_names())]
    model.validate_nodes_and_infer_types()
    return now, names(model), sorted(node.output(0).get_names()), sorted(relu.output(0).get_names())


def cloned(ov: Any, x: Any, relu: Any, model: Any) -> Any:
    take_another(ov, x, relu, model)
    return names(model.clone(), ov.compile_model(model, "CPU"))


def edited_clone(ov: Any, x: Any, relu: Any, model: Any) -> Any:
    model = model.clone()
    take_another(ov, model.get_parameters()[0], relu, model)
    now = names(model)
    model.reshape([4])
    same = names(model)
    model.reshape([5])
    return now, same, names(model)


def named_later(ov: Any, x: Any, relu: Any, model: Any) -> Any:
    take_another(ov, x, relu, model)
    relu.output(0).add_names({"later"})
    return names(model)


def passed(ov: Any, x: Any, relu: Any, model: Any) -> Any:
    node = take_another(ov, x, relu, model)
    manager = ov.passes.Manager()
    manager.register_pass(ov.passes.ConstantFolding())
    manager.run_passes(model)
    return names(model), sorted(node.output(0).get_names())


@pytest.mark.parametrize("own", [set(), {"own"}])
@pytest.mark.parametrize("name", [set(), {"relu"}])
@pytest.mark.parametrize(
    "edit", [replaced, connected, cloned, edited_clone, named_later, passed], ids=lambda f: f.__name__
)
def test_the_names_are_those_of_openvino(edit: Callable[..., Any], name: set[str], own: set[str]) -> None:
    theirs, mine = (edit(ov, *network(ov, name, own)) for ov in (openvino, irexec))
    assert mine == theirs


def test_an_input_that_is_an_output_keeps_its_name() -> None:
    """The name is lost in OpenVINO's copies."""
    x = irexec.opset13.parameter([4], np.float32, name="x")
    x.output(0).set_names({"x"})
    model = irexec.Model([irexec.opset13.result(x)], [x], "m")
    model.output(0).set_names({"out"})
    for each in (model, model.clone(), irexec.Core().compile_model(model, "CPU")):
        assert names(each) == [["out", "x"], ["out"]]


@pytest.mark.parametrize("own", [set(), {"own"}])
def test_a_replaced_layer_has_the_names_of_its_result_until_the_model_is_validated(own: set[str]) -> None:
    def names_after_edits(ov: Any) -> list[list[str]]:
        x, relu, model = network(ov, {"relu"}, own)
        node = take_another(ov, x, relu, model)
        relu.output(0).set_names({"new"})
        node.output(0).set_names({"tanh"})
        before = [sorted(each.output(0).get_names()) for each in (relu, node)]
        model.validate_nodes_and_infer_types()
        return [*before, *(sorted(each.output(0).get_names()) for each in (relu, node)), *names(model)]

    assert names_after_edits(irexec) == names_after_edits(openvino)


def test_an_added_output_that_takes_an_input_has_its_names() -> None:
    """An added output that takes a layer has the names that the layer's output had when it was added."""

    def names_after_edits(ov: Any) -> list[list[str]]:
        x, relu, model = network(ov, {"relu"}, set())
        tanh = ov.opset13.tanh(relu)
        tanh.output(0).set_names({"tanh"})
        model.add_outputs([x.output(0), tanh.output(0)])
        x.output(0).set_names({"new"})
        tanh.output(0).set_names({"new, too"})
        return names(model)

    assert names_after_edits(irexec) == names_after_edits(openvino) == [["new"], ["relu"], ["new"], ["tanh"]]


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("name", [set(), {"relu"}])
def test_a_reconnected_result_names_the_tensor_that_it_shares_until_the_model_is_validated(
    name: set[str], replace: bool
) -> None:
    def names_after_edits(ov: Any) -> list[list[list[str]]]:
        x, _, model = network(ov, {"other"}, set())
        tanh, node = ov.opset13.tanh(x), ov.opset13.sigmoid(x)
        tanh.output(0).set_names(name)
        result = ov.opset13.result(tanh, name="more")
        model.add_results([result])
        if replace:
            ov.utils.replace_node(tanh, node)
        else:
            result.input(0).replace_source_output(node.output(0))
        model.add_outputs(tanh.output(0))
        found = [names(model), [sorted(each.output(0).get_names()) for each in (tanh, node)]]
        model.validate_nodes_and_infer_types()
        return [*found, names(model), [sorted(each.output(0).get_names()) for each in (tanh, node)]]

    assert names_after_edits(irexec) == names_after_edits(openvino)


@pytest.mark.parametrize("own", [set(), {"own"}])
def test_an_output_is_found_by_all_names_of_the_tensor_that_its_result_takes(own: set[str]) -> None:
    def found(ov: Any) -> list[list[bool]]:
        x, relu, model = network(ov, {"relu"}, own)
        x.output(0).add_names({"input"})
        relu.output(0).add_names({"later"})
        model.add_outputs(x.output(0))
        wanted = ("relu", "own", "later", "x", "input", "result", "m")
        return [
            [has(model.output, name) for name in wanted],
            [has(ov.compile_model(model, "CPU").output, name) for name in wanted],
        ]

    def has(port: Callable[[str], Any], name: str) -> bool:
        try:
            port(name)
        except RuntimeError:
            return False
        return True

    assert found(irexec) == found(openvino)
