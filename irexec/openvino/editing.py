"""Changes of a graph: inputs that take other values, and models that follow what was changed."""

from __future__ import annotations

from collections.abc import Iterable
from weakref import WeakKeyDictionary

from irexec.diagnostics import IRError
from irexec.diagnostics.findings import Findings
from irexec.graph import model as graph
from irexec.graph.consumers import consumers, note_inputs
from irexec.graph.model import Node, Value, ordered
from irexec.inference import infer, set_types

# Counts all changes of graphs: a model whose count is older looks at its nodes again.
_changes = 0
_seen: WeakKeyDictionary[graph.Model, int] = WeakKeyDictionary()


def changed() -> None:
    """Say that some graph is another now."""
    global _changes
    _changes += 1


def connect(node: Node, index: int, value: Value) -> None:
    """Make a value the input of a node."""
    node.inputs += [None] * (index + 1 - len(node.inputs))
    node.inputs[index] = value
    note_inputs(node)
    changed()


def replace(old: Value, new: Value) -> None:
    """Let everybody who takes one value take another, which gets its names too."""
    for node, index in consumers(old):
        if node is not new.node:
            connect(node, index, new)
    new.names |= old.names
    changed()


def link(nodes: Iterable[Node]) -> None:
    """Make the consumers of values known, as those of a model that was read are not."""
    for node in nodes:
        note_inputs(node)


def current(model: graph.Model) -> graph.Model:
    """The model with its nodes in order and their types inferred, after whatever was changed. Raises IRError."""
    if _seen.setdefault(model, 0) != _changes:
        order(model)
        revalidate(model)
        _seen[model] = _changes
    return model


def order(model: graph.Model) -> None:
    """Find the nodes of a model again, from its results, sinks and parameters."""
    model.nodes = ordered([*model.parameters, *model.sinks, *model.results])
    reached = set(model.nodes)
    model.unreachable = [node for node in model.unreachable if node not in reached]


def revalidate(model: graph.Model) -> None:
    """Infer all types of a model again. What a file's ports declared no longer holds. Raises IRError."""
    for node in model.walk():
        for value in node.outputs:
            value.declared = None
    inference = infer(model, findings=Findings(file=model.file))
    if not inference.report.ok:
        raise IRError(inference.report)
    set_types(model, inference)
    for result in model.results:
        source = result.inputs[0]
        if source is not None:
            result.outputs[0].names |= source.names
