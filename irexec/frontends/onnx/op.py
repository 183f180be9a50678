"""One ONNX node under translation: its inputs and attributes, and the creation of the corresponding IR nodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

import numpy as np

from irexec.core.diagnostics import Severity
from irexec.core.types import F64, FLOATS, I64, Array, ElementType, TensorType
from irexec.frontends.onnx.builder import Builder
from irexec.frontends.onnx.errors import Refused
from irexec.frontends.onnx.messages import onnx
from irexec.frontends.onnx.shapes import check_shapes
from irexec.frontends.onnx.tensors import dense, read_tensor
from irexec.model.graph.model import Body, Node, Value
from irexec.ops.spec import contents

Input = Value | Array | int | list[int] | None


@dataclass(slots=True)
class Inner:
    """A body under construction: its Parameters and results in order, and the values that it captures.

    `captures`: outer values, each with the Parameter that passes it to the body.
    """

    name: str
    parameters: list[Node]
    results: list[Value]
    captures: list[tuple[Value, Node]]


class Enter(Protocol):
    """Translates a body with inputs of the given types; None stands for the declared type.

    `sliced`: position of an input → the axis along which its Parameter has one dimension more than the value that the
    body's nodes use. `inline`: the body's nodes are added to the enclosing graph.
    """

    def __call__(
        self,
        graph: onnx.GraphProto,
        types: Sequence[TensorType | None],
        sliced: Mapping[int, int] | None = None,
        *,
        inline: bool = False,
    ) -> Inner: ...


class Op:
    """An ONNX node as its translator sees it.

    `inputs`: the input values, None for an omitted input. `version`: the opset that introduced this version of the
    operator. `opset`: the opset that the model imports.
    """

    def __init__(
        self,
        builder: Builder,
        node: onnx.NodeProto,
        inputs: list[Value | None],
        attributes: dict[str, onnx.AttributeProto],
        version: int,
        opset: int,
        enter: Enter,
        named: Callable[[str], Value | None],
    ) -> None:
        self.builder, self.node, self.version, self.opset = builder, node, version, opset
        self.enter = enter
        # Returns the value of a name in the graph; None if the name has no value yet.
        self.named = named
        self.inputs = inputs
        self.attributes = attributes
        self._read: set[str] = set()
        self.name = node.name or next((o for o in node.output if o), "") or node.op_type

    @property
    def type(self) -> str:
        return self.node.op_type

    # Inputs

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, index: int) -> Value:
        """Return a required input."""
        value = self.get(index)
        if value is None:
            raise Refused("F004", f"input {index} is missing")
        return value

    def get(self, index: int) -> Value | None:
        """Return an optional input; None if it is omitted."""
        return self.inputs[index] if index < len(self.inputs) else None

    def kind(self, index: int = 0) -> ElementType:
        return self[index].element_type

    def rank(self, index: int = 0) -> int | None:
        return self[index].type.shape.rank

    def needs_rank(self, index: int = 0) -> int:
        """Return the rank of an input. Raises Refused if it is unknown."""
        rank = self.rank(index)
        if rank is None:
            self.refuse(f"the rank of input {index} must be known")
        return rank

    def known(self, index: int) -> Array | None:
        """Return the value of a constant input; None if it is not a constant or is omitted."""
        value = self.get(index)
        if value is None:
            return None
        return value.node.constant if value.node.constant is not None else value.type.value

    def wants(self, index: int) -> bool:
        """Return True if the node names this output."""
        return index < len(self.node.output) and bool(self.node.output[index])

    def check_shapes(self, patterns: str, **known: int) -> None:
        """Compare the shapes of the inputs with patterns (see shapes.py). Raises Refused."""
        shapes = [None if value is None else value.type.shape for value in self.inputs]
        check_shapes(patterns, shapes, integers_of(self.attributes) | known)

    def warn(self, code: str, message: str, **details: Any) -> None:
        """Report a deviation from ONNX's text that leaves the result well defined."""
        self.builder.find(code, f"{self.type}: {message}", severity=Severity.WARNING, **details)

    def refuse(self, message: str, **details: Any) -> NoReturn:
        raise Refused("F009", message, **details)

    # Attributes

    def has(self, name: str) -> bool:
        self._read.add(name)
        return name in self.attributes

    def refuse_unread(self) -> None:
        """Raise Refused if the node has an attribute that the translator never read."""
        for name in self.attributes.keys() - self._read:
            raise Refused("F009", f"the attribute {name!r} is not supported", attribute=name)

    def _attribute(self, name: str, kind: int) -> onnx.AttributeProto | None:
        self._read.add(name)
        attribute = self.attributes.get(name)
        if attribute is not None and attribute.type != kind:
            names = onnx.AttributeProto.AttributeType
            found = names.Name(attribute.type) if attribute.type in names.values() else str(attribute.type)
            message = f"the attribute {name!r} is {found}, expected {names.Name(kind)}"
            raise Refused("F004", message, attribute=name, found=found, allowed=names.Name(kind))
        return attribute

    def integer(self, name: str, default: int = 0) -> int:
        attribute = self._attribute(name, onnx.AttributeProto.INT)
        return default if attribute is None else int(attribute.i)

    def count(self, name: str) -> int:
        """Return a required number, such as that of the heads. Raises Refused if it is missing, or not positive."""
        if (number := self.integer(name, 0)) < 1:
            message = f"{name} is {number}, expected 1 or more" if self.has(name) else f"the required {name} is missing"
            raise Refused("F004", message, attribute=name, allowed="1 or more")
        return number

    def axis(self, name: str, default: int) -> int:
        """Return an axis of the first input, counted from the front if the rank is known. Raises Refused if it is out
        of range."""
        axis, rank = self.integer(name, default), self.rank()
        if rank is None:
            return axis
        if not -rank <= axis < rank:
            self.refuse(f"{name} is {axis}, expected {-rank} to {rank - 1}", attribute=name, found=str(axis))
        return axis % rank

    def axes(self, name: str) -> list[int] | None:
        """Return a list of axes of the first input. Raises Refused if one of them is out of range."""
        axes, rank = self.integers(name), self.rank()
        for axis in axes or []:
            if rank is not None and not -rank <= axis < rank:
                self.refuse(f"{name} contains {axis}, expected {-rank} to {rank - 1}", attribute=name, found=str(axis))
        return axes

    def flag(self, name: str, default: bool = False) -> bool:
        value = self.integer(name, int(default))
        if value not in (0, 1):
            raise Refused(
                "F004", f"{name} is {value}, expected 0 or 1", attribute=name, found=str(value), allowed="0, 1",
                hint="ONNX defines 0 and 1 only: some runtimes take other numbers for 1, others for 0",
            )  # fmt: skip
        return value == 1

    def number(self, name: str, default: float = 0.0) -> float:
        """Return a number of f32, as defaults are in ONNX, too."""
        attribute = self._attribute(name, onnx.AttributeProto.FLOAT)
        return float(np.float32(default) if attribute is None else attribute.f)

    def integers(self, name: str) -> list[int] | None:
        """Return a list; None, as if it were omitted, if it is empty."""
        attribute = self._attribute(name, onnx.AttributeProto.INTS)
        return None if attribute is None else list(attribute.ints) or None

    def numbers(self, name: str) -> list[float] | None:
        attribute = self._attribute(name, onnx.AttributeProto.FLOATS)
        return None if attribute is None else list(attribute.floats)

    def text(self, name: str, default: str = "", allowed: Sequence[str] = ()) -> str:
        attribute = self._attribute(name, onnx.AttributeProto.STRING)
        value = default if attribute is None else attribute.s.decode("utf-8", "replace")
        if allowed and value not in allowed:
            raise Refused(
                "F004",
                f"{name} is {value!r}, expected one of {', '.join(allowed)}",
                attribute=name,
                found=value,
                allowed=", ".join(allowed),
            )
        return value

    def texts(self, name: str) -> list[str] | None:
        attribute = self._attribute(name, onnx.AttributeProto.STRINGS)
        return None if attribute is None else [item.decode("utf-8", "replace") for item in attribute.strings]

    def tensor(self, name: str) -> tuple[Array, ElementType] | None:
        attribute = self._attribute(name, onnx.AttributeProto.TENSOR)
        return None if attribute is None else read_tensor(attribute.t, self.builder.folder)

    def graph(self, name: str) -> onnx.GraphProto:
        attribute = self._attribute(name, onnx.AttributeProto.GRAPH)
        if attribute is None:
            raise Refused("F004", f"the attribute {name!r} is missing", attribute=name)
        return attribute.g

    def type_attribute(self, name: str) -> onnx.TypeProto | None:
        attribute = self._attribute(name, onnx.AttributeProto.TYPE_PROTO)
        return None if attribute is None else attribute.tp

    def sparse(self, name: str) -> tuple[Array, ElementType] | None:
        attribute = self._attribute(name, onnx.AttributeProto.SPARSE_TENSOR)
        return None if attribute is None else dense(attribute.sparse_tensor, self.builder.folder)

    # Creating nodes

    def make(self, type: str, *inputs: Input, opset: int | str = 1, **attributes: Any) -> Value:
        """Create a node and return its first output."""
        return self.make_node(type, *inputs, opset=opset, **attributes).outputs[0]

    def make_node(self, type: str, *inputs: Input, opset: int | str = 1, **attributes: Any) -> Node:
        """Create a node of the operator that `opset` introduced: a number for IR's opsets, "onnx18" for ONNX's.

        Arrays, integers and lists of integers among the inputs become constants.
        """
        return self.make_part("", type, inputs, opset, attributes)

    def make_part(
        self, suffix: str, type: str, inputs: Sequence[Input], opset: int | str, attributes: dict[str, Any]
    ) -> Node:
        """Create a node as `make_node` does; its name is the name of the ONNX node with a suffix."""
        version = opset if isinstance(opset, str) else f"opset{opset}"
        operator = contents.find(type, version)
        if operator is None:
            self.refuse(f"the conversion requires {type} of {version}, which is not implemented")
        values = [self._as_value(item) for item in inputs]
        while values and values[-1] is None:
            values.pop()
        return self.builder.add(operator, values, attributes, self.name + suffix)

    def make_with(self, type: str, inputs: Sequence[Value | None], bodies: Sequence[Body], opset: int) -> Node:
        """Create a node with bodies."""
        operator = contents.find(type, f"opset{opset}")
        assert operator is not None
        return self.builder.add(operator, inputs, {}, self.name, bodies)

    def _as_value(self, item: Input) -> Value | None:
        if item is None or isinstance(item, Value):
            return item
        if isinstance(item, np.ndarray):
            return self.constant(item)
        return self.constant(np.array(item, np.int64))

    def constant(self, array: Array, kind: ElementType | None = None) -> Value:
        return self.builder.constant(array, kind or ElementType.of(array.dtype))

    def like(self, number: Any, index: int = 0) -> Value:
        """Return a scalar constant of the element type of an input."""
        return self.number_of(number, self[index])

    def number_of(self, number: Any, like: Value) -> Value:
        """Return a scalar constant of the element type of a value."""
        return self.constant(np.array(number).astype(like.element_type.dtype), like.element_type)

    # Helpers that many translators use

    def convert(self, value: Value, kind: ElementType) -> Value:
        """Return the value converted to another element type, by IR's rules."""
        if value.element_type is kind:
            return value
        return self.make("Convert", value, destination_type=kind)

    def reals(self, value: Value) -> Value:
        """Return the value in a float type: integers are converted to f64."""
        return value if value.element_type in FLOATS else self.convert(value, F64)

    def shape_of(self, value: Value) -> Value:
        return self.make("ShapeOf", value, opset=3, output_type="i64")

    def rank_of(self, value: Value) -> Value | int:
        """Return the rank: a number if it is known, otherwise a scalar that a run computes."""
        rank = value.type.shape.rank
        return rank if rank is not None else self.make("Squeeze", self.shape_of(self.shape_of(value)), [0])

    def axes_from(self, first: int, value: Value | None = None) -> list[int] | Value:
        """Return the axes of a value, by default the first input, from `first` on."""
        rank = self.rank_of(value or self[0])
        if isinstance(rank, int):
            return list(range(first % max(rank, 1) if first < 0 else first, rank))
        return list(range(first, 0)) if first < 0 else self.make("Range", first, rank, 1, opset=4, output_type=I64)

    def along_channels(self, value: Value, like: Value) -> Value:
        """Return a number for each channel in a form that broadcasts to `like`, an image."""
        rank = self.rank_of(like)
        if isinstance(rank, int):
            return self.reshape(value, [1, -1, *[1] * (rank - 2)])
        after = self.make("Broadcast", 1, self.reshape(self.make("Subtract", rank, 2), [1]), opset=3)
        return self.reshape(value, self.make("Concat", [1, -1], after, axis=0))

    def extent(self, value: Value, axis: int | list[int]) -> Value:
        """Return the extent of an axis as a scalar, or the extents of several axes as a vector."""
        return self.make("Gather", self.shape_of(value), axis, 0, opset=8)

    def reshape(self, value: Value, shape: Input, zero_copies: bool = False) -> Value:
        """Return the same elements in another shape. A constant, such as most biases and scales, needs no node."""
        stored = value.node.constant
        if stored is not None and isinstance(shape, list) and not zero_copies and _fits(stored, shape):
            return self.constant(stored.reshape(shape), value.element_type)
        return self.make("Reshape", value, shape, special_zero=zero_copies)

    def same(self, value: Value) -> Value:
        """Return the value under another name."""
        return self.make("Identity", value, opset=16)


def integers_of(attributes: Mapping[str, onnx.AttributeProto]) -> dict[str, int]:
    """Return the attributes that are one integer, by name."""
    return {name: int(a.i) for name, a in attributes.items() if a.type == onnx.AttributeProto.INT}


def _fits(array: Array, shape: list[int]) -> bool:
    """Return True if a shape, in which -1 is inferred, has as many elements as the array."""
    known = math.prod(extent for extent in shape if extent != -1)
    return bool(known) and (
        array.size == known if -1 not in shape else array.size % known == 0 and shape.count(-1) == 1
    )
