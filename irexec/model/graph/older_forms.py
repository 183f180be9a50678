"""Older forms of nodes: older versions of their operators that compute exactly the same.

The rules are defined with the operators (`Operator.older`); this module applies them to nodes of a graph.
"""

from __future__ import annotations

from collections.abc import Sequence

from irexec.core.structure import CONST
from irexec.core.types import Array, ElementType
from irexec.model.graph.ends import constant_node
from irexec.model.graph.model import Model, Node, Value
from irexec.ops.spec import contents
from irexec.ops.spec.older import NoOlderForm, OlderForm
from irexec.ops.spec.operator import Operator


def older_form(node: Node, version: int) -> list[Node]:
    """Change a node to the newest version of its operator up to `version`; return the nodes to insert before it.

    Raises NoOlderForm, with the node in the oldest form that was reached.
    """
    beside: list[Node] = []
    versions = contents.CONTENTS[node.type][1]
    while (own := contents.OPSETS[node.version]) > version:
        before = [number for number in versions if number < own]
        if not before:
            raise NoOlderForm(f"the operator was introduced with opset{own}")
        assert node.operator is not None
        if node.operator.older_rule is None:
            raise NoOlderForm(f"version {before[-1]} computes different results than version {own}")
        form = _NodeForm(node)
        node.operator.older_rule(form, [None if value is None else value.type for value in node.inputs])
        beside += form.constants
        _take_operator(node, before[-1], form)
    return beside


def _take_operator(node: Node, version: int, form: OlderForm) -> None:
    operator = contents.load(node.type, version)
    assert operator is not None
    node.operator, node.version = operator, operator.opset
    node._attributes = {
        attribute.name: form.attributes.get(attribute.name, attribute.default) for attribute in operator.attributes
    }
    _check_types(node, operator)


def _check_types(node: Node, operator: Operator) -> None:
    for index, value in enumerate(node.inputs):
        entry = operator.signature.input(index)
        kind = value.type.element_type if value is not None else None
        if kind is not None and not kind.is_dynamic and kind not in entry.elements.types:
            raise NoOlderForm(f"{operator.versioned_name} does not accept {kind} for {entry.name}")


def insert(model: Model, beside: Sequence[Node], node: Node) -> None:
    """Insert the nodes `beside` before `node` in the order of a model."""
    place = model.nodes.index(node)
    model.nodes[place:place] = beside


class _NodeForm(OlderForm):
    """A node while a rule rewrites it; `constants` are the nodes that the rule adds."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.attributes = node.attributes | node.all_attributes
        self.outputs = [value.type for value in node.outputs]
        self.constants: list[Node] = []

    def ints(self, port: str) -> list[int]:
        assert self.node.operator is not None
        names = [entry.name for entry in self.node.operator.signature.inputs]
        index = names.index(port)
        value = self.node.inputs[index] if index < len(self.node.inputs) else None
        array = value.node.constant if value is not None and value.node.type == CONST else None
        known = [int(item) for item in array.ravel()] if array is not None else value.type.ints if value else None
        self.need(known is not None, f"the values of {port} are not constant")
        return known or []

    def drop_output(self, index: int, name: str) -> None:
        if index < len(self.node.outputs):
            output = self.node.outputs[index]
            self.need(not output.users, f"{name} is used")
            self.need(not output.names, f"{name} has a name")
            del self.node.outputs[index:]

    def take(self, *inputs: int | Array) -> None:
        given = self.node.inputs
        self.node.inputs = [given[entry] if isinstance(entry, int) else self._constant(entry) for entry in inputs]
        self.node.input_rt_info = {}

    def _constant(self, array: Array) -> Value:
        kind = ElementType.of(array.dtype)
        name = f"{self.node.given_name}/constant" if self.node.given_name else ""
        self.constants.append(constant_node(Node, array, kind, name))
        return self.constants[-1].outputs[0]
