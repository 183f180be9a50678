"""NodeFactory: nodes by the names of their types, as OpenVINO's nodes name them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irexec.api.openvino.exceptions import NotOffered, UserInputError
from irexec.api.openvino.node import Node
from irexec.api.opsets import calls, nodes
from irexec.api.opsets.computed import value_of
from irexec.core.types import TensorType
from irexec.model.graph.model import Value
from irexec.ops.spec import contents
from irexec.ops.spec.contents import file_type
from irexec.ops.spec.operator import Operator

DEFAULT_OPSET = "opset16"


class UnknownOperator(UserInputError, RuntimeError):
    """Raised for a name that no operator of the opset has. (OpenVINO raises RuntimeError.)"""


class NodeFactory:
    """Creates nodes of one opset."""

    def __init__(self, opset_version: str = DEFAULT_OPSET) -> None:
        if opset_version not in contents.OPSETS:
            raise RuntimeError(f"Unsupported opset version requested: {opset_version}")
        self._opset = opset_version

    def create(
        self, op_type_name: str, arguments: Sequence[Any] | None = None, attributes: dict[str, Any] | None = None
    ) -> Node:
        """Create a node with these inputs and attributes; without arguments, a node that is completed later.

        Raises UserInputError for attributes without arguments, IRError for errors that the operator reports.
        """
        operator = _operator(op_type_name, self._opset)
        if arguments is None:
            if attributes:
                raise UserInputError(f"Error: cannot create {op_type_name} op without arguments.")
            node = Node(operator)
            node.set_outputs([TensorType()] * sum(not output.variadic for output in operator.outputs))
            return node
        declared = {a.file_name: a for a in operator.attributes}
        attributes = dict(attributes or {})
        # OpenVINO's operators have no attribute `name`: its factory ignores those that an operator does not have.
        own_name = attributes.pop("name", None) if "name" not in declared else None
        given = {
            name: calls.attribute_value(declared[name], value) if name in declared else value
            for name, value in attributes.items()
            if value is not None
        }
        return nodes.make_node(Node, operator, list(arguments), given, own_name or "")

    def add_extension(self, extension: Any) -> None:
        """Raise NotOffered for a library of operators; an Op class needs no registration to be used."""
        if not (isinstance(extension, type) and issubclass(extension, Node)):
            raise NotOffered("libraries of operators", "derive a class from Op")

    @staticmethod
    def _arguments_as_outputs(arguments: Sequence[Any]) -> list[Value]:
        """Return all outputs of the given nodes."""
        found: list[Value] = []
        for argument in arguments:
            found += argument.outputs if isinstance(argument, Node) else filter(None, [value_of(argument)])
        return found


def _operator(name: str, opset: str) -> Operator:
    operator = contents.find(file_type(name), opset)
    if operator is None:
        raise UnknownOperator(f"Couldn't create operation: {name}. {opset} has no operator of this name")
    return operator


def _get_node_factory(opset_version: str | None = None) -> NodeFactory:
    return NodeFactory(opset_version or DEFAULT_OPSET)
