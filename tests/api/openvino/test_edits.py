"""Edits of a graph: models that contain a changed node are updated, all others stay as they were read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irexec
from irexec import opset15 as ops


def small(name: str) -> irexec.Model:
    x = ops.parameter([-1, 2], np.float32, name="x")
    return irexec.Model([ops.relu(ops.negative(x))], [x], name)


def test_a_model_follows_the_edits_of_its_nodes() -> None:
    model = small("edited")
    relu = model.results[0].inputs[0].node
    irexec.compile_model(model)
    relu.set_argument(0, ops.convert(relu.inputs[0], np.float64))
    assert irexec.compile_model(model)(np.float32([[-1, 2]]))[0].dtype == np.float64


def test_two_models_that_share_an_edited_node_follow_both() -> None:
    x = ops.parameter([2], np.float32, name="x")
    relu = ops.relu(x)
    models = [irexec.Model([relu], [x], "first"), irexec.Model([ops.abs(relu)], [x], "second")]
    relu.set_argument(0, ops.convert(x, np.float64))
    for model in models:
        assert irexec.compile_model(model)(np.float32([-1, 2]))[0].dtype == np.float64


def test_other_models_keep_what_their_file_declares(tmp_path) -> None:
    irexec.save_model(small("read"), tmp_path / "m.xml")
    read, edited = irexec.read_model(tmp_path / "m.xml"), small("edited")
    declared = [value.declared for node in read.get_ops() for value in node.outputs]
    assert any(type is not None for type in declared)
    relu = edited.results[0].inputs[0].node
    relu.set_argument(0, edited.parameters[0].outputs[0])
    irexec.compile_model(edited)
    irexec.compile_model(read)
    assert [value.declared for node in read.get_ops() for value in node.outputs] == declared


def test_what_is_not_a_model() -> None:
    calls: list[Any] = [
        lambda: irexec.preprocess.PrePostProcessor(3),
        lambda: irexec.save_model(3, "three.xml"),  # type: ignore[arg-type]
        lambda: irexec.serialize(3, "three.xml"),  # type: ignore[arg-type]
        lambda: irexec.passes.Manager().run_passes(None),
    ]
    for call in calls:
        with pytest.raises(TypeError, match=r"provide a valid openvino\.Model instance"):
            call()


def test_the_type_of_a_tensor_is_reported() -> None:
    port = ops.parameter([1], "f32").output(0)
    irexec.experimental.set_element_type(port.get_tensor(), irexec.Type.i8)
    assert port.get_element_type() is irexec.Type.i8
    irexec.experimental.set_tensor_type(port, irexec.Type.i4, [2])
    assert repr(port.get_tensor()) == "<DescriptorTensor: names[] shape[2] type: i4>"


def test_outputs_have_an_order() -> None:
    halves = ops.split(ops.parameter([2], "f32"), 0, 2)
    first, second = halves.outputs
    assert first < second and first <= second and first <= first and second >= first and second > first
    assert not first >= second


def test_a_node_that_is_refused_takes_no_output() -> None:
    ops = irexec.opset13
    x = ops.parameter([2, 3], np.float32, name="x")
    with pytest.raises(RuntimeError, match="the number of columns"):
        ops.matmul(x, np.ones((2, 2), np.float32), False, False)
    assert x.output(0).get_target_inputs() == set()


def test_a_removed_node_without_references_is_not_a_reader() -> None:
    x = ops.parameter([2], np.float32, name="x")
    model = irexec.Model([ops.tanh(ops.relu(ops.negative(ops.abs(x, name="a"), name="n"), name="r"), name="t")], [x])

    def layer(name: str) -> Any:
        (found,) = [node for node in model.get_ops() if node.get_friendly_name() == name]
        return found

    def takers() -> list[str]:
        return sorted(port.get_node().get_type_name() for port in layer("a").output(0).get_target_inputs())

    layer("t").input(0).replace_source_output(layer("a").output(0))
    assert takers() == ["Tanh"]


def test_a_replaced_node_takes_nothing_once_its_name_is_bound_anew() -> None:
    x = ops.parameter([2], np.float32, name="x")
    model = irexec.Model([ops.tanh(ops.relu(x, name="r"), name="t"), ops.abs(x)], [x]).clone()
    nodes = {node.get_friendly_name(): node for node in model.get_ops()}
    irexec.utils.replace_node(nodes["t"], ops.sigmoid(nodes["r"]))
    assert len(nodes["r"].output(0).get_target_inputs()) == 2
    nodes = {node.get_friendly_name(): node for node in model.get_ops()}
    (taker,) = nodes["r"].output(0).get_target_inputs()
    assert taker.get_node().get_type_name() == "Sigmoid"


def test_nodes_of_a_model_that_was_dropped_take_nothing() -> None:
    x = ops.parameter([2], np.float32, name="x")
    model = irexec.Model([ops.relu(ops.negative(x))], [x])
    again = model.clone()
    begin = again.get_parameters()[0]
    part = irexec.Model([ops.tanh(begin)], [begin])
    assert len(begin.output(0).get_target_inputs()) == 2
    del again
    assert [port.get_node().get_type_name() for port in begin.output(0).get_target_inputs()] == ["Tanh"]
    assert part.input(0).get_node() is begin


@pytest.mark.parametrize("edit", ["input", "output", "arguments", "parameter"])
def test_what_a_file_declares_does_not_bind_changed_nodes(edit: str, tmp_path: Path) -> None:
    x = ops.parameter([2, 3], np.float32, name="x")
    irexec.save_model(irexec.Model([ops.tanh(ops.relu(x, name="r"))], [x]), tmp_path / "m.xml")
    model = irexec.Core().read_model(tmp_path / "m.xml")
    layer = {node.get_friendly_name(): node for node in model.get_ops()}
    if edit == "input":
        layer["r"].input(0).replace_source_output(ops.reshape(layer["x"], [3, 2], False).output(0))
    elif edit == "output":
        layer["r"].output(0).replace(ops.reshape(layer["r"], [3, 2], False).output(0))
    elif edit == "arguments":
        layer["r"].set_arguments([ops.concat([layer["x"], layer["x"]], 0)])
    else:
        model.replace_parameter(0, ops.parameter([5, 3], np.float32, name="z"))
    given = np.ones((5 if edit == "parameter" else 2, 3), np.float32)
    shapes = {"input": (3, 2), "output": (3, 2), "arguments": (4, 3), "parameter": (5, 3)}
    assert irexec.Core().compile_model(model, "CPU")(given)[0].shape == shapes[edit]
