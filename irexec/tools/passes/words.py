"""What a pass changes, in a few words: `removes n2 (Reshape) between n1 (ReduceSum) and n3 (ReduceMax)`."""

from __future__ import annotations

from collections.abc import Sequence

from irexec.core.structure import RESULT
from irexec.model.arrays.brief import abridged, plural
from irexec.model.graph.model import Model, Node
from irexec.tools.diff.change import Change

_FEW = 3
_VERBS = {"removed": "removes", "added": "adds"}
# Changes that no value depends on.
_MINOR = ("rt_info", "renamed")


def words(changes: Sequence[Change], before: Model, after: Model) -> str:
    """Return the most important differences between two graphs."""
    counted = [change for change in changes if change.change not in _MINOR] or [*changes]
    texts = [abridged(_of(change, before, after)) for change in counted[:_FEW]]
    more = [plural(len(counted) - _FEW, "other change")] if len(counted) > _FEW else []
    return "; ".join(texts + more)


def _of(change: Change, before: Model, after: Model) -> str:
    verb, name = _VERBS.get(change.change), change.a or change.b
    if verb is None or name is None:
        what = name or change.change
        return f"{verb} {change.text}" if verb else f"{what}: {change.text}"
    model = before if change.change == "removed" else after
    node = next((node for node in model.nodes if node.friendly_name == name), None)
    return f"{verb} {name}" if node is None else f"{verb} {_named(node)}{_place(node)}"


def _place(node: Node) -> str:
    """Return the neighbours of a layer."""
    sources = [value.node for value in node.inputs if value is not None and value.node.constant is None]
    readers = [user for value in node.outputs for user in value.users if user.type != RESULT]
    if sources and readers:
        return f" between {_named(sources[0])} and {_named(readers[0])}"
    return f" after {_named(sources[0])}" if sources else ""


def _named(node: Node) -> str:
    return f"{node.friendly_name} ({node.type})"
