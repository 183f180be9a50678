"""Operators whose functions do not take ports and attributes only, but variables, or bodies that are set later."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from irexec.api.opsets import nodes
from irexec.api.opsets.computed import value_of
from irexec.api.opsets.element_types import element_type_of
from irexec.core.structure import ASSIGN, CONST, IF, LOOP, PARAMETER, READ_VALUE, TENSOR_ITERATOR
from irexec.core.types import ANY_SHAPE, DYNAMIC, TensorType, shape_like
from irexec.model.graph.model import Node
from irexec.ops.spec.operator import Operator

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from irexec.api.opsets.nodes import HasElements
    from irexec.core.types import ElementType, PartialShape, ShapeLike, TypeLike
    from irexec.model.graph.model import Value

    Operand: TypeAlias = Node | Value | ArrayLike


class VariableInfo(Protocol):
    """The type, shape and name of a variable."""

    data_shape: PartialShape
    data_type: ElementType
    variable_id: str


class Variable(Protocol):
    """A variable of OpenVINO's API."""

    info: VariableInfo


Function = Callable[..., Any]
# Returns the class of the nodes that a function creates; called when it creates one.
NodeClass = Callable[[], type[Node]]


def constant_function(operator: Operator, node_class: NodeClass) -> Function:
    def constant(
        value: ArrayLike | HasElements, dtype: TypeLike | None = None, name: str = "", *, shared_memory: bool = False
    ) -> Node:
        """Return a constant node. `dtype`: an element type, a NumPy dtype or a type name, by default the value's own.

        `shared_memory`: the constant uses the memory of an array instead of a copy.
        """
        if value is None or isinstance(value, (str, bytes)):
            raise TypeError("The necessary overload for constant was not found")
        return nodes.constant_node(node_class(), value, dtype, name or "", shared=shared_memory)

    return constant


def parameter_function(operator: Operator, node_class: NodeClass) -> Function:
    def parameter(shape: ShapeLike, dtype: TypeLike = np.float32, name: str = "") -> Node:
        """Return an input of the model, of a (partial) shape and an element type, NumPy dtype or type name."""
        return nodes.parameter_node(node_class(), shape, dtype, name or "")

    return parameter


def read_value_function(operator: Operator, node_class: NodeClass) -> Function:
    def read_value(
        init_value: Operand | None = None,
        variable_id: str | Variable | None = None,
        variable_type: TypeLike | None = None,
        variable_shape: ShapeLike | None = None,
        name: str = "",
    ) -> Node:
        """Return the value of a variable; before the first Assign `init_value`, or zeros of its type and shape.

        The variable is a `Variable`, or named by its id. Without an `init_value`, the variable may be the first
        argument.
        """
        if isinstance(init_value, str) or hasattr(init_value, "info"):
            init_value, variable_id, variable_type, variable_shape, name = (
                None, init_value, variable_id, variable_type, name or variable_shape or "",
            )  # fmt: skip
        info = getattr(variable_id, "info", None)
        attributes: dict[str, Any] = {"variable_id": variable_id if info is None else info.variable_id}
        if "variable_type" in {a.name for a in operator.attributes}:
            kind = info.data_type if info is not None else variable_type
            shape = info.data_shape if info is not None else variable_shape
            attributes["variable_type"] = DYNAMIC if kind is None else element_type_of(kind)
            attributes["variable_shape"] = ANY_SHAPE if shape is None else shape_like(shape)
            if init_value is not None and info is None:
                _complete(attributes, init_value, node_class())
        return nodes.make_node(
            node_class(), operator, [] if init_value is None else [init_value], attributes, name or ""
        )

    return read_value


def _complete(attributes: dict[str, Any], init_value: Any, node_class: type[Node]) -> None:
    """Infer the type and shape of a variable, if they are not given, from its first value."""
    first = value_of(init_value)
    if first is None:
        first = nodes.constant_node(node_class, nodes.as_list(init_value)).outputs[0]
    if attributes["variable_type"] is DYNAMIC:
        attributes["variable_type"] = first.element_type
    if attributes["variable_shape"] is ANY_SHAPE:
        attributes["variable_shape"] = first.type.shape


def assign_function(operator: Operator, node_class: NodeClass) -> Function:
    def assign(new_value: Operand | None = None, variable_id: str | Variable | None = None, name: str = "") -> Node:
        """Assign `new_value` to the variable, a `Variable` or its id, at the end of the inference.

        Without arguments the node is completed later.
        """
        if new_value is None and variable_id is None:
            node = node_class()(operator, name=name or "")
            node.set_outputs([TensorType()])
            return node
        info = getattr(variable_id, "info", None)
        id = variable_id if info is None else info.variable_id
        return nodes.make_node(node_class(), operator, [new_value], {"variable_id": id}, name or "")

    return assign


def if_function(operator: Operator, node_class: NodeClass) -> Function:
    def if_op(condition: Operand | None = None, name: str = "") -> Node:
        """Return a node that runs one of two bodies, set by `set_then_body`, `set_else_body`, `set_input`,
        `set_output`."""
        return _without_body(node_class(), operator, [condition], name)

    return if_op


def loop_function(operator: Operator, node_class: NodeClass) -> Function:
    def loop(trip_count: Operand | None = None, execution_condition: Operand | None = None, name: str = "") -> Node:
        """Return a node that runs a body repeatedly: see `set_function`, `set_sliced_input`, `get_iter_value`."""
        return _without_body(node_class(), operator, [trip_count, execution_condition], name)

    return loop


def tensor_iterator_function(operator: Operator, node_class: NodeClass) -> Function:
    def tensor_iterator(name: str = "") -> Node:
        """Return a node that runs a body for every slice of its inputs: see `set_body`, `set_sliced_input`."""
        return _without_body(node_class(), operator, [], name)

    return tensor_iterator


def _without_body(node_class: type[Node], operator: Operator, inputs: list[Any], name: str) -> Node:
    """Return a node whose bodies and outputs are added later."""
    values = [
        value_of(i) or nodes.constant_node(node_class, nodes.as_list(i)).outputs[0] for i in inputs if i is not None
    ]
    return node_class(operator, values, {}, name=name or "")


SPECIAL: dict[str, Callable[[Operator, NodeClass], Function]] = {
    ASSIGN: assign_function, CONST: constant_function, IF: if_function, LOOP: loop_function,
    PARAMETER: parameter_function, READ_VALUE: read_value_function, TENSOR_ITERATOR: tensor_iterator_function,
}  # fmt: skip
