"""Topological order of nodes: each after the nodes that compute its inputs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TypeVar


class _Node(Protocol):
    @property
    def inputs(self) -> Sequence[Any]: ...


N = TypeVar("N", bound=_Node)


def ordered(roots: Iterable[N]) -> list[N]:
    """Return the roots and all nodes on which they depend, in topological order. Nodes on a cycle come in any order."""
    order: list[N] = []
    seen: set[N] = set()
    for root in roots:
        if root in seen:
            continue
        seen.add(root)
        # The path from the root to the current node, and the unvisited inputs of each node on it.
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


def traversed(roots: Iterable[N]) -> list[N]:
    """Return the roots and all nodes on which they depend, as OpenVINO's `get_ops` lists them: depth first, each node
    before the nodes that compute its inputs, from the last root and the last input to the first."""
    found: dict[N, None] = {}
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node not in found:
            found[node] = None
            stack += [value.node for value in node.inputs if value is not None and value.node not in found]
    return list(found)
