"""Changes of a graph: reconnecting inputs, and updating the models that contain a changed node."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any, ClassVar
from weakref import WeakKeyDictionary, WeakSet

from irexec.api.openvino.checks import not_negative
from irexec.core.diagnostics import IRError, Report
from irexec.core.diagnostics.findings import Findings
from irexec.core.structure import ASSIGN, RESULT
from irexec.core.types import TensorType
from irexec.model.graph import model as graph
from irexec.model.graph.copies import copied
from irexec.model.graph.model import Node, Value
from irexec.model.graph.order import ordered
from irexec.model.inference import infer, set_types

# The number of changes so far. A model checks its nodes again if one of them has changed since the number that the
# model last saw; models without changed nodes remain as they were read.
_changes = 0
_changed: WeakKeyDictionary[Node | graph.Model, int] = WeakKeyDictionary()
_seen: WeakKeyDictionary[graph.Model, int] = WeakKeyDictionary()
# By Result that was connected with another value since the last validation: the names of the old tensor, still shared.
_shared: WeakKeyDictionary[Node, set[str]] = WeakKeyDictionary()


class DroppedModel(graph.Model):
    """A model that records when it is dropped. Python frees its nodes later, because nodes and values refer to each
    other; until `free` collects them, they still count as users of values."""

    # The ids of the models dropped since the last collection, and the nodes that lost their last user and still exist.
    # Class attributes, because names of modules are cleared before a model is dropped at exit.
    dropped: ClassVar[set[int]] = set()
    unused: ClassVar[WeakSet[Node]] = WeakSet()

    def __del__(self) -> None:
        self.dropped.add(id(self))
        super().__del__()

    @staticmethod
    def free(value: Value) -> None:
        """Collect dropped nodes, if some of the users of the value may be among them."""
        if DroppedModel.dropped or (DroppedModel.unused and any(map(_leads_nowhere, value.users))):
            DroppedModel.dropped.clear()
            gc.collect()


def _leads_nowhere(node: Node) -> bool:
    """Return whether no Result and no Assign depends on a node."""
    waiting, seen = [node], {node}
    while waiting:
        taken = waiting.pop()
        if taken.type in (RESULT, ASSIGN):
            return False
        found = {user for value in taken.outputs for user in value.users} - seen
        waiting += found
        seen |= found
    return True


def changed(what: Node | graph.Model) -> None:
    """Record that a node's inputs, attributes or bodies, or a model's inputs or outputs, have changed.

    The types that a file declares at the ports of a changed node no longer hold.
    """
    global _changes
    if isinstance(what, Node):
        what.layer = None
        for value in what.outputs:
            value.declared = None
    _changes += 1
    _changed[what] = _changes


def connect(node: Node, index: int, value: Value) -> None:
    """Connect a value with an input of a node."""
    before = node.inputs[not_negative(index)] if index < len(node.inputs) else None
    _keep_tensors([node])
    node.replace_input_with(index, value)
    changed(node)
    if before is not None and not before.users:
        DroppedModel.unused.add(before.node)


def replace(old: Value, new: Value) -> None:
    """Connect all users of one value with another value, which also gets its names and runtime information."""
    new.names |= old.names
    add_information(new.rt_info, old.rt_info)
    redirect(old, new)


def add_information(kept: dict[str, Any], added: dict[str, Any]) -> None:
    """Add the entries of one runtime information to another, which keeps its own values of keys that both have."""
    kept.update({key: value for key, value in added.items() if key not in kept})


def redirect(old: Value, new: Value) -> None:
    """Connect all users of one value with another value, except the node that computes the latter."""
    moved = [node for node in old.users if node is not new.node]
    _keep_tensors(moved)
    for node in moved:
        changed(node)
    old.replace_uses(new, keep=[new.node])
    if not old.users:
        DroppedModel.unused.add(old.node)


def shared_names(result: Node) -> set[str] | None:
    """Return the names of the tensor that a Result shares: that of its input, or until its model is validated, that of
    the input that it had before it was reconnected. None without an input."""
    taken = result.inputs[0] if result.inputs else None
    return _shared.get(result, None if taken is None else taken.names)


def takes_names(result: Node) -> bool:
    """Return whether a Result has no names of its own: it then has those of the tensor that it shares."""
    return result.outputs[0].names is shared_names(result)


def sharing(value: Value) -> list[Node]:
    """Return the Results that share the tensor of a value: those that take it, and until their model is validated,
    those that took it before they were reconnected."""
    taking = [node for node in value.users if node.type == RESULT and node not in _shared]
    return taking + [result for result, names in _shared.items() if names is value.names]


def without(result: Node, results: list[Node]) -> list[Node]:
    """Return a model's Results without one of them. A tensor that was named after it, and that no other Result takes,
    loses this name."""
    others = [node for node in results if node is not result]
    taken = result.inputs[0] if result.inputs and len(others) < len(results) else None
    if taken is not None and all(node.inputs[0] is not taken for node in others):
        taken.names.discard(result.name)
    return others


def _keep_tensors(nodes: list[Node]) -> None:
    """Let Results keep sharing the tensors of their present inputs until their model is validated."""
    for node in nodes:
        if node.type == RESULT and node not in _shared and (taken := node.inputs[0]) is not None:
            _shared[node] = taken.names


def settle_names(model: graph.Model) -> None:
    """Let reconnected Results share the tensors of their new inputs. A Result's own names move to the new tensor; a
    Result without own names gets those of the new tensor."""
    for result in list(model.walk()):
        before = _shared.pop(result, None)
        taken = None if before is None else result.inputs[0]
        if before is None or taken is None:
            continue
        names = result.outputs[0].names
        if names is before:
            result.outputs[0].names = taken.names
        else:
            before -= names
            taken.names |= names


def cloned(model: graph.Model) -> graph.Model:
    """Return a copy of a model. In the copy, the tensors that reconnected Results take have the names of these Results,
    and the tensors that they took before keep them."""
    made = copied(model)
    for result, copy in zip(model.results, made.results, strict=True):
        if result in _shared and (taken := copy.inputs[0]) is not None:
            taken.names |= copy.outputs[0].names
    return made


def set_type(value: Value, type: TensorType) -> None:
    """Set the type of a value until the next inference."""
    types = list(value.node.types)
    types[value.index] = type
    value.node.set_outputs(types)


def checked_model(given: Any) -> graph.Model:
    """Return the argument if it is a model. Raises TypeError."""
    if not isinstance(given, graph.Model):
        raise TypeError("Incompatible `model` argument. Please provide a valid openvino.Model instance.")
    return given


def current(model: graph.Model) -> graph.Model:
    """Return the model with its nodes in order and their types inferred, after any changes. Raises IRError."""
    now = _changes
    if is_changed(model):
        order(model)
        revalidate(model)
    _seen[model] = now
    return model


def is_changed(model: graph.Model) -> bool:
    """Return whether the model was changed since its types were last inferred."""
    since = _seen.get(model, 0)
    return since != _changes and any(_changed.get(part, 0) > since for part in _parts(model))


def validated(model: graph.Model, findings: Findings) -> Report:
    """Return the findings about a model. Types that a file declares no longer count if the model was changed."""
    changed = is_changed(model)
    if changed:
        order(model)
    return infer(model, findings=findings, declared=not changed).report


def _parts(model: graph.Model) -> Iterator[Node | graph.Model]:
    """Yield the model, its nodes, and those of bodies."""
    yield model
    for node in model.walk():
        yield node
        yield from (body.model for body in node.bodies)


def order(model: graph.Model) -> None:
    """Determine the nodes of a model and of its bodies again, from results, sinks and parameters."""
    model.nodes = ordered([*model.parameters, *model.sinks, *model.results])
    reached = set(model.nodes)
    model.unreachable = [node for node in model.unreachable if node not in reached]
    for node in model.nodes:
        for body in node.bodies:
            order(body.model)


def revalidate(model: graph.Model) -> None:
    """Infer all types of a model again. The types that a file's ports declared are no longer used. Raises
    IRError with findings that name no file, because the file does not contain the changes."""
    for node in model.walk():
        for value in node.outputs:
            value.declared = None
    inference = infer(model, findings=Findings())
    if not inference.report.ok:
        raise IRError(inference.report)
    set_types(model, inference)
