"""Idle layers: layers on which no result depends. They never run, so faults in them cannot change a result."""

from __future__ import annotations

from collections.abc import Iterator

from irexec.core.diagnostics.diagnostic import LayerRef
from irexec.model.graph.model import Model, Node


def idle_layers(model: Model) -> set[LayerRef]:
    """Return references, as findings use them, to the layers of the model and its bodies that never run.

    Each body has its own layer ids, so two layers can share a reference. If one of them runs, neither counts as idle.
    """
    idle: set[LayerRef] = set()
    needed: set[LayerRef] = set()
    for node, is_needed in _walk(model, True):
        # Checks of the file refer to a layer by its type in the file, later checks by its operator.
        refs = {node.ref} if node.layer is None else {node.ref, node.layer.ref}
        (needed if is_needed else idle).update(refs)
    return idle - needed


def _walk(model: Model, is_needed: bool) -> Iterator[tuple[Node, bool]]:
    """Yield every node, bodies included, and whether it runs."""
    for nodes, runs in ((model.nodes, is_needed), (model.unreachable, False)):
        for node in nodes:
            yield node, runs
            for body in node.bodies:
                yield from _walk(body.model, runs)
