"""Switches: a model in which some inputs of layers read either of two values: coarse (quantized, rounded) or fine."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from irexec.core.structure import ENDS, PARAMETER
from irexec.core.types import BOOLEAN, Array, ElementType, PartialShape, TensorType
from irexec.model.graph.copies import copy_with_map, like
from irexec.model.graph.cut import constant_among
from irexec.model.graph.model import Model, Node, Value
from irexec.model.graph.order import ordered
from irexec.ops.condition.select import select_1
from irexec.ops.spec.contents import load
from irexec.tools.sensitivity.constants import Constants


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
    """A model and its units. Variables hold their first value: every input is a first step."""

    def __init__(self, model: Model, units: Sequence[Unit]) -> None:
        self.model, self.units = model, list(units)
        self.notes: list[str] = []
        self.sites = {(site.node, site.port): site for unit in self.units for site in unit.sites}
        self.place = {node: place for place, node in enumerate(model.nodes)}
        self._constant = constant_among(ordered([value.node for site in self.sites.values() for value in _both(site)]))

    def is_constant(self, site: Site) -> bool:
        """Return whether both values that an input may read depend on constants only."""
        return all(value.node in self._constant for value in _both(site))

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
            copies[site.node].replace_input_with(site.port, _copied(site.fine, copies))
        model.nodes = ordered([*model.parameters, *model.sinks, *model.results])
        return model


class Switched:
    """The model of a board with a further input for each site: whether it reads the fine value, or for a constant the
    value itself. `arrays`: the coarse and the fine array of that input. `pairs`: both values of a site.
    """

    def __init__(self, board: Board) -> None:
        self.model, copies = copy_with_map(board.model)
        self.parameters, self.arrays = dict[Site, Node](), dict[Site, tuple[Array, Array]]()
        self.pairs: dict[Site, tuple[Value, Value]] = {}
        array_of = Constants()
        for site in board.sites.values():
            reader, kind = copies[site.node], site.coarse.type
            if board.is_constant(site):
                self.arrays[site] = array_of(site.coarse), array_of(site.fine)
                read = self.parameters[site] = _parameter(reader, kind.element_type, site.coarse.type.shape)
            else:
                self.arrays[site] = np.array(False), np.array(True)
                coarse, fine = self.pairs[site] = _copied(site.coarse, copies), _copied(site.fine, copies)
                flag = self.parameters[site] = _parameter(reader, BOOLEAN, PartialShape([]))
                inputs = [flag.outputs[0], fine, coarse]
                read = type(reader)(select_1, inputs, {"auto_broadcast": "numpy"})
                read.set_outputs([kind])
            reader.replace_input_with(site.port, read.outputs[0])
        self.model.parameters = [*self.model.parameters, *self.parameters.values()]
        self.model.sinks = []
        self.model.nodes = ordered([*self.model.parameters, *self.model.results])
        self.computing = {node for node in self.model.nodes if node.type not in ENDS and node.held is None}

    def inputs(self, step: Sequence[Array], is_fine: bool) -> list[Array]:
        """Return the inputs of the model if every site reads the fine value, or every site the coarse one."""
        return [*step, *(both[is_fine] for both in self.arrays.values())]

    def change(self, sites: Collection[Site], is_fine: bool) -> dict[Value, Array]:
        """Return the changed inputs if these sites read the fine, or the coarse values."""
        return {self.parameters[site].outputs[0]: self.arrays[site][is_fine] for site in sites}


def _both(site: Site) -> tuple[Value, Value]:
    return site.coarse, site.fine


def _parameter(reader: Node, kind: ElementType, shape: PartialShape) -> Node:
    made = type(reader)(load(PARAMETER, 1), (), {"element_type": kind, "shape": shape})
    made.set_outputs([TensorType(kind, shape)])
    return made


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
