"""Who takes a value: the other direction of a node's inputs, for those who edit a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol
from weakref import ref


class Taken(Protocol):
    """A value, as far as it matters here. `takers`: the nodes that took it at some time, which it keeps no hold of."""

    takers: set[ref[Any]] | None


class Taker(Protocol):
    """A node, as far as it matters here: the values that it takes, and its place in the order of their making."""

    number: int

    @property
    def inputs(self) -> Sequence[Any]: ...


def note_inputs(node: Taker) -> None:
    """Remember whose outputs a node takes. Called whenever its inputs were set."""
    own = ref(node)
    for value in node.inputs:
        if value is None:
            continue
        if value.takers is None:
            value.takers = {own}
        else:
            value.takers.add(own)


def consumers(value: Taken) -> list[tuple[Any, int]]:
    """The nodes that take the value, each with the position of the input, oldest node first."""
    living = [node for taker in value.takers or () if (node := taker()) is not None]
    takers = sorted(living, key=lambda node: node.number)
    return [(node, index) for node in takers for index, taken in enumerate(node.inputs) if taken is value]
