"""The making of a Model's nodes out of another format: nodes with inferred types, constants, findings, unique names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from irexec.diagnostics import Place
from irexec.frontends.onnx.findings import OnnxFindings
from irexec.graph.model import Body, Node, Value
from irexec.inference import infer_node
from irexec.ops.declare import contents
from irexec.ops.declare.operator import Operator
from irexec.types import Array, ElementType, TensorType


class Refused(Exception):
    """A node that cannot be translated; becomes a finding about it."""

    def __init__(self, code: str, message: str, **details: Any) -> None:
        super().__init__(message)
        self.code, self.message, self.details = code, message, details


class Broken(Exception):
    """A node whose translation was refused by IR's own rules; the finding is there already."""


class Builder:
    """Makes the nodes of one model and its bodies. `folder`: where external data may lie."""

    def __init__(self, findings: OnnxFindings, folder: Path | None) -> None:
        self.findings, self.folder = findings, folder
        self.place = Place(file=findings.file)
        self._names: dict[str, int] = {}
        self._holders: dict[str, Node] = {}

    # Findings

    def find(self, code: str, message: str, **details: Any) -> None:
        """Add a finding about the node that is being translated, or about the file."""
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
        """A new node with inferred outputs. Raises Refused when the operator does not take these inputs or attributes,
        Broken when its rule reported why.
        """
        values, problems = operator.parse_attributes(attributes)
        if problems:
            raise Refused("F009", f"{operator}: {problems[0].message}")
        signature = operator.signature
        connected = sum(v is not None for v in inputs)
        if connected < signature.min_inputs or len(inputs) > (signature.max_inputs or len(inputs)):
            raise Refused("F009", f"{operator} does not take {connected} inputs")
        node = Node(operator, inputs, values, name=self.unique(name))
        node.bodies = list(bodies)
        self._holders[node.given_name] = node
        before = self.errors
        node.set_outputs(infer_node(node, self.findings))
        if self.errors > before or not node.outputs:
            raise Broken
        return node

    def constant(self, array: Array, kind: ElementType, name: str = "") -> Value:
        """A constant that holds the array itself, without a copy."""
        node = Node(_load("Const"), (), {"element_type": kind, "shape": array.shape}, name=self.unique(name or "value"))
        node.constant = array
        node.set_outputs(infer_node(node, self.findings))
        return node.outputs[0]

    def parameter(self, type: TensorType, name: str) -> Node:
        """An input of a model or body."""
        attributes = {"shape": type.shape, "element_type": type.element_type}
        node = Node(_load("Parameter"), (), attributes, name=self.unique(name))
        node.set_outputs(infer_node(node, self.findings))
        return node

    def result(self, value: Value, name: str) -> Node:
        """An output of a model or body."""
        node = Node(_load("Result"), [value], name=self.unique(f"{name}/result"))
        node.set_outputs(infer_node(node, self.findings))
        node.outputs[0].names = {name} if name else set()
        return node

    def give(self, name: str, node: Node) -> None:
        """Let a node have the name; the one that has it takes the other's."""
        holder = self._holders.get(name)
        if holder is not None and self._holders.get(node.given_name) is node:
            holder.given_name, node.given_name = node.given_name, name
            self._holders[name], self._holders[holder.given_name] = node, holder

    def names(self) -> dict[str, int]:
        """The names so far, for `restore`."""
        return dict(self._names)

    def restore(self, names: dict[str, int]) -> None:
        """Forget the names of nodes made since, which are not used."""
        self._names = dict(names)

    def unique(self, name: str) -> str:
        """The name, with a number where another node has it."""
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
