"""Ports: OpenVINO's Output, ConstOutput and Input, and the descriptor of a port's tensor."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from irexec.api.openvino.checks import names_of
from irexec.api.openvino.editing import DroppedModel, changed, connect, replace, shared_names, sharing, takes_names
from irexec.api.openvino.ov_any import unboxed
from irexec.api.openvino.rt_map import RTMap
from irexec.api.openvino.shapes import PartialShape, Shape
from irexec.api.openvino.tensor import Tensor
from irexec.core.arguments import expected
from irexec.core.structure import RESULT
from irexec.core.types import ElementType
from irexec.model.graph import model as graph
from irexec.model.graph.model import Node


class Described:
    """The element type and the shape of a node, of a port, or of a port's tensor."""

    __slots__ = ()

    def _described(self) -> graph.Value:
        """Return the value that this object describes. Raises RuntimeError if there is none or more than one."""
        raise NotImplementedError

    @property
    def element_type(self) -> ElementType:
        """The element type of the values."""
        return self._described().type.element_type

    @property
    def partial_shape(self) -> PartialShape:
        """The shape, which may have unknown dimensions."""
        return PartialShape(self._described().type.shape)

    @property
    def shape(self) -> Shape:
        """The static shape. Raises RuntimeError if a dimension or the rank is dynamic."""
        return Shape(self._described().type.shape.to_shape())

    def get_element_type(self) -> ElementType:
        """Return the element type of the values."""
        return self.element_type

    def get_partial_shape(self) -> PartialShape:
        """Return the shape, which may have unknown dimensions."""
        return self.partial_shape

    def get_shape(self) -> Shape:
        """Return the static shape. Raises RuntimeError if it is dynamic."""
        return self.shape


class Output(Described, graph.Value):
    """An output of a node: irexec's Value with OpenVINO's methods."""

    __slots__ = ()

    def _described(self) -> graph.Value:
        return self

    @property
    def target_inputs(self) -> set[Input]:
        """The inputs that take this output."""
        return self.get_target_inputs()

    @property
    def tensor(self) -> DescriptorTensor:
        """The description of the tensor: its type, shape and names."""
        return DescriptorTensor(self)

    def get_target_inputs(self) -> set[Input]:
        """Return the inputs that take the value."""
        if self.users:
            DroppedModel.free(self)
        return {Input(node, index) for node, index in self.uses()}

    def get_tensor(self) -> DescriptorTensor:
        """Return the description of the tensor: its type, shape and names."""
        return DescriptorTensor(self)

    def set_names(self, names: Iterable[str]) -> None:
        """Replace the names of the tensor. The input of a Result also gets them."""
        DescriptorTensor(self).set_names(names)

    def add_names(self, names: Iterable[str]) -> None:
        """Add names to the tensor."""
        DescriptorTensor(self).add_names(names)

    def get_any_name(self) -> str:
        """Return one of the tensor names. Raises RuntimeError if there are none."""
        return self.any_name

    def get_names(self) -> set[str]:
        """Return the tensor names."""
        return self.names

    def get_node(self) -> Node:
        """Return the node that computes the values."""
        return self.node

    def get_index(self) -> int:
        """Return the position among the outputs of the node."""
        return self.index

    def get_rt_info(self) -> RTMap:
        """Return the runtime information, which can be changed in place."""
        return RTMap(self.rt_info)

    def set_rt_info(self, value: object, key: str) -> None:
        """Set runtime information under a key."""
        self.rt_info[key] = unboxed(value)

    def replace(self, replacement: graph.Value) -> None:
        """Connect all users of this output with another one, which also gets its names."""
        replace(self, expected(replacement, graph.Value, "replace()"))

    def remove_target_input(self, target_input: Input) -> None:
        """Disconnect this output from an input."""
        target = expected(target_input, Input, "remove_target_input()")
        target.node.replace_input_with(target.index, None)
        changed(target.node)

    @staticmethod
    def _from_node(node: Node) -> graph.Value:
        """Return the only output of a node. Raises RuntimeError if there are several."""
        if len(node.outputs) != 1:
            raise RuntimeError(f"{node!r} has {len(node.outputs)} outputs; select one by its position")
        return node.outputs[0]

    def __lt__(self, other: graph.Value) -> bool:
        """Order all outputs so that those of a node are adjacent."""
        return (id(self.node), self.index) < (id(expected(other, graph.Value, "<").node), other.index)

    def __le__(self, other: graph.Value) -> bool:
        return self is other or self < other

    def __copy__(self) -> graph.Value:
        return self

    def __deepcopy__(self, memo: Any) -> graph.Value:
        return self


ConstOutput = Value = Output


class ResultNames(set[str]):
    """Names that were given to a Result itself.

    Its input value also has them, regardless of other names of that value.
    """


class Input(Described, graph.Input):
    """An input of a node."""

    __slots__ = ()

    def _described(self) -> graph.Value:
        return self.get_source_output()

    def get_source_output(self) -> graph.Value:
        """Return the output that this input takes. Raises RuntimeError if there is none."""
        value = self.node.inputs[self.index]
        if value is None:
            raise RuntimeError(f"input {self.index} of {self.node!r} is not connected")
        return value

    def replace_source_output(self, new_source_output: graph.Value) -> None:
        """Connect this input with another output."""
        connect(self.node, self.index, expected(new_source_output, graph.Value, "replace_source_output()"))

    def get_node(self) -> Node:
        """Return the node whose input this is."""
        return self.node

    def get_index(self) -> int:
        """Return the position among the inputs of the node."""
        return self.index

    def get_tensor(self) -> DescriptorTensor:
        """Return the properties of the tensor that are known before it exists."""
        return DescriptorTensor(self.get_source_output())

    @property
    def rt_info(self) -> dict[str, Any]:
        """The runtime information, by key."""
        return self.node.input_rt_info.setdefault(self.index, {})

    def get_rt_info(self) -> RTMap:
        """Return the runtime information, which can be changed in place."""
        return RTMap(self.rt_info)

    def set_rt_info(self, value: object, key: str) -> None:
        """Set one entry of the runtime information."""
        self.rt_info[key] = unboxed(value)

    def __repr__(self) -> str:
        return f"<Input: shape{self.partial_shape} type: {self.element_type}>"


class DescriptorTensor(Described):
    """The properties of a port's tensor that are known before the tensor exists."""

    def __init__(self, value: graph.Value) -> None:
        self._value = value

    def _described(self) -> graph.Value:
        return self._value

    @property
    def described(self) -> graph.Value:
        """The output to which the tensor belongs."""
        return self._value

    @property
    def names(self) -> set[str]:
        """The names of the tensor."""
        return self._value.names

    @names.setter
    def names(self, names: Iterable[str]) -> None:
        self.set_names(names)

    @property
    def any_name(self) -> str:
        """One of the names of the tensor. Raises RuntimeError if it has none."""
        return self._value.any_name

    @property
    def size(self) -> int:
        """The size of the tensor in bytes."""
        return self.element_type.nbytes(self._value.type.shape.size.value)

    @property
    def rt_info(self) -> dict[str, Any]:
        """The runtime information, by key."""
        return self._value.rt_info

    def set_names(self, names: Iterable[str]) -> None:
        """Replace the names of the tensor."""
        wanted, value = names_of(names, "set_names()"), self._value
        if value.node.type == RESULT:
            self._name_result(wanted)
            return
        of_results = [result.outputs[0].names for result in sharing(value)]
        wanted = wanted.union(*(names for names in of_results if isinstance(names, ResultNames)))
        value.names.clear()
        value.names |= wanted

    def add_names(self, names: Iterable[str]) -> None:
        """Add names to those of the tensor."""
        wanted, value = names_of(names, "add_names()"), self._value
        if value.node.type == RESULT:
            self._name_result(wanted if takes_names(value.node) else value.names | wanted)
        else:
            value.names |= wanted

    def _name_result(self, names: set[str]) -> None:
        result, shared = self._value.node, shared_names(self._value.node)
        if shared is not None:
            if not takes_names(result):
                shared -= self._value.names
            shared |= names
        self._value.names = ResultNames(names)

    def get_names(self) -> set[str]:
        """Return the names of the tensor."""
        return self._value.names

    def get_any_name(self) -> str:
        """Return one of the names of the tensor. Raises RuntimeError if it has none."""
        return self._value.any_name

    def get_rt_info(self) -> RTMap:
        """Return the runtime information, which can be changed in place."""
        return RTMap(self.rt_info)

    def get_lower_value(self) -> Tensor | None:
        """Return the tensor itself if it is fully known, otherwise None."""
        known = self._value.type.value
        return None if known is None else Tensor.of_values(known, self.element_type)

    get_upper_value = get_lower_value

    def get_value_symbol(self) -> list[Any]:
        return []

    def __repr__(self) -> str:
        names = ", ".join(sorted(self.names))
        return f"<DescriptorTensor: names[{names}] shape{self.partial_shape} type: {self.element_type}>"
