"""Switches: one model with two values, coarse and fine, for some inputs of its layers, and the parts that a choice
between them changes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from irexec.engine import CompiledModel
from irexec.graph.copies import like, twin
from irexec.graph.cut import constant_among
from irexec.graph.model import Model, Node, Value
from irexec.graph.order import ordered
from irexec.ops.declare.contents import load
from irexec.opsets.nodes import constant_node
from irexec.types import Array

_NOTHING: Array = np.zeros(0)


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """An input of a layer that reads either of two values; in the model of the board it reads the coarse one."""

    node: Node
    port: int
    coarse: Value
    fine: Value


@dataclass(slots=True, eq=False)
class Unit:
    """What is left out or kept as a whole: a quantiser, or a layer whose result is rounded.

    `kind`: `activations`, `weights`, `constant` or `result`. `layers`: the names of the layers that read it, as a tool
    that makes the coarse model is told to exclude them.
    """

    name: str
    kind: str
    node: Node
    sites: list[Site]
    layers: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Part:
    """The layers that a choice changes, as a compiled model. `begins` are the values of the base run that it reads;
    `ends` the positions of the results that it gives."""

    compiled: CompiledModel
    begins: list[Value]
    ends: list[int]
    layers: int

    def run(self, known: Mapping[Value, Array], results: Sequence[Array]) -> list[Array]:
        """The results of the whole model, where the others are those of the base run. Raises IRError."""
        found = [*results, *[_NOTHING] * (max(self.ends, default=-1) + 1 - len(results))]
        if self.ends:
            made = self.compiled.infer_new_request([known[value] for value in self.begins]).to_tuple()
            for place, array in zip(self.ends, made, strict=True):
                found[place] = array
        return found


class Board:
    """A model, the units in it, and what compiles parts of it.

    Variables hold their first value: every input is a first step.
    """

    def __init__(self, model: Model, units: Sequence[Unit]) -> None:
        self.model, self.units = model, list(units)
        self.notes: list[str] = []
        self.sites = {(site.node, site.port): site for unit in self.units for site in unit.sites}
        self.order = self._ordered()
        self._constant = constant_among(self.order)
        self._place = {node: place for place, node in enumerate(self.order)}
        self._readers: dict[Value, list[Node]] = {}
        for node in self.order:
            for value in self._both(node):
                self._readers.setdefault(value, []).append(node)
        self._known: dict[Value, Value] = {}
        self._fold()
        self.computing = [n for n in self.order if not self.is_given(n)]

    def is_given(self, node: Node) -> bool:
        """Whether a node runs in no part: constants, inputs, results and the ends of variables."""
        return node in self._constant or node.type in ("Parameter", "Result", "Assign", "ReadValue")

    def chosen(self, units: Iterable[Unit]) -> frozenset[Site]:
        """The sites of the model in which these units are fine, in the form in which a tool can make that model."""
        return frozenset(site for unit in self.kept(units) for site in unit.sites)

    def kept(self, units: Iterable[Unit]) -> list[Unit]:
        """The units that are fine when the layers of these are excluded: those that no other layer reads."""
        chosen = [*units]
        excluded = {name for unit in chosen for name in unit.layers}
        return [u for u in self.units if u in chosen or (u.layers and excluded.issuperset(u.layers))]

    def mixed(self, units: Iterable[Unit]) -> Model:
        """A copy of the model in which these units are fine, to be written."""
        return self.wired(self.chosen(units))

    def wired(self, sites: Collection[Site]) -> Model:
        """A copy of the model with this choice."""
        model, copies = twin(self.model)
        for site in sites:
            fine = site.fine
            copies[site.node].replace_input_with(
                site.port, copies[fine.node].outputs[fine.index] if fine.node in copies else fine
            )
        model.nodes = ordered([*model.parameters, *model.sinks, *model.results])
        return model

    @property
    def all_sites(self) -> frozenset[Site]:
        """The sites of the model in which every unit is fine."""
        return frozenset(self.sites.values())

    def constant(self, value: Value) -> Array | None:
        """The array of a value that depends on constants alone."""
        return None if (known := self._known.get(value)) is None else known.node.constant

    def whole(self, fine: Collection[Site], *, observed: bool) -> tuple[Part, list[Value]]:
        """The whole model with this choice. `observed`: behind its own results it gives every value that a part may
        read, which are returned, too."""
        values = [v for node in self.computing for v in node.outputs if v in self._readers] if observed else []
        ends = [*self._ends(fine), *values]
        model, begins = self._built(self.computing, fine, ends)
        return Part(CompiledModel(model), begins, [*range(len(ends))], len(self.computing)), values

    def part(self, fine: Collection[Site], base: Collection[Site]) -> Part:
        """The layers whose values differ from the run of `base` when the choice is `fine`."""
        stack = [site.node for site in self.sites.values() if (site in fine) != (site in base)]
        changed: set[Node] = set()
        while stack:
            node = stack.pop()
            if node in changed:
                continue
            changed.add(node)
            for value in node.outputs:
                stack += [
                    reader
                    for reader in self._readers.get(value, ())
                    if any(self._taken(reader, port, fine) is value for port in range(len(reader.inputs)))
                ]
        nodes = [n for n in sorted(changed, key=self._place.__getitem__) if not self.is_given(n)]
        inside = {*nodes}
        ends, moved = self._ends(fine), []
        for place, (end, before) in enumerate(zip(ends, self._ends(base), strict=True)):
            if end.node in inside or end is not before:
                moved.append(place)
        model, begins = self._built(nodes, fine, [ends[place] for place in moved])
        return Part(CompiledModel(model), begins, moved, len(nodes))

    # The graph of both choices

    def _both(self, node: Node) -> list[Value]:
        fine = [site.fine for port in range(len(node.inputs)) if (site := self.sites.get((node, port))) is not None]
        return [value for value in node.inputs if value is not None] + fine

    def _ordered(self) -> list[Node]:
        """All nodes, each after those of both of its choices."""
        order: list[Node] = []
        seen: set[Node] = set()
        for root in (*self.model.parameters, *self.model.nodes):
            stack = [(root, iter(self._both(root)))] if root not in seen else []
            seen.add(root)
            while stack:
                node, left = stack[-1]
                following = next((value.node for value in left if value.node not in seen), None)
                if following is None:
                    order.append(node)
                    stack.pop()
                else:
                    seen.add(following)
                    stack.append((following, iter(self._both(following))))
        return order

    def _taken(self, node: Node, port: int, fine: Collection[Site]) -> Value | None:
        """What an input reads with this choice; of a variable its first value."""
        site = self.sites.get((node, port))
        value = node.inputs[port] if site is None or site not in fine else site.fine
        while value is not None and value.node.type == "ReadValue" and value.node.inputs:
            value = self._taken(value.node, 0, fine)
        return value

    def _ends(self, fine: Collection[Site]) -> list[Value]:
        found = [self._taken(result, 0, fine) for result in self.model.results]
        return [value for value in found if value is not None]

    def _fold(self) -> None:
        """Compute the constants that other layers read, once for all parts."""
        wanted = [
            value
            for value, readers in self._readers.items()
            if value.node in self._constant and any(not self._is_constant(reader) for reader in readers)
        ]
        arrays = constant_values(self.model, wanted)
        for value, array in zip(wanted, arrays, strict=True):
            held = constant_node(self.model.node_class, array, element_type=value.element_type, shared=True)
            self._known[value] = held.outputs[0]

    def _is_constant(self, node: Node) -> bool:
        return node in self._constant

    def _built(self, nodes: Sequence[Node], fine: Collection[Site], ends: Sequence[Value]) -> tuple[Model, list[Value]]:
        made: dict[Node, Node] = {}
        begins: dict[Value, Node] = {p.outputs[0]: self._parameter(p.outputs[0]) for p in self.model.parameters}
        used: set[Value] = set()

        def value_of(value: Value | None) -> Value | None:
            if value is None:
                return None
            if value in self._known:
                return self._known[value]
            if value.node in made:
                return made[value.node].outputs[value.index]
            if value not in begins:
                begins[value] = self._parameter(value)
            used.add(value)
            return begins[value].outputs[0]

        for node in nodes:
            made[node] = like(node, [value_of(self._taken(node, port, fine)) for port in range(len(node.inputs))])
        results = [taken for end in ends if (taken := value_of(end)) is not None]
        read = [value for value in begins if value in used]
        model = Model.of(results, [begins[value] for value in read], self.model.name)
        model.keeps_declared = False
        return model, read

    def _parameter(self, value: Value) -> Node:
        attributes = {"element_type": value.element_type, "shape": value.type.shape}
        name = f"{value.node.friendly_name}.{value.index}"
        made = self.model.node_class(load("Parameter", 1), (), attributes, name=name)
        made.set_outputs([value.type])
        return made


def constant_values(model: Model, values: Sequence[Value]) -> list[Array]:
    """The arrays of values that depend on constants alone."""
    if not values:
        return []
    copies: dict[Node, Node] = {}

    def copy(node: Node) -> Node:
        stack = [node]
        while stack:
            top = stack[-1]
            missing = [v.node for v in top.inputs if v is not None and v.node not in copies]
            if missing and top not in copies:
                stack += missing
                continue
            stack.pop()
            if top not in copies:
                given = [None if v is None else copies[v.node].outputs[v.index] for v in top.inputs]
                copies[top] = like(top, given)
        return copies[node]

    results = [copy(value.node).outputs[value.index] for value in values]
    found: list[Array] = list(CompiledModel(Model.of(results, [], model.name)).infer_new_request([]).to_tuple())
    return found
