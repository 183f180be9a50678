"""Units of a model whose f32 values are stored in another precision: each layer with its constants and its result."""

from __future__ import annotations

from collections.abc import Iterable

from irexec.debug.precision import rounded
from irexec.debug.sensitivity.switches import Board, Site, Unit
from irexec.graph.copies import twin
from irexec.graph.cut import constant_nodes
from irexec.graph.model import Model, Node, Value
from irexec.graph.order import ordered
from irexec.graph.runtime_info import RuntimeAttribute
from irexec.types import F32, ElementType

_PRECISE = RuntimeAttribute("precise", "0", {})
_MARKS = (_PRECISE, RuntimeAttribute("disable_fp16_compression", "0", {}))


class RoundingBoard(Board):
    """A board whose units are layers. A result is f32 for its readers only where they are computed in f32 as well."""

    original: Model
    origin: dict[Node, Node]

    def kept_layers(self, units: Iterable[Unit]) -> list[Node]:
        """The layers to compute in f32, so that the results of these units are f32: they and their readers."""
        chosen = set[Node]()
        for unit in units:
            chosen |= {unit.node, *(site.node for site in unit.sites if site.fine.node is unit.node)}
        return [n for n in self.order if n in chosen and n.type not in ("Parameter", "Result", "Const")]

    def chosen(self, units: Iterable[Unit]) -> frozenset[Site]:
        wanted = [*units]
        kept = {*self.kept_layers(wanted)}
        ends = {unit.node for unit in wanted}
        found = set()
        for site in self.sites.values():
            source = site.fine.node
            reads = site.node in kept or (site.node.type == "Result" and source in ends)
            if reads and (source in kept or source.type == "Parameter" or self.is_given(source)):
                found.add(site)
        return frozenset(found)

    def mixed(self, units: Iterable[Unit]) -> Model:
        """A copy of the original model in which the layers to compute in f32 are marked so for OpenVINO."""
        model, copies = twin(self.original)
        back = {here: copies[there] for here, there in self.origin.items() if there in copies}
        for node in self.kept_layers(units):
            back[node].rt_info |= {mark.key: mark for mark in _MARKS}
        return model


def rounding_board(model: Model, kind: ElementType) -> RoundingBoard:
    """The model with every f32 value rounded to `kind`; a unit is a layer with its constants and its result."""
    made, copies = twin(model)
    constant = constant_nodes(made)
    origin = {copy: node for node, copy in copies.items()}
    units = {n: Unit(n.friendly_name, "result", n, []) for n in made.nodes if n not in constant}
    coarse: dict[Value, Value] = {}
    for node in made.nodes:
        if node in constant or node.type in ("Assign", "ReadValue"):
            continue
        for port, value in enumerate(node.inputs):
            if value is None or value.element_type is not F32:
                continue
            if value not in coarse:
                coarse[value] = rounded(value, kind, origin, made.node_class)
            owner = units[node if value.node in constant else value.node]
            owner.sites.append(Site(node, port, coarse[value], value))
    found = [unit for unit in units.values() if unit.sites]
    for unit in found:
        # The statistics of a layer are those of its result.
        unit.sites = [site for own in (True, False) for site in unit.sites if (site.fine.node is unit.node) is own]
        for site in unit.sites:
            site.node.replace_input_with(site.port, site.coarse)
    made.nodes = ordered([*made.parameters, *made.sinks, *made.results])
    board = RoundingBoard(made, found)
    board.original, board.origin = model, {copy: node for node, copy in copies.items()}
    for unit in found:
        unit.layers = [node.friendly_name for node in board.kept_layers([unit])]
    return board
