"""Forms of inputs, tensors of ports, and the variables of a model, compared with OpenVINO."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import irexec

pytest.importorskip("openvino")
BOTH = pytest.mark.parametrize("name", ["irexec", "openvino"])


def package(name: str) -> tuple[Any, Any]:
    importlib.import_module(f"{name}.op.util")
    return importlib.import_module(name), importlib.import_module(f"{name}.opset13")


def relu(name: str, shape: list[int], layout: str = "") -> Any:
    ov, ops = package(name)
    x = ops.parameter(shape, np.float32, name="x")
    if layout:
        x.layout = ov.Layout(layout)
    return ov.Core().compile_model(ov.Model([ops.result(ops.relu(x))], [x], "m"), "CPU")


class Foreign:
    """Another library's array."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.float32([[1, -2, 3]])


@BOTH
def test_objects_with_an_array_are_inputs(name: str) -> None:
    compiled = relu(name, [1, 3])
    request = compiled.create_infer_request()
    for run in (compiled, request.infer):
        for inputs in (Foreign(), [Foreign()], {"x": Foreign()}):
            assert run(inputs)[0].tolist() == [[1, 0, 3]]


@BOTH
def test_samples_are_joined_along_the_batch(name: str) -> None:
    ov, _ = package(name)
    request = relu(name, [2, 3], "NC").create_infer_request()
    samples = [ov.Tensor(np.full((1, 3), value, np.float32)) for value in (1, 2)]
    request.set_input_tensors(samples)
    assert request.infer()[0].tolist() == [[1, 1, 1], [2, 2, 2]]
    with pytest.raises(RuntimeError, match="shall not be used together with batched"):
        request.get_input_tensor()
    request.set_tensors("x", samples[::-1])
    assert request.infer()[0].tolist() == [[2, 2, 2], [1, 1, 1]]
    request.set_input_tensor(ov.Tensor(np.zeros((2, 3), np.float32)))
    assert request.infer()[0].tolist() == [[0, 0, 0], [0, 0, 0]]


@BOTH
def test_samples_that_do_not_fit_are_refused(name: str) -> None:
    ov, _ = package(name)
    sample = ov.Tensor(np.zeros((1, 3), np.float32))
    for layout, count in (("", 2), ("NC", 3)):
        with pytest.raises(RuntimeError):
            relu(name, [2, 3], layout).create_infer_request().set_input_tensors([sample] * count)


@BOTH
def test_a_tensor_of_a_port(name: str) -> None:
    ov, ops = package(name)
    port = ops.parameter([2, 3], np.float32, name="x").output(0)
    assert (list(ov.Tensor(port).shape), ov.Tensor(port).element_type.get_type_name()) == ([2, 3], "f32")
    array = np.ones((2, 3), np.float32)
    assert np.shares_memory(ov.Tensor(port, array).data, array)


@BOTH
def test_texts_may_be_bytes(name: str) -> None:
    ov, ops = package(name)
    x = ops.parameter([-1], ov.Type.string, name="x")
    model = ov.Model([ops.result(x)], [x], "m")
    compiled = ov.Core().compile_model(model, "CPU")
    for inputs in (["a", "bc"], [np.array([b"a", b"bc"])], {"x": np.array(["a", "bc"])}):
        assert compiled(inputs)[0].tolist() == ["a", "bc"]


@BOTH
def test_variables_are_added_and_removed(name: str) -> None:
    ov, ops = package(name)
    util = importlib.import_module(f"{name}.op.util")

    def variable(id: str) -> Any:
        info = util.VariableInfo()
        info.data_shape, info.data_type, info.variable_id = ov.PartialShape([1]), ov.Type.f32, id
        return util.Variable(info)

    own = variable("own")
    x = ops.parameter([1], np.float32, name="x")
    total = ops.add(ops.read_value(ops.constant(np.zeros(1, np.float32)), own), x)
    model = ov.Model([ops.result(total)], [ops.assign(total, own)], [x], "m")
    model.add_variables([variable("new")])
    assert [each.info.variable_id for each in model.get_variables()] == ["own", "new"]
    assert model.get_variable_by_id("new").info.variable_id == "new"
    model.remove_variable(model.get_variable_by_id("new"))
    assert [each.info.variable_id for each in model.get_variables()] == ["own"]


@BOTH
def test_types_of_patterns_and_keyword_names(name: str) -> None:
    ov, ops = package(name)
    passes = importlib.import_module(f"{name}.passes")
    node = ops.relu(ops.parameter([2], np.float32, name="x"))
    assert passes.Matcher(passes.WrapType("opset13::Relu"), "m").match(node)
    source, target = ov.Tensor(np.ones(3, np.float32)), ov.Tensor(np.zeros(3, np.float32))
    source.copy_to(target_tensor=target)
    assert target.data.tolist() == [1, 1, 1]


def test_an_assignment_gets_its_arguments_later() -> None:
    assert irexec.opset13.assign().get_type_name() == "Assign"


@BOTH
def test_operators_of_extensions_and_factories_and_the_request_of_a_call(name: str) -> None:
    ov, ops = package(name)
    factory = importlib.import_module(f"{name}.utils.node_factory").NodeFactory("opset13")

    class Through(ov.Op):  # type: ignore[misc, name-defined]
        class_type_info = ov.DiscreteTypeInfo("Through", "extension")

        def __init__(self, inputs: Any = None) -> None:
            super().__init__(self)
            if inputs is not None:
                self.set_arguments(inputs)
                self.constructor_validate_and_infer_types()

        def validate_and_infer_types(self) -> None:
            self.set_output_type(0, self.get_input_element_type(0), self.get_input_partial_shape(0))

        def clone_with_new_inputs(self, new_inputs: Any) -> Any:
            return Through(new_inputs)

        def get_type_info(self) -> Any:
            return Through.class_type_info

        def evaluate(self, outputs: Any, inputs: Any) -> bool:
            inputs[0].copy_to(outputs[0])
            return True

        def has_evaluate(self) -> bool:
            return True

    core = ov.Core()
    core.add_extension(ov.OpExtension(Through))
    core.add_extension([ov.OpExtension(Through)])
    x = ops.parameter([1, 2], np.float32, name="x")
    node = factory.create("Softmax", [Through([x])], {"axis": 1})
    assert node.get_attributes() == {"axis": 1}
    compiled = core.compile_model(ov.Model([node], [x], "m"), "CPU")
    assert compiled._infer_request is None
    assert compiled([np.zeros((1, 2), np.float32)])[0].tolist() == [[0.5, 0.5]]
    assert compiled._infer_request.get_output_tensor().data.tolist() == [[0.5, 0.5]]
