"""Topological order of an ONNX graph's nodes, which the file does not always keep."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence

from irexec.frontends.onnx.messages import onnx

_GRAPHS = (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS)


def taken(node: onnx.NodeProto) -> set[str]:
    """Return the outer names that a node and its bodies use."""
    names = set(node.input)
    names.discard("")
    for attribute in node.attribute:
        if attribute.type not in _GRAPHS:
            continue
        for graph in [attribute.g, *attribute.graphs]:
            known = {value.name for value in [*graph.input, *graph.initializer]}
            known.update(name for inner in graph.node for name in inner.output)
            inside = {value.name for value in graph.output}.union(*map(taken, graph.node))
            names |= inside - known
    return names


def in_order(nodes: Sequence[onnx.NodeProto], is_known: Callable[[str], bool]) -> tuple[list[int], dict[int, set[str]]]:
    """Return the numbers of the nodes in topological order, close to the file's order; and for each node the names that
    it uses before they are computed.

    `is_known`: returns whether a name has a value before the first node. Nodes in a cycle come last.
    """
    makers: dict[str, int] = {}
    for number, node in enumerate(nodes):
        for name in node.output:
            if name and name not in makers and not is_known(name):
                makers[name] = number
    needs = [taken(node) & makers.keys() for node in nodes]
    late = {n: wanted for n, names in enumerate(needs) if (wanted := {name for name in names if makers[name] >= n})}
    if not late:
        return list(range(len(nodes))), late
    waits = [{makers[name] for name in names} for names in needs]
    users: list[list[int]] = [[] for _ in nodes]
    for number, makers_of_it in enumerate(waits):
        for maker in makers_of_it:
            users[maker].append(number)
    ready = [number for number, makers_of_it in enumerate(waits) if not makers_of_it]
    order: list[int] = []
    while ready:
        order.append(heapq.heappop(ready))
        for user in users[order[-1]]:
            waits[user].discard(order[-1])
            if not waits[user]:
                heapq.heappush(ready, user)
    left = set(range(len(nodes))) - set(order)
    return order + sorted(left), late
