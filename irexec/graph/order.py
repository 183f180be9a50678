"""The order in which nodes can be computed: each after those that make its inputs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TypeVar


class _Node(Protocol):
    @property
    def inputs(self) -> Sequence[Any]: ...


N = TypeVar("N", bound=_Node)


def ordered(roots: Iterable[N]) -> list[N]:
    """The roots and all they depend on, every node after its producers. Nodes on a cycle come in any order."""
    order: list[N] = []
    seen: set[N] = set()
    for root in roots:
        stack: list[tuple[N, int]] = [(root, 0)]
        if root in seen:
            continue
        seen.add(root)
        while stack:
            node, position = stack.pop()
            while position < len(node.inputs):
                value = node.inputs[position]
                position += 1
                if value is not None and value.node not in seen:
                    seen.add(value.node)
                    stack.append((node, position))
                    stack.append((value.node, 0))
                    break
            else:
                order.append(node)
    return order
