"""Kinds of nodes: what only a Constant, a Parameter or a Result can do, and classes that make and recognise them."""

from __future__ import annotations

from typing import Any

import numpy as np

from irexec.graph import model as graph
from irexec.graph.consumers import note_inputs
from irexec.openvino.element_types import shown_dtype
from irexec.openvino.kinds import KindOfNode
from irexec.openvino.shapes import Shape, Strides, partial_shape
from irexec.openvino.tensor import Tensor
from irexec.ops.declare import contents
from irexec.opsets import nodes
from irexec.opsets.element_types import element_type_of
from irexec.opsets.namespace import namespace
from irexec.types import STRING, Array, ElementType, TensorType


class Constant(KindOfNode):
    """A node that holds a value: `Constant(array)`, `Constant(tensor)` or `Constant(type, shape, values)`."""

    __slots__ = ()
    type_name = "Const"

    @staticmethod
    def make(array: Any, shape: Any = None, values: Any = None, *, shared_memory: bool = False) -> graph.Node:
        if isinstance(array, Tensor):
            return nodes.constant_node(array.values(), element_type=array.element_type)
        if isinstance(array, np.ndarray) and values is None:
            return nodes.constant_node(array)
        kind = element_type_of(array)
        filled = np.asarray(values).astype(np.str_ if kind is STRING else kind.dtype)
        extents = tuple(Shape(shape))
        filled = np.full(extents, filled.reshape(-1)[0]) if filled.size == 1 else filled.reshape(extents)
        return nodes.constant_node(filled, element_type=None if kind is STRING else kind)

    @property
    def data(self) -> Array:
        """The value as an array that shares its memory; shown as a Tensor's data is."""
        return _tensor(self).data

    @property
    def tensor_view(self) -> Tensor:
        return _tensor(self)

    @property
    def strides(self) -> Strides:
        return _tensor(self).strides

    def get_data(self, *, dtype: Any = None, copy: bool = False) -> Array:
        """The value as an array, of another dtype if one is given."""
        array = self.constant
        assert array is not None
        if dtype is not None:
            return np.array(array, dtype) if copy or array.dtype != dtype else array
        shown = _tensor(self).data
        return shown.copy() if copy else shown

    def get_tensor_view(self) -> Tensor:
        return _tensor(self)

    def get_strides(self) -> Strides:
        return _tensor(self).strides

    def get_byte_size(self) -> int:
        return _tensor(self).byte_size

    def get_vector(self) -> Array:
        """All elements in one row."""
        assert self.constant is not None
        return self.constant.reshape(-1).view(_vector_dtype(self.outputs[0].element_type))

    def get_value_strings(self) -> list[str]:
        """The elements as texts."""
        assert self.constant is not None
        values = self.constant.reshape(-1).tolist()
        return [
            str(int(v)) if isinstance(v, (bool, int)) else f"{v:.9g}" if isinstance(v, float) else v for v in values
        ]

    def get_value(self) -> Array | None:
        return self.constant


def _tensor(node: graph.Node) -> Tensor:
    assert node.constant is not None
    return Tensor.of_values(node.constant, node.outputs[0].element_type)


def _vector_dtype(kind: ElementType) -> Any:
    return kind.dtype if kind.is_packed or kind is STRING else shown_dtype(kind)


class Parameter(KindOfNode):
    """An input of the model: `Parameter(type, shape)`."""

    __slots__ = ()
    type_name = "Parameter"

    @staticmethod
    def make(element_type: Any, shape: Any) -> graph.Node:
        return nodes.parameter_node(partial_shape(shape), element_type)


class Result(KindOfNode):
    """An output of the model: `Result(output)`."""

    __slots__ = ()
    type_name = "Result"

    @staticmethod
    def make(value: Any) -> graph.Node:
        made: graph.Node = namespace("opset1").result(value)
        return made


class assign(KindOfNode):
    """The end of a variable's way: `assign(new_value, variable, name)`."""

    __slots__ = ()
    type_name = "Assign"

    @staticmethod
    def make(new_value: Any = None, variable: Any = None, name: str = "") -> graph.Node:
        if new_value is None:
            return _empty("Assign")
        made: graph.Node = namespace("opset6").assign(new_value, variable, name)
        return made

    def get_variable_id(self) -> str:
        return str(self.attributes["variable_id"])


class read_value(KindOfNode):
    """The value of a variable: `read_value(init_value, variable)` or `read_value(variable)`."""

    __slots__ = ()
    type_name = "ReadValue"

    @staticmethod
    def make(new_value: Any = None, variable: Any = None, name: str = "") -> graph.Node:
        if new_value is None:
            return _empty("ReadValue")
        made: graph.Node = namespace("opset6").read_value(new_value, variable, name=name)
        return made

    def get_variable_id(self) -> str:
        return str(self.attributes["variable_id"])


def _empty(type: str) -> graph.Node:
    """A node that gets its arguments and attributes later."""
    node = graph.Node(contents.load(type, 6))
    node.set_outputs([TensorType()])
    note_inputs(node)
    return node
