"""Switches: a model in which some inputs of layers read either of two values: coarse (quantized, rounded) or fine."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from irexec.core.structure import ASSIGN, PARAMETER, READ_VALUE, RESULT
from irexec.core.types import Array
from irexec.model.graph.copies import copy_with_map, like
from irexec.model.graph.cut import constant_among
from irexec.model.graph.model import Model, Node, Value
from irexec.model.graph.order import ordered

# Computed constants are kept for further runs up to this total size in bytes.
KEPT_BYTES = 256 << 20


@dataclass(slots=True, eq=False)
class Site:
    """An input of a layer that reads either of two values; in the model of the board it reads the coarse value.

    `layers`: the names of the layers that a quantization tool has to exclude so that the input reads the fine value.
    """

    node: Node
    port: int
    coarse: Value
    fine: Value
    layers: frozenset[str] = frozenset()


@dataclass(slots=True, eq=False)
class Unit:
    """A quantizer, or a layer whose result is rounded, which is left out or kept as a whole.

    `kind`: `activations`, `weights`, `constant` or `result`.
    """

    name: str
    kind: str
    node: Node
    sites: list[Site]

    @property
    def layers(self) -> list[str]:
        """The names of the layers that a quantization tool has to exclude to leave the unit out."""
        return sorted(frozenset[str]().union(*(site.layers for site in self.sites)))


class Board:
    """A model and its units. `known`: computed values of constants; `reads`: the values that each layer reads.

    Variables hold their first value: every input is a first step.
    """

    def __init__(self, model: Model, units: Sequence[Unit]) -> None:
        self.model, self.units = model, list(units)
        self.notes: list[str] = []
        self.sites = {(site.node, site.port): site for unit in self.units for site in unit.sites}
        self.order = self._ordered()
        self._constant = constant_among(self.order)
        self.place = {node: place for place, node in enumerate(self.order)}
        self.known: dict[Value, Array] = {}
        self.reads = {node: [*self._read(node)] for node in self.order}
        self._room = KEPT_BYTES
        self.computing = [n for n in self.order if not self.is_given(n)]

    def is_given(self, node: Node) -> bool:
        """Return whether a node computes nothing in a run: constants, inputs, results, and layers that read or assign
        variables.
        """
        return node in self._constant or node.type in (PARAMETER, RESULT, ASSIGN, READ_VALUE)

    @property
    def groups(self) -> list[frozenset[str]]:
        """The sets of layers whose exclusion lets a single input, or all inputs of a unit, read fine values."""
        inputs = (site.layers for unit in self.units for site in unit.sites)
        return [group for group in dict.fromkeys([*inputs, *(frozenset(unit.layers) for unit in self.units)]) if group]

    def excluding(self, layers: Collection[str]) -> frozenset[Site]:
        """Return the sites that read fine values if a quantization tool excludes these layers."""
        names = frozenset(layers)
        return frozenset(site for site in self.sites.values() if site.layers and site.layers <= names)

    def mixed(self, layers: Collection[str]) -> Model:
        """Return a copy of the model in which these layers are excluded, for writing."""
        return self.wired(self.excluding(layers))

    def wired(self, sites: Collection[Site]) -> Model:
        """Return a copy of the model in which these sites read the fine values."""
        model, copies = copy_with_map(self.model)
        for site in sites:
            fine = site.fine
            copies[site.node].replace_input_with(site.port, _copied(fine, copies))
        model.nodes = ordered([*model.parameters, *model.sinks, *model.results])
        return model

    def constant(self, value: Value) -> Array | None:
        """Return the array of a Const, or of a constant that was computed and held; otherwise None."""
        return self.known.get(value) if value.node.held is None else value.node.constant

    def keep(self, node: Node, arrays: Sequence[Array]) -> None:
        """Hold the computed values of a constant for later runs, if there is room for them."""
        size = sum(array.nbytes for array in arrays)
        if size <= self._room and len(arrays) == len(node.outputs):
            self._room -= size
            self.known |= zip(node.outputs, arrays, strict=True)

    # The graph of both choices

    def _read(self, node: Node) -> Iterator[tuple[Value | None, Site | None]]:
        for port, value in enumerate(node.inputs):
            yield value, self.sites.get((node, port))

    def _both(self, node: Node) -> list[Value]:
        fine = [site.fine for port in range(len(node.inputs)) if (site := self.sites.get((node, port))) is not None]
        return [value for value in node.inputs if value is not None] + fine

    def _ordered(self) -> list[Node]:
        """Return all nodes in an order in which both the coarse and the fine inputs of a node precede it."""
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


def _copied(value: Value, copies: dict[Node, Node]) -> Value:
    """Return a value of the copied model. Nodes that only a choice reads come from the float model and are copied on
    request; names that already occur in the copied model are omitted.
    """
    node = value.node
    if node not in copies:
        made = like(node, [None if given is None else _copied(given, copies) for given in node.inputs])
        taken = {other.friendly_name for other in copies.values()}
        made.given_name = "" if node.friendly_name in taken else node.given_name
        tensors = {name for other in copies.values() for output in other.outputs for name in output.names}
        for output in made.outputs:
            output.names -= tensors
        copies[node] = made
    return copies[node].outputs[value.index]
