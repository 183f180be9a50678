"""Cutting: copying some layers of a model into a new model."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from irexec.core.records import record
from irexec.core.structure import ENDS, PARAMETER, READ_VALUE, RESULT
from irexec.core.types import TensorType
from irexec.model.graph.copies import like
from irexec.model.graph.ends import parameter_node
from irexec.model.graph.model import Model, Node, Value
from irexec.model.graph.order import ordered
from irexec.model.graph.ports import output_name
from irexec.ops.spec.traits import Random


@record
class Part:
    """A model cut out of a whole model. `begins` and `ends`: the whole model's values that its Parameters replace and
    its Results return. `places`: the copies of the whole model's layers.
    """

    model: Model
    begins: list[Value]
    ends: list[Value]
    places: dict[Node, Node]


def cut(
    whole: Model, nodes: Collection[Node], ends: Sequence[Value | Node], types: Mapping[Value, TensorType] | None = None
) -> Part:
    """Return a model of these layers, with `ends` (values, or Results of the model) as results.

    Values from outside become Parameters, with the value's type or the type in `types`; layers that depend on constants
    only are copied as well. Layers that no end needs are left out, except sinks. Bodies are shared with the whole
    model.
    """
    return Cutter(whole).cut(nodes, ends, types)


def constant_nodes(model: Model) -> set[Node]:
    """Return the layers that depend on constants only."""
    return constant_among(model.nodes)


def constant_among(nodes: Iterable[Node]) -> set[Node]:
    """Return the layers that depend on constants only; `nodes` must be in topological order."""
    found: set[Node] = set()
    for node in nodes:
        if node.held is not None:
            found.add(node)
        elif node.operator is not None and Random not in node.traits and not node.bodies:
            if not node.attributes.keys() >= node.operator.signature.attribute_names:
                continue  # The layer belongs to a file with errors.
            given = [value for value in node.inputs if value is not None]
            if given and node.type not in (READ_VALUE, RESULT) and all(value.node in found for value in given):
                found.add(node)
    return found


def needed_by(ends: Iterable[Node]) -> set[Node]:
    """Return these layers, and all layers on which they depend."""
    return set(ordered(ends))


def readers(node: Node) -> set[Node]:
    """Return the layers that read a layer's outputs."""
    return {user for value in node.outputs for user in value.users}


def between(model: Model, first: Node, last: Node) -> set[Node]:
    """Return the layers on the paths from one layer to another, both included; an empty set if there is no path."""
    after, stack = set[Node](), [first]
    while stack:
        node = stack.pop()
        if node not in after:
            after.add(node)
            stack += readers(node)
    return after & needed_by([last]) if last in after else set()


def around(model: Model, centre: Node, distance: int) -> set[Node]:
    """Return the layers at most `distance` edges away from a layer, without Parameters, Results and constants."""
    constant = constant_nodes(model)
    found = edge = {centre}
    for _ in range(distance):
        near = {v.node for node in edge for v in node.inputs if v is not None} | {n for e in edge for n in readers(e)}
        edge = {n for n in near - found if n.type not in ENDS and n not in constant}
        found = found | edge
    return found


def leaving(model: Model, nodes: Collection[Node]) -> list[Value]:
    """Return the values of these layers that other layers read, or that no layer reads."""
    inside = set(nodes)
    outer = {value for node in model.nodes if node not in inside for value in node.inputs}
    inner = {value for node in nodes for value in node.inputs}
    return [v for node in model.nodes if node in inside for v in node.outputs if v in outer or v not in inner]


class Cutter:
    """Cuts many parts out of an unchanged model; the time for each part depends on the size of the part only."""

    def __init__(self, whole: Model) -> None:
        self.whole = whole
        self.constant = constant_nodes(whole)
        self.order = {node: number for number, node in enumerate(whole.nodes)}
        self.parameters = {node: number for number, node in enumerate(whole.parameters)}
        self.sinks = {node: number for number, node in enumerate(whole.sinks)}

    def cut(
        self, nodes: Collection[Node], ends: Sequence[Value | Node], types: Mapping[Value, TensorType] | None = None
    ) -> Part:
        """See `cut`."""
        return _Cutting(self, set(nodes), types or {}).part(ends)


class _Cutting:
    """The state of one cut: copies made so far and the values that became Parameters."""

    def __init__(self, cutter: Cutter, nodes: set[Node], types: Mapping[Value, TensorType]) -> None:
        self.cutter, self.whole, self.given, self.types = cutter, cutter.whole, nodes, types
        self.begins: dict[Value, Node] = {}
        self.copies: dict[Node, Node] = {}

    def part(self, ends: Sequence[Value | Node]) -> Part:
        order, places = self.cutter.order, self.cutter.parameters
        sinks = sorted(self.given & self.cutter.sinks.keys(), key=self.cutter.sinks.__getitem__)
        for node in sorted(self._needed([*ends, *sinks]) & order.keys(), key=order.__getitem__):
            self._copy(node)
        results = [self._value(end) if isinstance(end, Value) else self.copies[end] for end in ends]
        begins = sorted(self.begins, key=lambda v: (places.get(v.node, len(places)), order[v.node]))
        parameters = [self.begins[value] for value in begins]
        model = type(self.whole).of(results, parameters, self.whole.name, [self.copies[sink] for sink in sinks])
        for node, end in zip(model.results, ends, strict=True):
            if isinstance(end, Value):
                node.outputs[0].declared = end.declared
        model.file, model.version = self.whole.file, self.whole.version
        model.source, model.keeps_declared = self.whole.source, self.whole.keeps_declared
        values = [end if isinstance(end, Value) else _read(end) for end in ends]
        return Part(model, begins, values, self.copies)

    def _needed(self, ends: Sequence[Value | Node]) -> set[Node]:
        found: set[Node] = set()
        stack = [end.node if isinstance(end, Value) else end for end in ends]
        while stack:
            node = stack.pop()
            if node not in found and self._is_inside(node):
                found.add(node)
                stack += [value.node for value in node.inputs if value is not None]
        return found

    def _is_inside(self, node: Node) -> bool:
        return node in self.given or node in self.cutter.constant or node.type == RESULT

    def _value(self, value: Value) -> Value:
        if value.node in self.copies:
            return self.copies[value.node].outputs[value.index]
        return self._begin(value).outputs[0]

    def _begin(self, value: Value) -> Node:
        """Return the Parameter that replaces a value from outside."""
        known = self.begins.get(value)
        if known is None:
            node = value.node
            type = self.types.get(value) or TensorType(value.element_type, value.type.shape)
            name = output_name(value)
            layer = node.layer if node.type == PARAMETER else None
            known = parameter_node(self.whole.node_class, type, name, id=node.id, layer=layer)
            known.outputs[0].names = set(value.names)
            if layer is not None and value not in self.types:
                known.outputs[0].declared = value.declared
            self.begins[value] = known
        return known

    def _copy(self, node: Node) -> None:
        if node.type == PARAMETER and node.held is None:
            self.copies[node] = self._begin(node.outputs[0])
            return
        made = like(node, [None if value is None else self._value(value) for value in node.inputs])
        made.friendly_name = node.friendly_name  # A layer without a name is identified by its number.
        self.copies[node] = made


def _read(result: Node) -> Value:
    """Return the value that a Result reads."""
    value = result.inputs[0]
    assert value is not None
    return value
