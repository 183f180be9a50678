"""Who takes a value: the other direction of a node's inputs, for those who edit a graph."""

from __future__ import annotations

from weakref import WeakKeyDictionary, WeakSet

from irexec.graph.model import Node, Value

_takers: WeakKeyDictionary[Value, WeakSet[Node]] = WeakKeyDictionary()


def note_inputs(node: Node) -> None:
    """Remember whose outputs a node takes. Called whenever its inputs were set."""
    for value in node.inputs:
        if value is not None:
            _takers.setdefault(value, WeakSet()).add(node)


def consumers(value: Value) -> list[tuple[Node, int]]:
    """The nodes that take the value, each with the position of the input, oldest node first."""
    takers = sorted(_takers.get(value, ()), key=lambda node: node.number)
    return [(node, index) for node in takers for index, taken in enumerate(node.inputs) if taken is value]
