"""The model: operators bound to layers, values that connect them, and the model that holds them in order.

Names follow OpenVINO's Python API (`Model.inputs`, `Output.any_name`, `Node.friendly_name`, ...).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any
from weakref import ref

from irexec.diagnostics import LayerRef
from irexec.graph.body_maps import BodyInput, BodyOutput
from irexec.graph.consumers import note_inputs
from irexec.graph.order import ordered
from irexec.graph.ports import port_of
from irexec.ir.document import Layer
from irexec.ir.xml.source import Source
from irexec.ops.declare.operator import Operator
from irexec.ops.declare.type_names import type_name
from irexec.records import field, record
from irexec.types import Array, ElementType, PartialShape, Stored, TensorType

# Every node has a number of its own: in the order of their making, and for names where none was given.
_numbers = itertools.count(1)


class Value:
    """One output port of a node: the tensor that flows along its edges."""

    __slots__ = ("__weakref__", "declared", "index", "names", "node", "rt_info", "takers", "type")

    def __init__(self, node: Node, index: int, type: TensorType) -> None:
        self.node = node
        self.index = index
        self.type = type
        self.declared: TensorType | None = None
        self.names: set[str] = set()
        self.rt_info: dict[str, Any] = {}
        self.takers: set[ref[Node]] | None = None

    @property
    def element_type(self) -> ElementType:
        return self.type.element_type

    @property
    def partial_shape(self) -> PartialShape:
        return self.type.shape

    @property
    def shape(self) -> tuple[int, ...]:
        """The static shape. Raises ValueError when a dimension, UnknownRank when the rank is dynamic."""
        return self.type.shape.to_shape()

    @property
    def any_name(self) -> str:
        """One of the tensor's names. Raises RuntimeError when it has none."""
        if not self.names:
            raise RuntimeError(f"output {self.index} of {self.node.friendly_name!r} has no name")
        return min(self.names)

    def get_any_name(self) -> str:
        return self.any_name

    def get_names(self) -> set[str]:
        return self.names

    def get_partial_shape(self) -> PartialShape:
        return self.partial_shape

    def get_shape(self) -> tuple[int, ...]:
        return self.shape

    def get_element_type(self) -> ElementType:
        return self.element_type

    def get_node(self) -> Node:
        return self.node

    def get_index(self) -> int:
        return self.index

    def get_rt_info(self) -> dict[str, Any]:
        return self.rt_info

    def __repr__(self) -> str:
        names = ", ".join(sorted(self.names))
        return f"<Output: names[{names}] shape{self.partial_shape} type: {self.element_type}>"


class Input:
    """One input of a node, taken or not."""

    __slots__ = ("index", "node")

    def __init__(self, node: Node, index: int) -> None:
        self.node, self.index = node, index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Input) and self.node is other.node and self.index == other.index

    def __hash__(self) -> int:
        return hash((id(self.node), self.index))


class Inputs(list["Value | None"]):
    """The values that a node takes. OpenVINO's `node.inputs()` gives the inputs that take them."""

    __slots__ = ("node",)
    node: Node

    def __call__(self) -> list[Input]:
        return [Input(self.node, index) for index in range(len(self))]


class Outputs(list[Value]):
    """The values that a node makes: irexec's `node.outputs` and OpenVINO's `node.outputs()`."""

    __slots__ = ()

    def __call__(self) -> list[Value]:
        return list(self)


@record(eq=False)
class Body:
    """A nested model with the maps that connect it. `condition`: the Result that says whether a Loop goes on."""

    model: Model
    inputs: list[BodyInput] = field(default_factory=list)
    outputs: list[BodyOutput] = field(default_factory=list)
    condition: int | None = None


class Node:
    """A layer with its operator: inputs are the values it takes, outputs the values it makes.

    `operator` is None for a layer whose operator is unknown; such a node exists only while a file is being checked.
    `attributes` may be shared with nodes that have the same: whoever changes them gives the node another dict.
    `held` is the value of a Const or the bytes that it lies in, `constant` the value. `rt_info` is the layer's runtime
    information (its form: runtime_info.py), `input_rt_info` that of the input ports, by position.
    """

    __slots__ = (
        "__weakref__",
        "attributes",
        "bodies",
        "given_name",
        "held",
        "id",
        "input_rt_info",
        "inputs",
        "layer",
        "number",
        "operator",
        "outputs",
        "rt_info",
        "type",
        "version",
    )

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
        self.operator = operator
        self.type = type or (operator.type if operator else "")
        self.version = version or (operator.opset if operator else "")
        self.inputs: Inputs = Inputs(inputs)
        self.inputs.node = self
        self.attributes: dict[str, Any] = {} if attributes is None else attributes
        self.outputs: Outputs = Outputs()
        self.given_name = name
        self.number = next(_numbers)
        self.id = id
        self.layer = layer
        self.bodies: list[Body] = []
        self.held: Array | Stored | None = None
        self.rt_info: dict[str, Any] = {}
        self.input_rt_info: dict[int, dict[str, Any]] = {}

    def again(self, inputs: Iterable[Value | None]) -> Node:
        """A node of the same operator, attributes and names on other inputs, without outputs as yet."""
        return Node(
            self.operator,
            inputs,
            dict(self.attributes),
            name=self.given_name,
            id=self.id,
            layer=self.layer,
            type=self.type,
            version=self.version,
        )

    @property
    def constant(self) -> Array | None:
        """The value of a Const."""
        return self.held.array if isinstance(self.held, Stored) else self.held

    @constant.setter
    def constant(self, value: Array | None) -> None:
        self.held = value

    @property
    def all_attributes(self) -> dict[str, Any]:
        """The attributes by Python name, with the operator's defaults for those that the node does not have."""
        assert self.operator is not None
        return {a.name: self.attributes.get(a.name, a.default) for a in self.operator.attributes}

    def set_outputs(self, types: Iterable[TensorType]) -> None:
        """Give the outputs these types; makes the values that do not exist yet. Done once, when the node is made."""
        for index, type in enumerate(types):
            if index < len(self.outputs):
                self.outputs[index].type = type
            else:
                self.outputs.append(Value(self, index, type))

    @property
    def ref(self) -> LayerRef:
        """How findings name this node."""
        return LayerRef(self.id, self.given_name, self.type, self.version)

    @property
    def name(self) -> str:
        """A name that no other node of this process has: OpenVINO's name of the type, and a number."""
        return f"{self.get_type_name()}_{self.number}"

    @property
    def friendly_name(self) -> str:
        """The name that the node was given, or `name`. (`given_name` is empty then: no file depends on a number.)"""
        return self.given_name or self.name

    @friendly_name.setter
    def friendly_name(self, name: str) -> None:
        self.given_name = name

    def get_friendly_name(self) -> str:
        return self.friendly_name

    def set_friendly_name(self, name: str) -> None:
        self.given_name = name

    def get_type_name(self) -> str:
        """The type as OpenVINO's objects name it: `Constant` for a file's `Const`."""
        return type_name(self.type)

    def output(self, index: int = 0) -> Value:
        return self.outputs[index]

    def input_value(self, index: int) -> Value | None:
        return self.inputs[index]

    def get_attributes(self) -> dict[str, Any]:
        return dict(self.attributes)

    def get_rt_info(self) -> dict[str, Any]:
        return self.rt_info

    def __repr__(self) -> str:
        return f"<{self.type}-{self.version.removeprefix('opset')}: {self.given_name!r}>"


class Defaults:
    """Inputs that a caller may leave out: in the model they are the constants that they are then.

    `types`: of each, by name. `taking(names)`: the same model with these among its inputs.
    """

    def __init__(self, types: Mapping[str, TensorType], taking: Callable[[frozenset[str]], Model]) -> None:
        self.types, self._make = types, taking
        self._made: dict[frozenset[str], Model] = {}

    def taking(self, names: frozenset[str]) -> Model:
        if names not in self._made:
            self._made[names] = self._make(names)
        return self._made[names]


class Model:
    """Nodes in an order in which every node follows its producers; `parameters` and `results` in file order.

    `unreachable` are layers that contribute to no result: checked, never run. `keeps_declared`: results at run time
    must also match what the file's ports declare. `source` is the text of a model that was not read from a file.
    `defaults` are what a caller may leave out.
    """

    def __init__(
        self,
        results: Iterable[Node | Value],
        parameters: Iterable[Node],
        name: str = "",
        sinks: Iterable[Node] = (),
    ) -> None:
        """`results`: Results, or the nodes and values that get one. `sinks`: nodes that are run for their effect."""
        self._assemble(results, parameters, name, sinks)

    def _assemble(
        self, results: Iterable[Node | Value], parameters: Iterable[Node], name: str, sinks: Iterable[Node]
    ) -> None:
        self.name = name
        self.parameters = list(parameters)
        self.results = [_as_result(value) for given in results for value in _values(given)]
        self.sinks = list(sinks)
        self.rt_info: dict[str, Any] = {}
        self.file: str | None = None
        self.source: Source | None = None
        self.version = 11
        self.keeps_declared = True
        self.defaults: Defaults | None = None
        self.unreachable: list[Node] = []
        self.nodes: list[Node] = ordered([*self.parameters, *self.sinks, *self.results])

    @property
    def friendly_name(self) -> str:
        return self.name

    def get_friendly_name(self) -> str:
        return self.name

    def defaults_among(self, names: Iterable[object]) -> frozenset[str]:
        """Those of the names that are inputs with a default, which are not among `inputs`."""
        return frozenset() if self.defaults is None else frozenset(self.defaults.types.keys() & set(names))

    @property
    def inputs(self) -> list[Value]:
        return [p.outputs[0] for p in self.parameters]

    @property
    def outputs(self) -> list[Value]:
        return [r.outputs[0] for r in self.results]

    def input(self, key: int | str = 0) -> Value:
        """An input by position or tensor name. Raises KeyError or IndexError."""
        return port_of(self.inputs, key)

    def output(self, key: int | str = 0) -> Value:
        """An output by position or tensor name. Raises KeyError or IndexError."""
        return port_of(self.outputs, key)

    def get_ops(self) -> list[Node]:
        return list(self.nodes)

    get_ordered_ops = get_ops

    def get_parameters(self) -> list[Node]:
        return list(self.parameters)

    def get_results(self) -> list[Node]:
        return list(self.results)

    def get_rt_info(self) -> dict[str, Any]:
        return self.rt_info

    def walk(self) -> Iterator[Node]:
        """All nodes, those of bodies included, each body after its node."""
        levels = [iter(self.nodes)]
        while levels:
            for node in levels[-1]:
                yield node
                if node.bodies:
                    levels += [iter(body.model.nodes) for body in reversed(node.bodies)]
                    break
            else:
                levels.pop()

    def __repr__(self) -> str:
        ports = "\n".join(map(repr, [*self.inputs, *self.outputs]))
        return f"<Model: {self.name!r}\n{ports}\n>"


def _values(given: Node | Value) -> Sequence[Node | Value]:
    """All outputs of a node that has several: each gets a Result."""
    return given.outputs if isinstance(given, Node) and len(given.outputs) > 1 else [given]


def _as_result(node: Node | Value) -> Node:
    if isinstance(node, Node) and node.type == "Result":
        return node
    from irexec.ops.declare.contents import load

    value = node.outputs[0] if isinstance(node, Node) else node
    name = value.node.given_name
    if name:
        name += "/result" if len(value.node.outputs) == 1 else f"/result_{value.index}"
    result = Node(load("Result", 1), [value], name=name)
    result.set_outputs([value.type])
    # A Result is no tensor of its own: whoever names one of them names both.
    result.outputs[0].names = value.names
    note_inputs(result)
    return result
