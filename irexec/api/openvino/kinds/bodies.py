"""Nodes with bodies, built step by step: Loop, TensorIterator and If."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irexec.api.openvino.checks import nodes_of_type, not_negative
from irexec.api.openvino.editing import changed, checked_model, order
from irexec.api.openvino.kinds.descriptions import (
    BodyOutputDescription,
    ConcatOutputDescription,
    InvariantInputDescription,
    MergedInputDescription,
    SliceInputDescription,
)
from irexec.api.openvino.kinds.kind import KindOfNode
from irexec.api.opsets import nodes
from irexec.api.opsets.computed import value_of
from irexec.core.arguments import expected
from irexec.core.structure import IF, LOOP, PARAMETER, RESULT, TENSOR_ITERATOR
from irexec.model.graph import model as graph
from irexec.model.graph.body_maps import BodyInput, BodyOutput, Slicing
from irexec.model.graph.model import Body, Model, Node, Value
from irexec.ops.spec import contents


class _Repeating(KindOfNode):
    """The common part of Loop and TensorIterator."""

    __slots__ = ()

    def set_function(self, func: Model) -> None:
        """Set the body of the node, whose inputs and outputs remain connected by position."""
        if self.bodies:
            self.bodies[0].model = checked_model(func)
        else:
            self.bodies.append(Body(checked_model(func)))
        changed(self)

    def set_body(self, body: Model) -> None:
        """Set the body of the node."""
        self.set_function(body)

    def get_function(self) -> Model:
        return _body(self).model

    get_body = get_function

    def set_sliced_input(
        self, parameter: Node, value: Any, start: int, stride: int, part_size: int, end: int, axis: int
    ) -> None:
        """Let a Parameter of the body take a slice of the value per iteration."""
        external = _take(self, value)
        slicing = Slicing(axis, start, end, stride, part_size)
        _body(self).inputs.append(BodyInput(_index(self, parameter), external, slicing))

    def set_merged_input(self, body_parameter: Node, initial_value: Any, successive_value: Any) -> None:
        """Let a Parameter of the body take the initial value first, then another value of the body from the previous
        iteration."""
        external, back = _take(self, initial_value), _result(self, successive_value)
        _body(self).inputs.append(BodyInput(_index(self, body_parameter), external, back=back))

    def set_invariant_input(self, body_parameter: Node, value: Any) -> None:
        """Let a Parameter of the body take the same value in every iteration."""
        _body(self).inputs.append(BodyInput(_index(self, body_parameter), _take(self, value)))

    def get_iter_value(self, body_value: Any, iteration: int = -1) -> Value:
        """Return an output with the value that the body computes in the last iteration (-1), the only one allowed."""
        if iteration != -1:
            raise RuntimeError(f"iteration {iteration}: an IR can take the last one only, -1")
        return _add_output(self, BodyOutput(_result(self, body_value), len(self.outputs)))

    def get_concatenated_slices(
        self, value: Any, start: int, stride: int, part_size: int, end: int, axis: int
    ) -> Value:
        """Return an output with the values that the body computes in all iterations, concatenated."""
        slicing = Slicing(axis, start, end, stride, part_size)
        return _add_output(self, BodyOutput(_result(self, value), len(self.outputs), slicing))

    def get_num_iterations(self) -> int:
        """Return the number of iterations if it is known, otherwise -1."""
        return _iterations(self)

    def get_input_descriptions(self) -> list[Any]:
        return [_described(entry) for entry in _body(self).inputs if entry.external is not None]

    def get_output_descriptions(self) -> list[Any]:
        return [_described(entry) for entry in _body(self).outputs]

    def set_input_descriptions(self, inputs: Sequence[Any]) -> None:
        """Set the mapping of the node's inputs to the body; the Parameter that counts the iterations is kept."""
        kept = [entry for entry in _body(self).inputs if entry.iteration]
        _body(self).inputs[:] = kept + [_input_entry(described) for described in inputs]
        changed(self)

    def set_output_descriptions(self, outputs: Sequence[Any]) -> None:
        """Set the outputs of the node, and their mapping to the body's results."""
        _body(self).outputs[:] = [_output_entry(described) for described in outputs]
        changed(self)


class Loop(_Repeating):
    """A node whose body runs as long as its condition holds, at most as often as the trip count allows."""

    __slots__ = ()
    type_name = LOOP

    def set_special_body_ports(self, special_body_ports: Sequence[int]) -> None:
        """Set the Parameter that counts the iterations (-1: none), and the Result that decides whether to continue."""
        counter, condition = special_body_ports
        body = _body(self)
        body.inputs[:] = [entry for entry in body.inputs if not entry.iteration]
        if counter >= 0:
            body.inputs.append(BodyInput(counter, iteration=True))
        body.condition = condition if condition >= 0 else None
        changed(self)

    def get_special_body_ports(self) -> list[int]:
        body = _body(self)
        counter = next((entry.parameter for entry in body.inputs if entry.iteration), -1)
        return [counter, -1 if body.condition is None else body.condition]


class TensorIterator(_Repeating):
    """A node whose body runs for every slice of its inputs."""

    __slots__ = ()
    type_name = TENSOR_ITERATOR


class If(KindOfNode):
    """A node that runs one of two bodies, depending on a condition."""

    __slots__ = ()
    type_name = IF

    def set_then_body(self, body: Model) -> None:
        _set_branch(self, 0, body)

    def set_else_body(self, body: Model) -> None:
        _set_branch(self, 1, body)

    def get_then_body(self) -> Model:
        return self.bodies[0].model

    def get_else_body(self) -> Model:
        return self.bodies[1].model

    def get_function(self, index: int) -> Model:
        return self.bodies[index].model

    def set_function(self, index: int, func: Model) -> None:
        _set_branch(self, index, func)

    def set_input(self, value: Any, then_parameter: Node | None, else_parameter: Node | None) -> None:
        """Pass a value to Parameters of one or both bodies."""
        parameters = then_parameter, else_parameter
        nodes_of_type([each for each in parameters if each is not None], PARAMETER, "set_input()")
        external = _take(self, value)
        for body, parameter in zip(self.bodies, parameters, strict=True):
            if parameter is not None:
                body.inputs.append(BodyInput(body.model.parameters.index(parameter), external))

    def set_output(self, then_result: Node, else_result: Node) -> Value:
        """Return an output with the value of one of two Results: that of the body that runs."""
        nodes_of_type([then_result, else_result], RESULT, "set_output()")
        number = len(self.outputs)
        for body, result in zip(self.bodies, (then_result, else_result), strict=True):
            body.outputs.append(BodyOutput(body.model.results.index(result), number))
        return _infer(self)

    def get_input_descriptions(self, index: int) -> list[Any]:
        return [_described(entry) for entry in _body(self, index).inputs]

    def get_output_descriptions(self, index: int) -> list[Any]:
        return [_described(entry) for entry in _body(self, index).outputs]

    def set_input_descriptions(self, index: int, inputs: Sequence[Any]) -> None:
        _body(self, index).inputs[:] = [_input_entry(described) for described in inputs]
        changed(self)

    def set_output_descriptions(self, index: int, outputs: Sequence[Any]) -> None:
        _body(self, index).outputs[:] = [_output_entry(described) for described in outputs]
        changed(self)


def _set_branch(node: graph.Node, index: int, body: Model) -> None:
    """Set the body of a branch, whose inputs and outputs remain connected by position."""
    checked_model(body)
    while len(node.bodies) < 2:
        node.bodies.append(Body(body))
    node.bodies[index].model = body
    changed(node)


def _body(node: graph.Node, index: int = 0) -> Body:
    if not index < len(node.bodies):
        raise RuntimeError(f"{node!r} has no body {index} yet: set_function gives it one")
    return node.bodies[not_negative(index)]


def _take(node: graph.Node, value: Any) -> int:
    """Connect a value with an input of the node; if it is connected already, that input is reused."""
    taken = value_of(value)
    if taken is None:
        taken = nodes.constant_node(type(node), nodes.as_list(value)).outputs[0]
    node.inputs = [*node.inputs, taken]
    changed(node)
    return len(node.inputs) - 1


def _index(node: graph.Node, parameter: Node) -> int:
    parameters = _body(node).model.parameters
    if parameter not in parameters:
        raise RuntimeError(f"{parameter!r} is not a Parameter of the body")
    return parameters.index(parameter)


def _result(node: graph.Node, value: Any) -> int:
    """Return the position of the body's Result for a value of the body; a Result is added if there is none."""
    taken, model = value_of(value), _body(node).model
    for index, result in enumerate(model.results):
        if result.inputs[0] is taken or result.outputs[0] is taken:
            return index
    operator = contents.load(RESULT, 1)
    assert operator is not None
    model.results.append(nodes.make_node(type(node), operator, [taken], {}))
    order(model)
    return len(model.results) - 1


def _add_output(node: graph.Node, entry: BodyOutput) -> Value:
    _body(node).outputs.append(entry)
    return _infer(node)


def _infer(node: graph.Node) -> Value:
    nodes.infer_outputs(node)
    changed(node)
    return node.outputs[-1]


def _iterations(node: graph.Node) -> int:
    for entry in _body(node).inputs:
        outer = node.inputs[entry.external] if entry.external is not None else None
        if entry.slicing is not None and outer is not None and outer.type.shape.is_static:
            return entry.slicing.count(outer.type.shape.to_shape()[entry.slicing.axis])
    trips = node.inputs[0].type.scalar if node.type == LOOP and node.inputs and node.inputs[0] else None
    return -1 if trips is None else int(trips)


def _described(entry: BodyInput | BodyOutput) -> Any:
    number = -1 if entry.external is None else entry.external
    s = entry.slicing
    sliced = () if s is None else (s.start, s.stride, s.part_size, s.end, s.axis)
    if isinstance(entry, BodyOutput):
        if not sliced:
            return BodyOutputDescription(entry.result, number, -1)
        return ConcatOutputDescription(entry.result, number, *sliced)
    if sliced:
        return SliceInputDescription(number, entry.parameter, *sliced)
    if entry.back is not None:
        return MergedInputDescription(number, entry.parameter, entry.back)
    return InvariantInputDescription(number, entry.parameter)


def _input_entry(d: Any) -> BodyInput:
    if isinstance(d, SliceInputDescription):
        return BodyInput(d.body_parameter_index, d.input_index, _slicing(d))
    if isinstance(d, MergedInputDescription):
        return BodyInput(d.body_parameter_index, d.input_index, back=d.body_value_index)
    expected(d, InvariantInputDescription, "set_input_descriptions()")
    return BodyInput(d.body_parameter_index, d.input_index)


def _output_entry(d: Any) -> BodyOutput:
    if isinstance(d, ConcatOutputDescription):
        return BodyOutput(d.body_value_index, d.output_index, _slicing(d))
    expected(d, BodyOutputDescription, "set_output_descriptions()")
    return BodyOutput(d.body_value_index, d.output_index)


def _slicing(d: Any) -> Slicing:
    return Slicing(d.axis, d.start, d.end, d.stride, d.part_size)
