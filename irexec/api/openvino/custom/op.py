"""Op: the base class of operators defined as Python classes, and their registration with a Core."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

from irexec.api.openvino.custom.operator import PythonOperator
from irexec.api.openvino.custom.visitor import AttributeVisitor
from irexec.api.openvino.node import Node
from irexec.api.openvino.tensor import Tensor, TensorVector
from irexec.api.opsets.computed import value_of
from irexec.api.opsets.nodes import constant_node, parameter_node
from irexec.core.types import DYNAMIC, Array, TensorType
from irexec.model.graph.model import Value
from irexec.ops.spec.contents import file_type
from irexec.ops.spec.operator import REGISTRY

if TYPE_CHECKING:
    from irexec.api.openvino.arguments import AttributeValue, Operand


class Op(Node):
    """An operator as a class: derive from it, and override the methods that the operator needs.

    - `__init__(self, inputs=None, **attributes)`, which calls `super().__init__(self, inputs)`
    - `validate_and_infer_types(self)`: `self.set_output_type(index, type, shape)`, from `self.get_input_...`
    - `evaluate(self, outputs, inputs)`: fill the tensors, return True
    - `visit_attributes(self, visitor)`: `visitor.on_attributes(dict)`, for the attributes in a file
    - `clone_with_new_inputs(self, inputs)`: by default a copy of the object
    - `get_type_info(self)`: by default the name of the class, in the opset "extension"

    `Core().add_extension(Class)` lets files use it; the constructor of such a class must work without arguments.
    """

    def __new__(cls, *arguments: Any, **keywords: Any) -> Self:
        made = super().__new__(cls)
        Node.__init__(made, None, type=cls.__name__, version="extension")
        return made

    def __init__(self, py_obj: Op, inputs: Operand | Iterable[Operand] | None = None) -> None:
        """Create an operator. `inputs`: nodes and outputs; without them the operator is completed by
        `set_arguments`."""
        info = self.get_type_info()
        self.type, self.version = file_type(info.name), info.version_id
        self.operator = PythonOperator(self, type(self)._from_file)
        given = _flat(inputs)
        if given is not None:
            self.set_arguments(given)
            self.constructor_validate_and_infer_types()

    # Methods that a subclass overrides.

    def validate_and_infer_types(self) -> None:
        """Set the types of the outputs. An operator that sets none has no outputs."""

    def evaluate(self, outputs: TensorVector, inputs: TensorVector) -> bool:  # type: ignore[override]
        raise NotImplementedError(f"{type(self).__name__} has no evaluate(self, outputs, inputs)")

    def has_evaluate(self) -> bool:
        """Return whether the class computes its results itself, by `evaluate`."""
        return type(self).evaluate is not Op.evaluate

    def visit_attributes(self, visitor: AttributeVisitor) -> bool:
        return True

    def clone_with_new_inputs(self, new_inputs: list[Value]) -> Self:
        """Return the same operator on other inputs."""
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        Op.__init__(made, made, new_inputs)
        return made

    # Methods of OpenVINO's Node.

    def set_arguments(self, values: Sequence[Operand]) -> None:
        """Set the inputs to nodes and outputs. Raises TypeError for anything else."""
        found = [value_of(item) if isinstance(item, (Node, Value)) else None for item in values]
        if None in found:
            raise TypeError(f"an input of {self.type} is a node or an output, not {[*values][found.index(None)]!r}")
        self.inputs = found

    def constructor_validate_and_infer_types(self) -> None:
        self.validate_and_infer_types()

    def get_attributes(self) -> dict[str, Any]:
        visitor = AttributeVisitor()
        self.visit_attributes(visitor)
        return visitor.found

    def set_attribute(self, name: str, value: AttributeValue) -> None:
        """Set the value of an attribute; an attribute that is not visited remains unchanged. Raises TypeError for a
        value of another type."""
        self.visit_attributes(AttributeVisitor({name: value}))

    # Methods that irexec calls.

    def again(self, inputs: Iterable[Value | None]) -> Self:
        made = self.clone_with_new_inputs([value for value in inputs if value is not None])
        assert isinstance(made, Op), f"{type(self).__name__}.clone_with_new_inputs made {made!r}"
        made.given_name, made.id, made.layer = self.given_name, self.id, self.layer
        return made

    def inferred(self, inputs: Sequence[TensorType | None]) -> list[TensorType]:
        """Return the types of the outputs for inputs of these types; the node itself changes only if these are the
        types of its own inputs."""
        if len(inputs) == len(self.inputs) and all(map(_is_of, self.inputs, inputs)):
            self.validate_and_infer_types()
            return [value.type for value in self.outputs]
        other = self.clone_with_new_inputs([_stand_in(type) for type in inputs])
        return [value.type for value in other.outputs]

    def computed(self, arrays: Sequence[Array]) -> tuple[Array, ...]:
        """Return the results of `evaluate`. Raises RuntimeError if it returns False."""
        kinds = [DYNAMIC if value is None else value.element_type for value in self.inputs]
        given = [Tensor.of_values(array, kind) for array, kind in zip(arrays, kinds, strict=True)]
        types = [value.type for value in self.outputs]
        if any(type.shape.is_dynamic or type.element_type is DYNAMIC for type in types):
            types = self.inferred([TensorType.of(a, k) for a, k in zip(arrays, kinds, strict=True)])
        outputs = TensorVector([Tensor(type.element_type, _least(type)) for type in types])
        if not self.evaluate(outputs, TensorVector(given)):
            raise RuntimeError(f"{type(self).__name__}.evaluate did not return True")
        return tuple(tensor.values() for tensor in outputs)

    @classmethod
    def _from_file(cls, attributes: dict[str, Any], inputs: int) -> Op:
        """Return the node of a layer, with its attributes; the inputs are connected later."""
        made = cls()  # type: ignore[call-arg]
        made.visit_attributes(AttributeVisitor(attributes))
        made.inputs = [None] * inputs
        return made


def register(kind: type[Op]) -> None:
    """Let files use an operator. Raises TypeError for an object that is not an operator class, or cannot be created
    without arguments."""
    if not (isinstance(kind, type) and issubclass(kind, Op)):
        raise TypeError(f"an extension is a class derived from Op, not {kind!r}")
    operator = kind().operator  # type: ignore[call-arg]
    assert operator is not None, f"{kind.__name__}.__init__ does not call super().__init__(self, inputs)"
    REGISTRY[operator.type, operator.opset] = operator


def _flat(inputs: Operand | Iterable[Operand] | None) -> list[Operand] | None:
    """Return the inputs as a list: from a list or tuple, or from a tuple that contains the list, as `*inputs` collects
    it."""
    if isinstance(inputs, tuple):
        inputs = list(inputs) or None
        if inputs is not None and len(inputs) == 1 and isinstance(inputs[0], list):
            inputs = inputs[0]
    if inputs is not None and not isinstance(inputs, list):
        raise TypeError(f"the inputs of an operator are a list or a tuple, not {inputs!r}")
    return inputs


def _stand_in(type: TensorType | None) -> Value:
    """Return an output of this type that belongs to no model."""
    known = TensorType() if type is None else type
    if known.value is not None:
        return constant_node(Node, known.value, element_type=known.element_type).outputs[0]
    return parameter_node(Node, known.shape, known.element_type).outputs[0]


def _is_of(value: Value | None, type: TensorType | None) -> bool:
    """Return whether a value has the element type, the shape, and the elements (if known) of this type."""
    if value is None or type is None:
        return value is None and type is None
    known = value.type
    same = known.element_type is type.element_type and known.shape == type.shape
    return same and (type.value is None or known.value is type.value)


def _least(type: TensorType) -> tuple[int, ...]:
    """Return the smallest shape that a type allows: `evaluate` then sets the shapes of the outputs."""
    return () if type.rank is None else tuple(dim.min for dim in type.shape.dims)
