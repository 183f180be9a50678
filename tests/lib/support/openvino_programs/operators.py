"""Programs whose operators are Python classes."""

from __future__ import annotations

import tempfile
from types import ModuleType
from typing import Any

import numpy as np

from support.openvino_programs.registry import F32, program, saved


def scaled_sum(ov: ModuleType) -> Any:
    """Return an operator of two inputs and two outputs, with attributes of all kinds."""

    class ScaledSum(ov.Op):  # type: ignore[misc]
        class_type_info = ov.DiscreteTypeInfo("ScaledSum", "extension")

        def __init__(self, inputs: Any = None, **attributes: Any) -> None:
            self.values = {"scale": 1.0, "axes": [0], "keep": False, "mode": "sum", "count": 1, "names": ["-"]}
            self.values |= attributes
            super().__init__(self, inputs)

        def get_type_info(self) -> Any:
            return ScaledSum.class_type_info

        def validate_and_infer_types(self) -> None:
            self.set_output_size(2)
            self.set_output_type(0, self.get_input_element_type(0), self.get_input_partial_shape(0))
            self.set_output_type(1, ov.Type.i64, ov.PartialShape([self.get_input_partial_shape(0).rank.get_length()]))

        def clone_with_new_inputs(self, new_inputs: Any) -> Any:
            return ScaledSum(new_inputs, **self.values)

        def visit_attributes(self, visitor: Any) -> bool:
            visitor.on_attributes(self.values)
            return True

        def has_evaluate(self) -> bool:
            return True

        def evaluate(self, outputs: Any, inputs: Any) -> bool:
            outputs[0].shape = inputs[0].shape
            outputs[0].data[:] = (inputs[0].data + inputs[1].data) * self.values["scale"]
            outputs[1].data[:] = inputs[0].data.shape
            return True

    return ScaledSum


VALUES: dict[str, Any] = {"scale": 2.5, "axes": [1, -2], "keep": True, "mode": "a b", "count": 3, "names": ["x", "y z"]}


def summing_model(ov: ModuleType, shape: list[int]) -> Any:
    ops, operator = ov.opset13, scaled_sum(ov)
    x, y = (ops.parameter(shape, np.float32, name=name) for name in "xy")
    node = operator([ops.relu(x).output(0), y.output(0)], **VALUES)
    node.set_friendly_name("custom")
    return operator, ov.Model([ops.negative(node.output(0)).output(0), node.output(1)], [x, y], "summing")


def said(node: Any) -> list[Any]:
    info = node.get_type_info()
    said = [type(node).__name__, node.friendly_name, node.get_type_name(), info.name, info.version_id]
    said += [node.get_output_size(), node.get_input_size(), str(node.get_output_partial_shape(0))]
    return [*said, node.get_output_element_type(1).get_type_name(), sorted(node.get_attributes().items())]


def custom_in(model: Any) -> Any:
    return next(op for op in model.get_ops() if op.get_type_name() == "ScaledSum")


@program
def run_an_operator_of_python(ov: ModuleType) -> Any:
    found: list[Any] = []
    for shape in ([2, 3], [-1, 3], [-1, -1]):
        _, model = summing_model(ov, shape)
        compiled = ov.compile_model(model, "CPU", F32)
        for rows in (2, 5) if shape[0] < 0 else (2,):
            x = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3) - 2
            results = compiled([x, x + 1])
            found += [results[0], results[1]]
    return found


@program
def ask_an_operator_of_python(ov: ModuleType) -> Any:
    operator, model = summing_model(ov, [2, 3])
    node = custom_in(model)
    node.set_attribute("count", 7)
    node.set_attribute("unknown", 7)
    return [said(node), isinstance(node, ov.Node), isinstance(node, operator), said(custom_in(model.clone()))]


@program
def reshape_a_model_with_an_operator_of_python(ov: ModuleType) -> Any:
    _, model = summing_model(ov, [-1, 3])
    model.reshape({"x": [4, 3], "y": [4, 3]})
    return [list(model.outputs[0].shape), list(model.outputs[1].shape)]


@program
def save_and_read_an_operator_of_python(ov: ModuleType) -> Any:
    operator, model = summing_model(ov, [2, 3])
    core = ov.Core()
    core.add_extension(operator)
    with tempfile.TemporaryDirectory() as folder:
        again = core.read_model(saved(ov, model, folder))
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    return [said(custom_in(again)), core.compile_model(again, "CPU", F32)([x, x])[0]]


@program
def complete_an_operator_later(ov: ModuleType) -> Any:
    ops, node = ov.opset13, scaled_sum(ov)()
    before = node.get_input_size()
    node.set_arguments([ops.parameter([7, 1]), ops.parameter([7, 1])])
    node.constructor_validate_and_infer_types()
    return [before, *said(node)[2:]]
