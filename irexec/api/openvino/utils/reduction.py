"""Axes along which a node is reduced."""

from __future__ import annotations

from collections.abc import Iterable

from irexec.model.graph.model import Node


def get_reduction_axes(node: Node, reduction_axes: Iterable[int] | None) -> list[int]:
    """Return the axes, sorted if they are a set; by default all axes of the node."""
    if reduction_axes is None:
        return list(range(len(node.outputs[0].type.shape)))
    return sorted(reduction_axes) if isinstance(reduction_axes, set) else list(reduction_axes)
