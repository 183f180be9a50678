"""What files do not state about a graph after a pass: sequences whose data have the time first."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from irexec.model.graph.model import Model, Node
from irexec.ops.internal.sequences import TimeFirst
from irexec.ops.spec.traits import Reshaping, Trait, Transposition


def with_time_first(before: Model, after: Model) -> set[str]:
    """Return the names of the sequences whose input was transposed before a pass, and is reshaped after it."""
    return _reading(before, Transposition) & _reading(after, Reshaping)


def set_time_first(model: Model, names: Collection[str]) -> None:
    """Let the sequences with these names compute data that have the time first."""
    for node in _sequences(model):
        if node.friendly_name in names and node.operator is not None:
            node.operator = TimeFirst(node.operator)


def _reading(model: Model, trait: type[Trait]) -> set[str]:
    """Return the names of the sequences whose first input is the result of a layer with this trait."""
    pairs = ((node, node.inputs[0]) for node in _sequences(model))
    return {node.friendly_name for node, value in pairs if value is not None and trait in value.node.traits}


def _sequences(model: Model) -> Iterator[Node]:
    return (node for node in model.nodes if node.type.endswith("Sequence") and node.inputs)
