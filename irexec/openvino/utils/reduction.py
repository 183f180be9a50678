"""Axes along which a node is reduced."""

from __future__ import annotations

from collections.abc import Iterable

from irexec.graph.model import Node


def get_reduction_axes(node: Node, reduction_axes: Iterable[int] | None) -> list[int]:
    """The axes, sorted where they are a set; all of the node's where none are given."""
    if reduction_axes is None:
        return list(range(len(node.outputs[0].type.shape)))
    return sorted(reduction_axes) if isinstance(reduction_axes, set) else list(reduction_axes)
