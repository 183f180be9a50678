"""Operators whose functions take something else than ports and attributes: variables, and bodies that come later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from irexec.graph.consumers import note_inputs
from irexec.graph.model import Node
from irexec.ops.declare.operator import Operator
from irexec.opsets import nodes
from irexec.opsets.computed import value_of
from irexec.opsets.element_types import element_type_of
from irexec.types import ANY_SHAPE, DYNAMIC, shape_like

Function = Callable[..., Any]


def constant_function(operator: Operator) -> Function:
    def constant(value: Any, dtype: Any = None, name: str = "", *, shared_memory: bool = False) -> Node:
        """A node that holds a value, of a type, NumPy dtype or type name: by default the value's own."""
        return nodes.constant_node(value, dtype, name or "")

    return constant


def parameter_function(operator: Operator) -> Function:
    def parameter(shape: Any, dtype: Any = np.float32, name: str = "") -> Node:
        """An input of the model, of a (partial) shape and an element type, NumPy dtype or type name."""
        return nodes.parameter_node(shape, dtype, name or "")

    return parameter


def read_value_function(operator: Operator) -> Function:
    def read_value(
        init_value: Any = None,
        variable_id: Any = None,
        variable_type: Any = None,
        variable_shape: Any = None,
        name: str = "",
    ) -> Node:
        """The value of a variable; before the first Assign `init_value`, or zeros of its type and shape.

        The variable is a `Variable`, or named by its id. Without an `init_value`, the variable may come first.
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
                _complete(attributes, init_value)
        return nodes.make_node(operator, [] if init_value is None else [init_value], attributes, name or "")

    return read_value


def _complete(attributes: dict[str, Any], init_value: Any) -> None:
    """The type and shape of a variable, where nobody says them, from its first value."""
    first = value_of(init_value)
    if first is None:
        first = nodes.constant_node(nodes.as_list(init_value)).outputs[0]
    if attributes["variable_type"] is DYNAMIC:
        attributes["variable_type"] = first.element_type
    if attributes["variable_shape"] is ANY_SHAPE:
        attributes["variable_shape"] = first.type.shape


def assign_function(operator: Operator) -> Function:
    def assign(new_value: Any, variable_id: Any, name: str = "") -> Node:
        """The variable, a `Variable` or its id, takes `new_value` when the inference ends."""
        info = getattr(variable_id, "info", None)
        id = variable_id if info is None else info.variable_id
        return nodes.make_node(operator, [new_value], {"variable_id": id}, name or "")

    return assign


def if_function(operator: Operator) -> Function:
    def if_op(condition: Any = None, name: str = "") -> Node:
        """A node that runs one of two bodies: see `set_then_body`, `set_else_body`, `set_input`, `set_output`."""
        return _without_body(operator, [condition], name)

    return if_op


def loop_function(operator: Operator) -> Function:
    def loop(trip_count: Any = None, execution_condition: Any = None, name: str = "") -> Node:
        """A node that runs a body again and again: see `set_function`, `set_sliced_input`, `get_iter_value`."""
        return _without_body(operator, [trip_count, execution_condition], name)

    return loop


def tensor_iterator_function(operator: Operator) -> Function:
    def tensor_iterator(name: str = "") -> Node:
        """A node that runs a body for every slice of its inputs: see `set_body`, `set_sliced_input`."""
        return _without_body(operator, [], name)

    return tensor_iterator


def _without_body(operator: Operator, inputs: list[Any], name: str) -> Node:
    """A node whose bodies and outputs are still to come."""
    nodes.prepared()
    values = [value_of(i) or nodes.constant_node(nodes.as_list(i)).outputs[0] for i in inputs if i is not None]
    node = Node(operator, values, {}, name=name or "")
    note_inputs(node)
    return node


SPECIAL: dict[str, Callable[[Operator], Function]] = {
    "Assign": assign_function,
    "Const": constant_function,
    "If": if_function,
    "Loop": loop_function,
    "Parameter": parameter_function,
    "ReadValue": read_value_function,
    "TensorIterator": tensor_iterator_function,
}
