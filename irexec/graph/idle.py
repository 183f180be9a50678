"""Idle layers: layers that no result depends on. They never run, so faults in them cannot change a result."""

from __future__ import annotations

from collections.abc import Iterator

from irexec.diagnostics.diagnostic import LayerRef
from irexec.graph.model import Model, Node


def idle_layers(model: Model) -> set[LayerRef]:
    """References, as findings use them, to the layers of the model and its bodies that never run.

    Each body has its own layer ids, so two layers can share a reference. If one of them runs, neither counts as idle.
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
