"""The model: operators bound to layers, the values that connect them, and the ordered nodes.

Names follow OpenVINO's Python API (`Model.inputs`, `Output.any_name`, `Node.friendly_name`, ...). The API's other names
are defined by the subclasses in api/openvino: the class of a model determines the classes of its nodes and values.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, ClassVar, Self
from weakref import ref

from irexec.core.arguments import expected
from irexec.core.collector import dropped
from irexec.core.diagnostics import LayerRef, Origin
from irexec.core.records import field, record
from irexec.core.structure import PARAMETER, RESULT
from irexec.core.types import Array, ElementType, Stored, TensorType
from irexec.ir.document import Layer
from irexec.ir.text import result_name
from irexec.ir.xml.source import Source
from irexec.model.graph.body_maps import BodyInput, BodyOutput
from irexec.model.graph.one_process import OfOneProcess
from irexec.model.graph.order import ordered
from irexec.ops.spec.contents import load, type_name
from irexec.ops.spec.operator import Operator
from irexec.ops.spec.traits import Stateful, Traits

# Generates the nodes' unique numbers, which determine the order of creation and the default names. The nodes of a
# copied model keep the numbers of the original.
_numbers = itertools.count(1)
_number = attrgetter("number")


class Value(OfOneProcess):
    """One output port of a node: the tensor that flows along its edges."""

    instead = "give its name to the other process; of results, pickle the arrays (to_tuple)"
    __slots__ = ("__weakref__", "_users", "declared", "index", "names", "node", "rt_info")

    def __init__(self, node: Node, index: int) -> None:
        self.node = node
        self.index = index
        self.declared: TensorType | None = None
        self.names: set[str] = set()
        self.rt_info: dict[str, Any] = {}
        # The nodes that have the value among their inputs, updated by `Node.inputs`. A value does not keep its users
        # alive.
        self._users: set[ref[Node]] | None = None

    @property
    def users(self) -> list[Node]:
        """The nodes that have this value among their inputs, oldest first."""
        living = [node for user in self._users or () if (node := user()) is not None]
        return sorted(living, key=_number) if len(living) > 1 else living

    def uses(self) -> list[tuple[Node, int]]:
        """Return the inputs that take this value: each node with the position of the input, oldest node first."""
        return [(node, index) for node in self.users for index, taken in enumerate(node.inputs) if taken is self]

    def replace_uses(self, other: Value, keep: Collection[Node] = ()) -> None:
        """Replace this value by another in every node that takes it, except the nodes in `keep`."""
        for node in self.users:
            if node not in keep:
                node.inputs = [other if taken is self else taken for taken in node.inputs]

    @property
    def type(self) -> TensorType:
        """The type that inference determined: see `Node.types`."""
        return self.node.types[self.index]

    @property
    def element_type(self) -> ElementType:
        """The element type."""
        return self.node.types[self.index].element_type

    @property
    def any_name(self) -> str:
        """One of the tensor's names. Raises RuntimeError if it has none."""
        if not self.names:
            raise RuntimeError(f"Attempt to get a name for a Tensor without names: {self.node.friendly_name!r}")
        return min(self.names)

    def is_port(self, other: Value) -> bool:
        """Return whether `other` is this value, or the corresponding value in a copy of its model."""
        return self is other or (
            self.index == expected(other, Value, "is_port()").index and self.node.number == other.node.number
        )

    def __repr__(self) -> str:
        names = ", ".join(sorted(self.names))
        return f"<Output: names[{names}] shape[{self.type.shape.to_string()}] type: {self.element_type}>"


class Input:
    """One input of a node, connected or not."""

    __slots__ = ("index", "node")

    def __init__(self, node: Node, index: int) -> None:
        self.node, self.index = node, index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Input) and self.node is other.node and self.index == other.index

    def __hash__(self) -> int:
        return hash((id(self.node), self.index))


class Inputs(tuple["Value | None", ...]):
    """The input values of a node. Calling it, as OpenVINO's `node.inputs()`, returns the inputs."""

    node: Node

    def __call__(self) -> list[Input]:
        return [self.node.input_class(self.node, index) for index in range(len(self))]


_NO_TRAITS = Traits()
_NOTHING = Inputs()


class Outputs(list[Value]):
    """The output values of a node: irexec's `node.outputs` and OpenVINO's `node.outputs()`."""

    __slots__ = ()

    def __call__(self) -> list[Value]:
        return list(self)


@record(eq=False)
class Body:
    """A nested model with its port maps. `condition`: the Result that determines whether a Loop continues."""

    model: Model
    inputs: list[BodyInput] = field(default_factory=list)
    outputs: list[BodyOutput] = field(default_factory=list)
    condition: int | None = None


class Node(OfOneProcess):
    """A layer with its operator, its input values and its output values.

    `operator` is None for a layer whose operator is unknown; such a node exists only while a file is being checked.
    `held` is the value of a Const, or the default value of a Parameter, or the bytes that contain it; `constant` is the
    value. `types`: the inferred types of the outputs (infer_types). `rt_info` is the layer's runtime information (its
    form: runtime_info.py), `input_rt_info` the runtime information of the input ports, by position.
    """

    value_class: ClassVar[type[Value]] = Value
    input_class: ClassVar[type[Input]] = Input
    __slots__ = {
        "__weakref__": "",
        "_attributes": "",
        "_inputs": "",
        "bodies": "the nested models of Loop, TensorIterator and If",
        "given_name": "the assigned name, which may be empty",
        "held": "the value of a Const, or the stored bytes",
        "id": "the id in the file",
        "input_rt_info": "the runtime information of the inputs, by position",
        "layer": "the layer of the file",
        "number": "the creation order: later nodes have larger numbers",
        "operator": "the operator; None if it is unknown",
        "origin": "the node of another format from which it was made",
        "outputs": "the values that the node computes",
        "rt_info": "the runtime information of the layer",
        "type": "the type in files, such as `Convolution`",
        "types": "the inferred types of the outputs",
        "version": "the opset in files, such as `opset15`",
    }

    def __init__(
        self,
        operator: Operator | None,
        inputs: Iterable[Value | None] = (),
        attributes: dict[str, Any] | None = None,
        *,
        name: str = "",
        id: str = "",
        layer: Layer | None = None,
        type: str | None = None,
        version: str | None = None,
    ) -> None:
        self.operator = operator if operator is None else expected(operator, Operator, "Node()")
        self.type = type or (operator.type if operator else "")
        self.version = version or (operator.opset if operator else "")
        self._inputs: Inputs = _NOTHING
        if inputs:
            self.inputs = inputs
        self._attributes: dict[str, Any] = {} if attributes is None else attributes
        self.outputs: Outputs = Outputs()
        self.types: tuple[TensorType, ...] = ()
        self.given_name = name
        self.number = next(_numbers)
        self.id = id
        self.layer = layer
        self.bodies: list[Body] = []
        self.held: Array | Stored | None = None
        self.rt_info: dict[str, Any] = {}
        self.input_rt_info: dict[int, dict[str, Any]] = {}
        self.origin: Origin | None = None

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes by Python name. Equal nodes may share the dictionary `_attributes`, which is only replaced."""
        return self._attributes

    @attributes.setter
    def attributes(self, attributes: dict[str, Any]) -> None:
        self._attributes = attributes

    @property
    def inputs(self) -> Inputs:
        """The input values, None for an omitted input. Assigning them updates `Value.users`."""
        return self._inputs

    @inputs.setter
    def inputs(self, values: Iterable[Value | None]) -> None:
        own, inputs = ref(self), Inputs(values) or _NOTHING
        for value in inputs:
            if value is not None:
                expected(value, Value, "Node.inputs")
        for value in self._inputs:
            if value is not None and value._users is not None:
                value._users.discard(own)
        self._inputs = inputs
        if inputs:
            inputs.node = self
        for value in inputs:
            if value is None:
                continue
            if value._users is None:
                value._users = {own}
            else:
                value._users.add(own)

    def replace_input_with(self, index: int, value: Value | None) -> None:
        """Set the value of the input at a position; missing inputs before it become None."""
        inputs = [*self._inputs, *[None] * (index + 1 - len(self._inputs))]
        self.inputs = [*inputs[:index], value, *inputs[index + 1 :]]

    def again(self, inputs: Iterable[Value | None]) -> Self:
        """Return a node with other inputs, the same operator, attributes and names, and outputs not yet inferred."""
        names = {"name": self.given_name, "id": self.id, "type": self.type, "version": self.version}
        made = type(self)(self.operator, inputs, dict(self.attributes), layer=self.layer, **names)
        made.origin = self.origin
        return made

    @property
    def traits(self) -> Traits:
        """The traits of the operator; none if it is unknown."""
        return _NO_TRAITS if self.operator is None else self.operator.traits

    @property
    def has_state(self) -> bool:
        """Whether the node reads or assigns a variable."""
        return Stateful in self.traits

    @property
    def constant(self) -> Array | None:
        """The value of a Const, or the default value of a Parameter."""
        return self.held.array if isinstance(self.held, Stored) else self.held

    @constant.setter
    def constant(self, value: Array | None) -> None:
        self.held = value

    @property
    def all_attributes(self) -> dict[str, Any]:
        """The attributes by Python name, including the operator's defaults for absent attributes."""
        assert self.operator is not None
        return {a.name: self.attributes.get(a.name, a.default) for a in self.operator.attributes}

    def set_outputs(self, types: Iterable[TensorType]) -> None:
        """Set the types of the outputs, and create missing outputs. For new nodes, and for inference."""
        found = tuple(types)
        self.types = found + self.types[len(found) :]
        for index in range(len(self.outputs), len(found)):
            self.outputs.append(self.value_class(self, index))

    @property
    def ref(self) -> LayerRef:
        """The name in findings: that of the node in the file from which this node was made, or its own."""
        return self.origin.ref if self.origin is not None else self.own_ref

    @property
    def own_ref(self) -> LayerRef:
        """The name of this node itself, whatever it was made from."""
        return LayerRef(self.id, self.given_name, self.type, self.version)

    @property
    def name(self) -> str:
        """A name that is unique in this process: OpenVINO's name of the type, and a number."""
        return f"{self.get_type_name()}_{self.number}"

    @property
    def friendly_name(self) -> str:
        """The node's given name, or `name` if it has none. (Files do not contain this `name` and its number.)"""
        return self.given_name or self.name

    @friendly_name.setter
    def friendly_name(self, name: str) -> None:
        self.given_name = name

    def get_type_name(self) -> str:
        """Return the type as OpenVINO's objects name it: `Constant` for a file's `Const`."""
        return type_name(self.type)

    def __repr__(self) -> str:
        shapes = ", ".join(f"[{value.type.shape.to_string()}]" for value in self.outputs)
        kind = f", {self.outputs[0].element_type}" if self.type == PARAMETER and self.outputs else ""
        return f"<{self.get_type_name()}: {self.friendly_name!r} ({shapes}{kind})>"


class Model(OfOneProcess):
    """Nodes in topological order; `parameters` and `results` in file order.

    `unreachable` are layers that contribute to no result: checked, never run. `keeps_declared`: results at run time
    must also match the types that the file's ports declare. `source` is the text from which the model was read.
    `layers_read`: the number of layers in the file, including layers of bodies. A Parameter with a default value is not
    among `parameters`: it is a constant unless a caller gives it another value (model/inference/opened.py).
    `has_own_weights`: the weights are in the `.bin` beside `file`, where other programs find them.
    """

    instead = "save it (irexec.save_model) and read it in the other process"
    node_class: ClassVar[type[Node]] = Node
    layers_read = 0

    def __init__(
        self, results: Iterable[Node | Value], parameters: Iterable[Node], name: str = "", sinks: Iterable[Node] = ()
    ) -> None:
        """`results`: Results, or the nodes and values that get one. `sinks`: nodes that run because of their effect."""
        self.name = name
        self.parameters = list(parameters)
        self.results = [self._as_result(value) for given in results for value in _values(given)]
        self.sinks = list(sinks)
        self.rt_info: dict[str, Any] = {}
        self.file: str | None = None
        self.has_own_weights = True
        self.source: Source | None = None
        self.version = 11
        self.keeps_declared = True
        self.unreachable: list[Node] = []
        self.nodes: list[Node] = ordered([*self.parameters, *self.sinks, *self.results])

    @classmethod
    def of(
        cls, results: Iterable[Node | Value], parameters: Iterable[Node], name: str = "", sinks: Iterable[Node] = ()
    ) -> Self:
        """Return a model of these parts, without the checks of a subclass's constructor."""
        made = cls.__new__(cls)
        Model.__init__(made, results, parameters, name, sinks)
        return made

    def _as_result(self, node: Node | Value) -> Node:
        if isinstance(node, Node) and node.type == RESULT:
            return node.outputs[0].node  # The node itself, also where an array is a proxy for it.
        value = node.outputs[0] if isinstance(node, Node) else node
        name = value.node.given_name
        if name:
            name = result_name(name, value.index, len(value.node.outputs))
        result = self.node_class(load(RESULT, 1), [value], name=name)
        result.set_outputs([value.type])
        # A Result has no tensor of its own: it shares the names of its input.
        result.outputs[0].names = value.names
        return result

    _dropped = staticmethod(dropped)

    def __del__(self) -> None:
        # Nodes and values refer to each other, so that only the garbage collector can free them with their model.
        if layers := self.layers_read:
            vars(self).clear()
            self._dropped(layers)

    @property
    def inputs(self) -> list[Value]:
        """The inputs of the model: the outputs of its Parameters."""
        return [p.outputs[0] for p in self.parameters]

    @property
    def optional_inputs(self) -> list[Value]:
        """The Parameters with a default value, which are not among `inputs`."""
        parameters = (node for node in (*self.nodes, *self.unreachable) if node.type == PARAMETER)
        return [node.outputs[0] for node in parameters if node.held is not None]

    @property
    def outputs(self) -> list[Value]:
        """The outputs of the model: the outputs of its Results."""
        return [r.outputs[0] for r in self.results]

    def walk(self, *, idle: bool = False) -> Iterator[Node]:
        """Yield all nodes, including nodes of bodies, which follow the node that contains the body. `idle`: also the
        nodes that contribute to no result."""
        levels = [self._iterated(idle)]
        while levels:
            for node in levels[-1]:
                yield node
                if node.bodies:
                    levels += [body.model._iterated(idle) for body in reversed(node.bodies)]
                    break
            else:
                levels.pop()

    def _iterated(self, idle: bool) -> Iterator[Node]:
        return itertools.chain(self.nodes, self.unreachable if idle else ())

    def dissolve(self) -> None:
        """Disconnect all nodes, so that their memory is freed immediately: a node and its outputs refer to each other.

        The caller must hold the only reference to the model. The model and its nodes are empty afterwards.
        """
        for node in [*self.walk(idle=True)]:
            node.inputs, node.outputs = (), Outputs()
            node.bodies = []
        Model.__init__(self, (), (), self.name)

    def __repr__(self) -> str:
        ports = "\n".join(map(repr, [*self.inputs, *self.outputs]))
        return f"<Model: {self.name!r}\n{ports}\n>"


def _values(given: Node | Value) -> Sequence[Node | Value]:
    """Return all outputs of a node, each of which gets a Result."""
    return given.outputs if isinstance(given, Node) and len(given.outputs) > 1 else [given]
