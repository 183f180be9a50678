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
        if root in seen:
            continue
        seen.add(root)
        # The nodes from the root to the one that is looked at, and the inputs of each that were not looked at yet.
        path, left = [root], [iter(root.inputs)]
        while path:
            for value in left[-1]:
                if value is not None and (node := value.node) not in seen:
                    seen.add(node)
                    path.append(node)
                    left.append(iter(node.inputs))
                    break
            else:
                order.append(path.pop())
                left.pop()
    return order
