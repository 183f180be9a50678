"""The ends of a model: its Parameters, Results and Assigns in the order in which OpenVINO lists them.

OpenVINO reads a type in any letter case, but finds the inputs of a model, its results and its assignments by exactly
the names `Parameter`, `Result` and `Assign`. A layer with another spelling is included only if one of these depends on
it, in the order of that search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from irexec.graph.model import Node
from irexec.ir.document import ROOT_TYPES, Edge

_TYPES = ("Parameter", *ROOT_TYPES)


class Ends(NamedTuple):
    """The first and last nodes of a model."""

    parameters: list[Node]
    results: list[Node]
    sinks: list[Node]


def find_ends(nodes: Sequence[Node], edges: Iterable[Edge], key: Callable[[str | None], str]) -> Ends:
    """Return the ends of a net with these nodes and edges, both in file order; `key` maps equal ids to one text."""
    ends = Ends(*([node for node in nodes if node.type == type] for type in _TYPES))
    if all(map(_has_exact_name, (node for nodes in ends for node in nodes))):
        return ends
    exact = Ends(*([node for node in nodes if _has_exact_name(node)] for nodes in ends))
    others = set[Node]().union(*ends).difference(*exact)
    # In a valid file no edge ends in a Parameter; in an invalid one the search from the Parameters includes all of the
    # model.
    roots = [node for node in nodes if node.type in ROOT_TYPES and node not in others]
    for node in _searched([*roots, *exact.parameters], nodes, edges, key):
        if node in others:
            exact[_TYPES.index(node.type)].append(node)
    return exact


def _has_exact_name(node: Node) -> bool:
    return node.layer is None or node.layer.type == node.type


def _searched(
    roots: Iterable[Node], nodes: Iterable[Node], edges: Iterable[Edge], key: Callable[[str | None], str]
) -> list[Node]:
    """Return all nodes on which roots depend, in OpenVINO's order: it follows the last of several edges first."""
    by_id: dict[str, list[Node]] = {}
    for node in nodes:
        by_id.setdefault(key(node.id), []).append(node)
    givers: dict[str, list[str]] = {}
    for edge in edges:
        givers.setdefault(key(edge.to_layer), []).append(key(edge.from_layer))
    order: dict[str, None] = {}
    for root in roots:
        path, opened = [key(root.id)], set[str]()
        while path:
            id = path[-1]
            if id in order or id in opened:
                order.setdefault(path.pop())
            else:
                opened.add(id)
                path += [giver for giver in givers.get(id, ()) if giver not in order]
    return [node for id in order for node in by_id.get(id, ())]
