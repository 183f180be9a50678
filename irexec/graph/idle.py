"""Idle layers: what a file holds and no result depends on, so that nothing about it can change what is computed."""

from __future__ import annotations

from collections.abc import Iterator

from irexec.diagnostics.diagnostic import LayerRef
from irexec.graph.model import Model, Node


def idle_layers(model: Model) -> set[LayerRef]:
    """The layers that never run, in the model and its bodies, as findings name them.

    Bodies number their layers anew: where a layer that runs goes by the same words, findings cannot tell the two apart,
    and neither is idle.
    """
    idle: set[LayerRef] = set()
    needed: set[LayerRef] = set()
    for node, is_needed in _walk(model, True):
        (needed if is_needed else idle).add(node.ref)
    return idle - needed


def _walk(model: Model, is_needed: bool) -> Iterator[tuple[Node, bool]]:
    """Every node, bodies included, and whether it runs."""
    for nodes, runs in ((model.nodes, is_needed), (model.unreachable, False)):
        for node in nodes:
            yield node, runs
            for body in node.bodies:
                yield from _walk(body.model, runs)
