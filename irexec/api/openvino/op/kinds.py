"""The classes of the module `op`: each creates and recognizes the nodes of one type."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from irexec.api.openvino.checks import node_or_value
from irexec.api.openvino.kinds import bodies, constants
from irexec.api.openvino.kinds.kind import KindOfNode
from irexec.api.openvino.node import Node
from irexec.api.openvino.opsets import opset
from irexec.api.openvino.shapes import Shape, partial_shape
from irexec.api.openvino.tensor import Tensor
from irexec.api.opsets import nodes
from irexec.api.opsets.element_types import element_type_of
from irexec.core.structure import ASSIGN, PARAMETER, READ_VALUE, RESULT
from irexec.core.types import STRING, TensorType
from irexec.model.graph import model as graph
from irexec.ops.compute.casting import elements
from irexec.ops.spec import contents


class Constant(constants.Constant):
    """A node with a constant value: `Constant(array)`, `Constant(tensor)` or `Constant(type, shape, values)`."""

    __slots__ = ()

    @staticmethod
    def make(
        array: Any = None,
        shape: Any = None,
        values: Any = None,
        *,
        tensor: Any = None,
        shared_memory: bool = False,
    ) -> graph.Node:
        """Return a node: `Constant(array)`, `Constant(tensor)`, both with `shared_memory`, or `Constant(type, shape,
        values)`.

        Raises TypeError for other objects, RuntimeError for a number of values that does not fit the shape, and
        for an integer beyond the range of the type.
        """
        array = tensor if array is None else array
        if isinstance(array, (Tensor, np.ndarray)) and values is None:
            return nodes.constant_node(Node, array, shared=shared_memory or shape is True)
        kind = element_type_of(array)
        given = np.asarray(values)
        filled = given.astype(np.str_) if kind is STRING else elements(given, kind)
        if (
            given.dtype.kind in "iu"
            and kind.is_integral_number()
            and kind.bitwidth > 1
            and np.any(filled.astype(given.dtype) != given)
        ):
            raise RuntimeError(f"{given.tolist()} assigned value out of range for {kind.name}")
        extents = tuple(Shape(shape))
        if filled.size not in (1, math.prod(extents)):
            raise RuntimeError(
                f"Did not get the expected number of literals for a constant of shape {list(extents)} "
                f"(got {filled.size}, expected 1 or {math.prod(extents)})."
            )
        filled = np.full(extents, filled.reshape(-1)[0]) if filled.size == 1 else filled.reshape(extents)
        return nodes.constant_node(Node, filled, element_type=None if kind is STRING else kind)


class Parameter(KindOfNode):
    """An input of the model: `Parameter(type, shape)`."""

    __slots__ = ()
    type_name = PARAMETER

    @staticmethod
    def make(element_type: Any, shape: Any) -> graph.Node:
        return nodes.parameter_node(Node, partial_shape(shape), element_type)


class Result(KindOfNode):
    """An output of the model: `Result(output)`."""

    __slots__ = ()
    type_name = RESULT

    @staticmethod
    def make(value: Any) -> graph.Node:
        made: graph.Node = opset("opset1").result(node_or_value(value, "Result()"))
        return made


class assign(constants.Assign):
    """A node that assigns a variable: `assign(new_value, variable, name)`."""

    __slots__ = ()

    @staticmethod
    def make(
        new_value: Any = None, variable: Any = None, name: str = "", *, variable_id: str | None = None
    ) -> graph.Node:
        variable = variable if variable_id is None else variable_id
        if new_value is None:
            return _empty(ASSIGN)
        made: graph.Node = opset("opset6").assign(new_value, variable, name)
        return made


class read_value(constants.ReadValue):
    """A node that reads a variable: `read_value(init_value, variable)` or `read_value(variable)`."""

    __slots__ = ()

    @staticmethod
    def make(new_value: Any = None, variable: Any = None, name: str = "") -> graph.Node:
        if new_value is None:
            return _empty(READ_VALUE)
        made: graph.Node = opset("opset6").read_value(new_value, variable, name=name)
        return made


class loop(bodies.Loop):
    """A node whose body runs as long as its condition holds, at most as often as the trip count allows:
    `loop(trip_count, execution_condition)`.
    """

    __slots__ = ()

    @staticmethod
    def make(trip_count: Any = None, execution_condition: Any = None, name: str = "") -> graph.Node:
        made: graph.Node = opset("opset5").loop(trip_count, execution_condition, name)
        return made


class tensor_iterator(bodies.TensorIterator):
    """A node whose body runs for every slice of its inputs: `tensor_iterator()`."""

    __slots__ = ()

    @staticmethod
    def make(name: str = "") -> graph.Node:
        made: graph.Node = opset("opset1").tensor_iterator(name)
        return made


class if_op(bodies.If):
    """A node that runs one of two bodies: `if_op(condition)`."""

    __slots__ = ()

    @staticmethod
    def make(execution_condition: Any = None, name: str = "") -> graph.Node:
        made: graph.Node = opset("opset8").if_op(execution_condition, name)
        return made


def _empty(type: str) -> graph.Node:
    """Return a node whose arguments and attributes are set later."""
    node = Node(contents.load(type, 6))
    node.set_outputs([TensorType()])
    return node
