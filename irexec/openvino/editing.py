"""Changes of a graph: inputs that take other values, and models that follow what was changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from weakref import WeakKeyDictionary

from irexec.diagnostics import IRError
from irexec.diagnostics.findings import Findings
from irexec.graph import model as graph
from irexec.graph.consumers import consumers, note_inputs
from irexec.graph.model import Node, Value
from irexec.graph.order import ordered
from irexec.inference import infer, set_types

# Changes are counted. A model looks at its nodes again when one of them was changed after the count it saw last; models
# of which nothing was changed stay as they were read, whatever is done to others.
_changes = 0
_changed: WeakKeyDictionary[Node | graph.Model, int] = WeakKeyDictionary()
_seen: WeakKeyDictionary[graph.Model, int] = WeakKeyDictionary()


def changed(what: Node | graph.Model) -> None:
    """Say that a node's inputs, attributes or bodies, or a model's inputs or outputs, are others now."""
    global _changes
    _changes += 1
    _changed[what] = _changes


def connect(node: Node, index: int, value: Value) -> None:
    """Make a value the input of a node."""
    node.inputs += [None] * (index + 1 - len(node.inputs))
    node.inputs[index] = value
    note_inputs(node)
    changed(node)


def replace(old: Value, new: Value) -> None:
    """Let everybody who takes one value take another, which gets its names too."""
    for node, index in consumers(old):
        if node is not new.node:
            connect(node, index, new)
    new.names |= old.names


def link(nodes: Iterable[Node]) -> None:
    """Make the consumers of values known, as those of a model that was read are not."""
    for node in nodes:
        note_inputs(node)


def current(model: graph.Model) -> graph.Model:
    """The model with its nodes in order and their types inferred, after whatever was changed. Raises IRError."""
    now, since = _changes, _seen.get(model, 0)
    if since != now:
        if any(_changed.get(part, 0) > since for part in _parts(model)):
            order(model)
            revalidate(model)
            # They are of the model as the file has it.
            model.defaults = None
        _seen[model] = now
    return model


def _parts(model: graph.Model) -> Iterator[Node | graph.Model]:
    """The model, its nodes, and those of bodies."""
    yield model
    for node in model.walk():
        yield node
        yield from (body.model for body in node.bodies)


def order(model: graph.Model) -> None:
    """Find the nodes of a model and of its bodies again, from results, sinks and parameters."""
    model.nodes = ordered([*model.parameters, *model.sinks, *model.results])
    reached = set(model.nodes)
    model.unreachable = [node for node in model.unreachable if node not in reached]
    for node in model.nodes:
        for body in node.bodies:
            order(body.model)


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
