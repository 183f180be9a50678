"""Topological order of an ONNX graph's nodes, which the file does not always keep."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from irexec.frontends.onnx.messages import onnx


def bodies(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    """Yield the graphs among a node's attributes."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def taken(node: onnx.NodeProto) -> list[str]:
    """Return the outer names that a node and its bodies use, each once."""
    names = dict.fromkeys(filter(None, node.input))
    for graph in bodies(node):
        known = {value.name for value in [*graph.input, *graph.initializer]}
        known.update(name for inner in graph.node for name in inner.output)
        inside = [*chain.from_iterable(map(taken, graph.node)), *(value.name for value in graph.output)]
        names |= dict.fromkeys(name for name in inside if name not in known)
    return list(names)


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
    needs = [makers.keys() & taken(node) for node in nodes]
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
