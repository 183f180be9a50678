"""Node: OpenVINO's methods of a layer: its ports, attributes and arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from irexec.api.openvino.attributes import Attributes
from irexec.api.openvino.checks import node_or_value, not_negative
from irexec.api.openvino.editing import changed, connect, set_type
from irexec.api.openvino.layout import Layout, give_layout, layout_of
from irexec.api.openvino.ov_any import unboxed
from irexec.api.openvino.ports import Described, DescriptorTensor, Input, Output
from irexec.api.openvino.rt_map import RTMap
from irexec.api.openvino.shapes import PartialShape, Shape, partial_shape
from irexec.api.openvino.tensor import Tensor
from irexec.api.opsets.element_types import element_type_of
from irexec.core.arguments import expected
from irexec.core.structure import CONST, PARAMETER
from irexec.core.types import ElementType, TensorType
from irexec.model.graph import model as graph
from irexec.model.graph.ports import position
from irexec.ops.spec.contents import type_name
from irexec.ops.spec.operator import Operator

if TYPE_CHECKING:
    from irexec.api.openvino.arguments import AttributeValue, LayoutLike, Operand
    from irexec.api.openvino.custom.visitor import AttributeVisitor
    from irexec.api.openvino.type_info import DiscreteTypeInfo
    from irexec.core.types import ShapeLike, TypeLike


class Node(Described, graph.Node):
    """A layer with its operator: irexec's Node with OpenVINO's methods."""

    __slots__ = ()
    value_class = Output
    input_class = Input

    # Outputs

    def _described(self) -> graph.Value:
        return _only(self)

    def output(self, output_index: int = 0) -> graph.Value:
        """Return an output by its position. Raises RuntimeError if there is none, TypeError for a negative position."""
        return self.outputs[position(self.outputs, not_negative(output_index))]

    @property
    def partial_shape(self) -> PartialShape:
        """The shape of the only output, which may have unknown dimensions."""
        return PartialShape(_only(self).type.shape)

    @partial_shape.setter
    def partial_shape(self, shape: ShapeLike) -> None:
        self.set_partial_shape(shape)

    @property
    def element_type(self) -> ElementType:
        """The element type of the only output."""
        return _only(self).element_type

    @element_type.setter
    def element_type(self, kind: TypeLike) -> None:
        self.set_element_type(kind)

    def get_output_size(self) -> int:
        """Return the number of outputs."""
        return len(self.outputs)

    def get_output_element_type(self, index: int) -> ElementType:
        """Return the element type of an output."""
        return self.output(index).element_type

    def get_output_partial_shape(self, index: int) -> PartialShape:
        """Return the shape of an output, which may have unknown dimensions."""
        return PartialShape(self.output(index).type.shape)

    def get_output_shape(self, index: int) -> Shape:
        """Return the static shape of an output. Raises RuntimeError if it is dynamic."""
        return Shape(self.output(index).type.shape.to_shape())

    def get_output_tensor(self, index: int) -> DescriptorTensor:
        """Return the description of the tensor at an output: its type, shape and names."""
        return DescriptorTensor(self.output(index))

    def set_output_type(self, index: int, element_type: TypeLike, shape: ShapeLike) -> None:
        """Set the element type and the shape of an output, for an operator that infers its own types."""
        if not_negative(index) >= len(self.outputs):
            self.set_output_size(index + 1)
        set_type(self.outputs[index], TensorType(element_type_of(element_type), partial_shape(shape)))

    def set_output_size(self, size: int) -> None:
        """Set the number of outputs; added outputs have an unknown type."""
        del self.outputs[size:]
        self.set_outputs([*(value.type for value in self.outputs), *[TensorType()] * (size - len(self.outputs))])

    # Inputs

    def input(self, input_index: int = 0) -> Input:
        """Return an input by its position. Raises RuntimeError if there is none, TypeError for a negative position."""
        return Input(self, position(self.inputs, not_negative(input_index)))

    def input_value(self, index: int) -> graph.Value | None:
        """Return the output that is connected to the input at this position."""
        return self.inputs[position(self.inputs, not_negative(index))]

    def input_values(self) -> list[graph.Value | None]:
        """Return the outputs that are connected to the inputs."""
        return list(self.inputs)

    def get_input_size(self) -> int:
        """Return the number of inputs."""
        return len(self.inputs)

    def get_input_element_type(self, index: int) -> ElementType:
        """Return the element type of an input."""
        return self.input(index).element_type

    def get_input_partial_shape(self, index: int) -> PartialShape:
        """Return the shape of an input, which may have unknown dimensions."""
        return self.input(index).partial_shape

    def get_input_shape(self, index: int) -> Shape:
        """Return the static shape of an input. Raises RuntimeError if it is dynamic."""
        return self.input(index).shape

    def get_input_tensor(self, index: int) -> DescriptorTensor:
        """Return the description of the tensor at an input: its type, shape and names."""
        return DescriptorTensor(self.input(index).get_source_output())

    def set_argument(self, index: int, value: Operand) -> None:
        """Connect an output with the input at this position."""
        from irexec.api.opsets.computed import value_of

        taken = value_of(node_or_value(value, "set_argument()"))
        assert taken is not None
        connect(self, index, taken)

    def set_arguments(self, values: Sequence[Operand]) -> None:
        """Connect outputs with all the inputs, and infer the node's own outputs."""
        from irexec.api.opsets.computed import value_of
        from irexec.api.opsets.nodes import infer_outputs

        self.inputs = [value_of(node_or_value(value, "set_arguments()")) for value in values]
        changed(self)
        if not _missing(self):
            infer_outputs(self)

    # Names and kind

    def get_name(self) -> str:
        """Return the unique name that the node got when it was created."""
        return self.name

    def get_friendly_name(self) -> str:
        """Return the node's name as files contain it."""
        return self.friendly_name

    def set_friendly_name(self, name: str) -> None:
        """Give the node another name."""
        self.friendly_name = name

    @property
    def friendly_name(self) -> str:
        """The node's given name, or `name`."""
        return self.given_name or self.name

    @friendly_name.setter
    def friendly_name(self, name: str) -> None:
        self.given_name = expected(name, str, "set_friendly_name()")

    def get_instance_id(self) -> int:
        """Return a number that no other node has."""
        return self.number

    @property
    def type_info(self) -> DiscreteTypeInfo:
        """The name and the opset of the operator."""
        return self.get_type_info()

    def get_type_info(self) -> DiscreteTypeInfo:
        """Return the name and the opset of the operator."""
        from irexec.api.openvino.type_info import DiscreteTypeInfo

        return DiscreteTypeInfo(type_name(self.type), self.version, DiscreteTypeInfo("Op", "util"))

    # Attributes

    def get_attributes(self) -> dict[str, Any]:
        """Return the attributes by their names in a file: shapes as lists, types and enumerations as texts."""
        if self.type == CONST:
            kind = self.attributes["element_type"]
            return {"element_type": kind.name, "shape": list(self.outputs[0].type.shape.to_shape())}
        from irexec.api.openvino.reported import reported_attributes

        return reported_attributes(self, _operator(self))

    def visit_attributes(self, visitor: AttributeVisitor) -> bool:
        """Pass the attributes to a visitor: `visitor.on_attributes(attributes)`. Returns True."""
        from irexec.api.openvino.custom.visitor import AttributeVisitor

        expected(visitor, AttributeVisitor, "visit_attributes()").on_attributes(self.get_attributes())
        return True

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes by Python name. Changes are checked as in `set_attribute`."""
        if type(self._attributes) is not Attributes:
            self._attributes = Attributes(self, self._attributes)
        return self._attributes

    @attributes.setter
    def attributes(self, attributes: dict[str, Any]) -> None:
        accepted = self._accepted(attributes)
        if type(self._attributes) is Attributes:
            self._attributes.replace(accepted)
        else:
            self._attributes = accepted
        if self.type == PARAMETER:
            self.set_outputs([TensorType(accepted["element_type"], accepted["shape"])])
        changed(self)

    def set_attribute(self, name: str, value: AttributeValue) -> None:
        """Set the value of an attribute. Raises IRError for a name or value that the operator does not accept."""
        self.attributes[name] = value

    def _accepted(self, attributes: dict[str, Any]) -> dict[str, Any]:
        """Return attributes, given by Python or file name, with the values as the operator reads them. Raises IRError
        for names and values that it does not accept.
        """
        from irexec.api.opsets import calls
        from irexec.model.graph.evaluate import raise_findings

        if (operator := self.operator) is None:
            return attributes
        known = {a.file_name: a for a in operator.attributes} | {a.name: a for a in operator.attributes}
        given = {
            known[name].file_name if name in known else name: calls.attribute_value(known[name], value)
            if name in known
            else value
            for name, value in attributes.items()
        }
        parsed, problems = operator.parse_attributes(given)
        # A node may be completed attribute by attribute, but a required attribute cannot be removed.
        held = {a.file_name for a in operator.attributes if a.name in self._attributes}
        raise_findings(operator, [p for p in problems if p.code != "D002" or p.attribute in held], [])
        return {a.name: parsed[a.name] for a in operator.attributes if a.file_name in given}

    def validate(self) -> None:
        """Infer the types of the outputs, and check the attributes and inputs."""
        self.constructor_validate_and_infer_types()

    def validate_and_infer_types(self) -> None:
        """Infer the types of the outputs. Operators of your own override this method."""
        self.constructor_validate_and_infer_types()

    def constructor_validate_and_infer_types(self) -> None:
        """Infer the outputs from inputs and attributes. Raises IRError with all errors that the operator reports."""
        from irexec.api.opsets.nodes import infer_outputs
        from irexec.model.graph.evaluate import check_count, raise_findings

        operator = _operator(self)
        given = {a.file_name: self.attributes[a.name] for a in operator.attributes if a.name in self.attributes}
        self._attributes, problems = operator.parse_attributes(given)
        check_count(operator, self.inputs)
        raise_findings(operator, problems, [])
        infer_outputs(self)

    def set_partial_shape(self, shape: ShapeLike) -> None:
        """Set the shape of a Parameter; the model is updated when it is next used or validated."""
        self.set_attribute("shape", partial_shape(shape))

    def set_element_type(self, kind: TypeLike) -> None:
        """Set the element type of a Parameter; the model is updated when it is next used or validated."""
        self.set_attribute("element_type", element_type_of(kind))

    @property
    def layout(self) -> Layout:
        """The layout of a Parameter or Result."""
        return layout_of(self)

    @layout.setter
    def layout(self, layout: LayoutLike) -> None:
        give_layout(self, layout)

    def get_layout(self) -> Layout:
        """Return the layout of a Parameter or Result."""
        return layout_of(self)

    def set_layout(self, layout: LayoutLike) -> None:
        """Set the layout of a Parameter or Result, such as `NCHW`."""
        give_layout(self, layout)

    def get_rt_info(self) -> RTMap:
        """Return the runtime information, which can be changed in place."""
        return RTMap(self.rt_info)

    def set_rt_info(self, value: object, key: str) -> None:
        """Set runtime information under a key."""
        self.rt_info[key] = unboxed(value)

    # Evaluation

    def evaluate(
        self, output_values: Sequence[Tensor], input_values: Sequence[Tensor], evaluationContext: RTMap | None = None
    ) -> bool:
        """Compute the outputs into tensors; return False if the node is not a function of its inputs only.

        Raises RuntimeError for a number of tensors other than that of the ports, TypeError for other objects.
        """
        operator = _operator(self)
        if self.bodies or self.has_state or self.type == PARAMETER:
            return False
        for given, ports, kind in ((input_values, self.inputs, "inputs"), (output_values, self.outputs, "outputs")):
            if len(given) != len(ports):
                raise RuntimeError(f"evaluate(): {self!r} has {len(ports)} {kind}; {len(given)} tensors were given")
        arrays = [expected(tensor, Tensor, "evaluate()").values() for tensor in input_values]
        result = operator(*arrays, **self.attributes)
        results = result if isinstance(result, (tuple, list)) else (result,)
        for tensor, array, value in zip(output_values, results, self.outputs, strict=True):
            tensor.copy_from(Tensor.of_values(np.asarray(array), value.element_type))
        return True

    # Arithmetic

    def __add__(self, other: Any) -> Any:
        return _made("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return _made("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return _made("subtract", self, other)

    def __rsub__(self, other: Any) -> Any:
        return _made("subtract", other, self)

    def __mul__(self, other: Any) -> Any:
        return _made("multiply", self, other)

    def __rmul__(self, other: Any) -> Any:
        return _made("multiply", other, self)

    def __truediv__(self, other: Any) -> Any:
        return _made("divide", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _made("divide", other, self)

    __array_ufunc__ = None

    def __getattr__(self, name: str) -> Any:
        """Return the attribute that the kind of a node adds (see kinds), and `get_axis()`, `set_axis(1)` for an
        attribute `axis`."""
        verb, _, attribute = name.partition("_")
        if verb in ("get", "set") and self.operator is not None:
            known = {a.name: a for a in self.operator.attributes} | {a.file_name: a for a in self.operator.attributes}
            if attribute in known and name not in ("get_shape", "set_shape"):
                if verb == "get":
                    return lambda: self.get_attributes()[known[attribute].file_name]
                return lambda value: self.set_attribute(attribute, value)
        if name.startswith("__"):
            raise AttributeError(name)
        from irexec.api.openvino.kinds import member

        return member(self, name)


def _made(name: str, left: Any, right: Any) -> graph.Node:
    """Return the node of an arithmetic operator. Raises IRError."""
    from irexec.api.opsets.nodes import make_node
    from irexec.ops.arithmetic import binary

    return make_node(Node, getattr(binary, f"{name}_1"), [left, right], {})


def _operator(node: graph.Node) -> Operator:
    if node.operator is None:
        raise RuntimeError(f"{node.type} of {node.version} is not an operator that irexec knows")
    return node.operator


def _only(node: graph.Node) -> graph.Value:
    if len(node.outputs) != 1:
        raise RuntimeError(
            f"{node.get_type_name()} {node.friendly_name!r} has {len(node.outputs)} outputs; "
            "get_element_type() and get_shape() must be called on a node with exactly one output."
        )
    return node.outputs[0]


def _missing(node: graph.Node) -> bool:
    return any(a.name not in node.attributes for a in _operator(node).attributes)
