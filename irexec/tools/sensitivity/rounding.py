"""Units of a model whose f32 values are stored in another precision: each layer with its constants and its result."""

from __future__ import annotations

from collections.abc import Collection

from irexec.core.structure import ASSIGN, PARAMETER, READ_VALUE, RESULT, SOURCES, STRUCTURAL
from irexec.core.types import F32, ElementType
from irexec.model.graph.copies import copy_with_map
from irexec.model.graph.cut import constant_nodes
from irexec.model.graph.model import Model, Node, Value
from irexec.model.graph.order import ordered
from irexec.model.graph.runtime_info import RuntimeAttribute
from irexec.tools.sensitivity.precision import rounded
from irexec.tools.sensitivity.switches import Board, Site, Unit

_PRECISE = RuntimeAttribute("precise", "0", {})
_MARKS = (_PRECISE, RuntimeAttribute("disable_fp16_compression", "0", {}))


class RoundingBoard(Board):
    """A board whose units are layers. A reader gets a result in f32 only if it is also computed in f32."""

    original: Model

    @property
    def groups(self) -> list[frozenset[str]]:
        """For each unit, its layer and the layers that read its result."""
        return [*dict.fromkeys(frozenset(unit.layers) for unit in self.units)]

    def excluding(self, layers: Collection[str]) -> frozenset[Site]:
        """Return the sites that are f32 if these layers are computed in f32."""
        names, found = {*layers}, set()
        for site in self.sites.values():
            source, reader = site.fine.node, site.node
            reads = (source if reader.type == RESULT else reader).friendly_name in names
            if reads and (source.friendly_name in names or source.type == PARAMETER or self.is_given(source)):
                found.add(site)
        return frozenset(found)

    def mixed(self, layers: Collection[str]) -> Model:
        """Return a copy of the original model in which these layers are marked to be computed in f32."""
        model, names = copy_with_map(self.original)[0], {*layers}
        for node in model.nodes:
            if node.friendly_name in names:
                node.rt_info |= {mark.key: mark for mark in _MARKS}
        return model


def rounding_board(model: Model, kind: ElementType) -> RoundingBoard:
    """Return the model with f32 values rounded to `kind`; a unit is a layer with its constants and its result.

    Layers that `RoundingBoard.mixed` has marked are computed in f32.
    """
    made, copies = copy_with_map(model)
    constant = constant_nodes(made)
    origin = {copy: node for node, copy in copies.items()}
    units = {n: Unit(n.friendly_name, "result", n, []) for n in made.nodes if n not in constant}
    coarse: dict[Value, Value] = {}
    for node in made.nodes:
        if node in constant or node.type in (ASSIGN, READ_VALUE):
            continue
        for port, value in enumerate(node.inputs):
            if value is None or value.element_type is not F32 or _stays_f32(node, value):
                continue
            if value not in coarse:
                coarse[value] = rounded(value, kind, origin, made.node_class)
            owner = units[node if value.node in constant else value.node]
            owner.sites.append(Site(node, port, coarse[value], value))
    found = [unit for unit in units.values() if unit.sites]
    for unit in found:
        # The statistics of a layer are the statistics of its result.
        unit.sites = [site for own in (True, False) for site in unit.sites if (site.fine.node is unit.node) is own]
        for site in unit.sites:
            site.node.replace_input_with(site.port, site.coarse)
    made.nodes = ordered([*made.parameters, *made.sinks, *made.results])
    board = RoundingBoard(made, found)
    board.original = model
    for unit in found:
        readers = {site.node.friendly_name for site in unit.sites if _computes(site.node)}
        layers = frozenset(readers | ({unit.node.friendly_name} if _computes(unit.node) else set()))
        for site in unit.sites:
            site.layers = layers
    return board


def _stays_f32(node: Node, value: Value) -> bool:
    """Return whether marks of the model keep both the layer that reads a value and its own layer in f32."""
    if node.type == RESULT:
        return _is_marked(value.node)
    source = value.node
    return _is_marked(node) and (_is_marked(source) or source.type in SOURCES)


def _is_marked(node: Node) -> bool:
    return any(mark.key in node.rt_info for mark in _MARKS)


def _computes(node: Node) -> bool:
    return node.type not in STRUCTURAL
