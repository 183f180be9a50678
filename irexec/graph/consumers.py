"""Who takes a value: the other direction of a node's inputs, for those who edit a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol
from weakref import WeakKeyDictionary, WeakSet


class Taker(Protocol):
    """A node, as far as it matters here: the values that it takes, and its place in the order of their making."""

    number: int

    @property
    def inputs(self) -> Sequence[Any]: ...


_takers: WeakKeyDictionary[Any, WeakSet[Any]] = WeakKeyDictionary()


def note_inputs(node: Taker) -> None:
    """Remember whose outputs a node takes. Called whenever its inputs were set."""
    for value in node.inputs:
        if value is not None:
            _takers.setdefault(value, WeakSet()).add(node)


def consumers(value: Any) -> list[tuple[Any, int]]:
    """The nodes that take the value, each with the position of the input, oldest node first."""
    takers = sorted(_takers.get(value, ()), key=lambda node: node.number)
    return [(node, index) for node in takers for index, taken in enumerate(node.inputs) if taken is value]
