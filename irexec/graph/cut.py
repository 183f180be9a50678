"""Cutting: copies some layers of a model into a model of their own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from irexec.graph.copies import like
from irexec.graph.model import Model, Node, Value
from irexec.ops.declare.contents import load
from irexec.records import record, replace
from irexec.types import TensorType


@record
class Part:
    """A model that was cut out of another. `begins` and `ends` are the values of the whole model that its Parameters
    and Results stand for, `places` the copies of the whole model's layers."""

    model: Model
    begins: list[Value]
    ends: list[Value]
    places: dict[Node, Node]


def cut(
    whole: Model,
    nodes: Collection[Node],
    ends: Sequence[Value | Node],
    types: Mapping[Value, TensorType] | None = None,
) -> Part:
    """These layers of a model, with `ends` (values, or Results of the model) as results.

    Values from outside become Parameters, with the value's type or the one in `types`; layers that depend on constants
    alone are copied too. Layers that no end needs are left out, except sinks. Bodies are shared with the whole model.
    """
    return _Cutting(whole, set(nodes), types or {}).part(ends)


def copied(model: Model) -> Model:
    """A copy of a model, bodies included; only the arrays of constants are shared."""
    return twin(model)[0]


def twin(model: Model) -> tuple[Model, dict[Node, Node]]:
    """A copy of a model, bodies included, and which of its layers is the copy of which."""
    cutting = _Cutting(model, set(model.nodes), {})
    return cutting.copy(), cutting.copies


def constant_nodes(model: Model) -> set[Node]:
    """The layers that depend on constants alone."""
    found: set[Node] = set()
    for node in model.nodes:
        if node.held is not None:
            found.add(node)
        elif node.operator is not None and node.operator.tolerance.kind != "random" and not node.bodies:
            given = [value for value in node.inputs if value is not None]
            if given and node.type not in ("ReadValue", "Result") and all(value.node in found for value in given):
                found.add(node)
    return found


def needed_by(ends: Iterable[Node]) -> set[Node]:
    """The layers and all that they depend on."""
    found: set[Node] = set()
    stack = list(ends)
    while stack:
        node = stack.pop()
        if node not in found:
            found.add(node)
            stack += [value.node for value in node.inputs if value is not None]
    return found


def consumers(model: Model) -> dict[Node, list[Node]]:
    """The layers that read a layer's outputs."""
    found: dict[Node, list[Node]] = {node: [] for node in model.nodes}
    for node in model.nodes:
        for value in node.inputs:
            if value is not None and node not in found[value.node]:
                found[value.node].append(node)
    return found


def between(model: Model, first: Node, last: Node) -> set[Node]:
    """The layers on the ways from one layer to another, both included; empty where there is no way."""
    readers = consumers(model)
    after, stack = set[Node](), [first]
    while stack:
        node = stack.pop()
        if node not in after:
            after.add(node)
            stack += readers[node]
    return after & needed_by([last]) if last in after else set()


def around(model: Model, centre: Node, distance: int) -> set[Node]:
    """The layers that are at most `distance` edges from one; Parameters, Results and constants do not count."""
    readers, constant = consumers(model), constant_nodes(model)
    found = edge = {centre}
    for _ in range(distance):
        near = {v.node for node in edge for v in node.inputs if v is not None} | {n for e in edge for n in readers[e]}
        edge = {n for n in near - found if n.type not in ("Parameter", "Result") and n not in constant}
        found = found | edge
    return found


def leaving(model: Model, nodes: Collection[Node]) -> list[Value]:
    """The values of these layers that other layers read, or that no layer reads."""
    inside = set(nodes)
    outer = {value for node in model.nodes if node not in inside for value in node.inputs}
    inner = {value for node in nodes for value in node.inputs}
    return [v for node in model.nodes if node in inside for v in node.outputs if v in outer or v not in inner]


class _Cutting:
    """The state of one cut: copies made so far and the values that became Parameters."""

    def __init__(self, whole: Model, nodes: set[Node], types: Mapping[Value, TensorType]) -> None:
        self.whole, self.given, self.types = whole, nodes, types
        self.inside = nodes | constant_nodes(whole)
        self.begins: dict[Value, Node] = {}
        self.copies: dict[Node, Node] = {}

    def part(self, ends: Sequence[Value | Node]) -> Part:
        sinks = [node for node in self.whole.sinks if node in self.given]
        needed = self._needed([*ends, *sinks])
        for node in self.whole.nodes:
            if node in needed and node not in self.copies:
                self._copy(node)
        results = [self._value(end) if isinstance(end, Value) else self.copies[end] for end in ends]
        order = {node: number for number, node in enumerate(self.whole.nodes)}
        is_parameter = {node: number for number, node in enumerate(self.whole.parameters)}
        begins = sorted(self.begins, key=lambda v: (is_parameter.get(v.node, len(is_parameter)), order[v.node]))
        parameters = [self.begins[value] for value in begins]
        model = Model(results, parameters, self.whole.name, [self.copies[sink] for sink in sinks])
        for node, end in zip(model.results, ends, strict=True):
            if isinstance(end, Value):
                node.outputs[0].declared = end.declared
        model.file, model.version = self.whole.file, self.whole.version
        model.source, model.keeps_declared = self.whole.source, self.whole.keeps_declared
        values = [end if isinstance(end, Value) else _read(end) for end in ends]
        return Part(model, begins, values, self.copies)

    def copy(self) -> Model:
        whole = self.whole
        for node in whole.nodes:
            self._copy(node)
        for copy in list(self.copies.values()):
            inner = [twin(body.model) for body in copy.bodies]
            copy.bodies = [replace(b, model=m) for b, (m, _) in zip(copy.bodies, inner, strict=True)]
            for _, copies in inner:
                self.copies |= copies
        made = Model(
            [self.copies[node] for node in whole.results],
            [self.copies[node] for node in whole.parameters],
            whole.name,
            [self.copies[node] for node in whole.sinks],
        )
        made.rt_info, made.file, made.version = dict(whole.rt_info), whole.file, whole.version
        made.source, made.keeps_declared = whole.source, whole.keeps_declared
        return made

    def _needed(self, ends: Sequence[Value | Node]) -> set[Node]:
        found: set[Node] = set()
        stack = [end.node if isinstance(end, Value) else end for end in ends]
        while stack:
            node = stack.pop()
            if node not in found and (node in self.inside or node.type == "Result"):
                found.add(node)
                stack += [value.node for value in node.inputs if value is not None]
        return found

    def _value(self, value: Value) -> Value:
        if value.node in self.copies:
            return self.copies[value.node].outputs[value.index]
        return self._begin(value).outputs[0]

    def _begin(self, value: Value) -> Node:
        """The Parameter that replaces a value from outside."""
        known = self.begins.get(value)
        if known is None:
            node = value.node
            type = self.types.get(value) or TensorType(value.element_type, value.type.shape)
            name = node.friendly_name if len(node.outputs) == 1 else f"{node.friendly_name}.{value.index}"
            attributes = {"element_type": type.element_type, "shape": type.shape}
            layer = node.layer if node.type == "Parameter" else None
            known = Node(load("Parameter", 1), (), attributes, name=name, id=node.id, layer=layer)
            known.set_outputs([type])
            known.outputs[0].names = set(value.names)
            if layer is not None and value not in self.types:
                known.outputs[0].declared = value.declared
            self.begins[value] = known
        return known

    def _copy(self, node: Node) -> None:
        if node.type == "Parameter":
            self.copies[node] = self._begin(node.outputs[0])
            return
        made = like(node, [None if value is None else self._value(value) for value in node.inputs])
        made.friendly_name = node.friendly_name  # A layer without a name is still known by its number.
        self.copies[node] = made


def _read(result: Node) -> Value:
    """The value that a Result reads."""
    value = result.inputs[0]
    assert value is not None
    return value
