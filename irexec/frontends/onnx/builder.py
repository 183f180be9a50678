"""Building a Model from another format: nodes with inferred types, constants, findings, unique names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from irexec.core.diagnostics import Place
from irexec.core.structure import RESULT
from irexec.core.types import I64, Array, Dimension, ElementType, PartialShape, TensorType
from irexec.frontends.onnx.errors import Broken, Refused
from irexec.frontends.onnx.findings import OnnxFindings
from irexec.model.graph.ends import constant_node, parameter_node
from irexec.model.graph.model import Body, Model, Node, Value
from irexec.model.inference import infer_node
from irexec.ops.spec import contents
from irexec.ops.spec.operator import Operator


class Builder:
    """Creates the nodes of one model and its bodies, of one class. `folder`: where external data may be."""

    def __init__(self, findings: OnnxFindings, folder: Path | None, model_class: type[Model] = Model) -> None:
        self.findings, self.folder = findings, folder
        self.model_class, self.node_class = model_class, model_class.node_class
        self.place = Place(file=findings.file)
        self._names: dict[str, int] = {}
        self._holders: dict[str, Node] = {}

    # Findings

    def find(self, code: str, message: str, **details: Any) -> None:
        """Add a finding about the node under translation, or about the file."""
        self.findings.add(code, message, place=self.place, **details)

    @property
    def errors(self) -> int:
        """The number of errors so far."""
        return self.findings.error_count

    # Nodes

    def add(
        self,
        operator: Operator,
        inputs: Sequence[Value | None],
        attributes: dict[str, Any],
        name: str,
        bodies: Sequence[Body] = (),
    ) -> Node:
        """Create a node with inferred outputs. Raises Refused if the operator does not accept these inputs or
        attributes, Broken if its rule has reported the reason."""
        values, problems = operator.parse_attributes(attributes)
        if problems:
            raise Refused("F009", problems[0].message)
        signature = operator.signature
        connected = sum(v is not None for v in inputs)
        if connected < signature.min_inputs or len(inputs) > (signature.max_inputs or len(inputs)):
            raise Refused("F009", f"{operator} does not accept {connected} inputs")
        node = self.node_class(operator, inputs, values, name=self.unique(name))
        node.bodies = list(bodies)
        self._holders[node.given_name] = node
        node.origin = self.findings.origin_of(inputs)
        before = self.errors
        node.set_outputs(infer_node(node, self.findings))
        if self.errors > before or not node.outputs:
            raise Broken
        return node

    def constant(self, array: Array, kind: ElementType, name: str = "") -> Value:
        """Create a constant that refers to the array itself, without a copy."""
        return constant_node(self.node_class, array, kind, self.unique(name or "value")).outputs[0]

    def parameter(self, type: TensorType, name: str) -> Node:
        """Create an input of a model or body."""
        return parameter_node(self.node_class, TensorType(type.element_type, type.shape), self.unique(name))

    def result(self, value: Value, name: str) -> Node:
        """Create an output of a model or body."""
        node = self.node_class(_load(RESULT), [value], name=self.unique(f"{name}/result"))
        node.set_outputs(infer_node(node, self.findings))
        node.outputs[0].names = {name} if name else set()
        return node

    def body_input(self, type: TensorType, name: str, axis: int | None) -> tuple[Node, Value]:
        """Create an input of a body. Return its node, and the value that the body's nodes use: the node's output, for a
        slice without the axis."""
        if axis is None:
            node = self.parameter(type, name)
            return node, node.outputs[0]
        dims = list(type.shape)
        dims.insert(axis, Dimension(1))
        node = self.parameter(TensorType(type.element_type, PartialShape(dims)), name)
        along = self.constant(np.array([axis]), I64)
        return node, self.add(_load("Squeeze"), [node.outputs[0], along], {}, name).outputs[0]

    def inner_value(self, value: Value, name: str) -> Value:
        """Return the value that represents a value of the enclosing graph inside a body."""
        constant = value.node.constant if value.node.constant is not None else value.type.value
        if constant is not None:
            return self.constant(constant, value.element_type, name)
        return self.parameter(value.type.without_value(), name).outputs[0]

    def give(self, name: str, node: Node) -> None:
        """Give the node this name, which another node has: the other node gets the node's name."""
        holder = self._holders.get(name)
        if holder is not None and self._holders.get(node.given_name) is node:
            holder.given_name, node.given_name = node.given_name, name
            self._holders[name], self._holders[holder.given_name] = node, holder

    def names(self) -> dict[str, int]:
        """Return the names in use, for `restore`."""
        return dict(self._names)

    def restore(self, names: dict[str, int]) -> None:
        """Restore the names that `names()` returned; nodes that were created since that call must not be used."""
        self._names = dict(names)

    def unique(self, name: str) -> str:
        """Return the name, with a number appended if another node has it."""
        made, count = name, self._names.get(name, 0)
        while made in self._names:
            count += 1
            made = f"{name}_{count}"
        self._names[name] = count
        self._names.setdefault(made, 0)
        return made


def _load(type: str) -> Operator:
    operator = contents.load(type, 1)
    assert operator is not None
    return operator
