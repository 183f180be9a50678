"""Differences between two ONNX models in words of their nodes: the versions of operators, and the layers of a node."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from irexec.core.diagnostics import LayerRef
from irexec.model.graph.model import Model
from irexec.tools.diff.change import Change

Makers = Mapping[str, LayerRef]
"""The name of a layer → the node of ONNX from which it was made."""


def in_nodes(changes: Sequence[Change], a: Model, b: Model) -> list[Change]:
    """Return the changes, with one line for each node whose layers are others, and a line for each new version."""
    ours, theirs = _makers(a), _makers(b)
    if not ours or not theirs:
        return [*changes]
    types = [_types(model) for model in (a, b)]
    of_node: dict[str, list[Change]] = defaultdict(list)
    for change in changes:
        name = _node(change, ours, theirs)
        if name is not None and all(name in known for known in types) and types[0][name] != types[1][name]:
            of_node[name].append(change)
    found = [*_versions(ours, theirs)]
    named = {id(change): name for name, some in of_node.items() for change in some if len(some) > 1}
    for change in changes:
        node = named.get(id(change))
        if node is None:
            found.append(change)
        elif change is of_node[node][0]:
            kind = next(ref.type for ref in theirs.values() if ref.name == node)
            text = " became ".join(", ".join(known[node]) for known in types)
            found.append(Change("replaced", node, node, f"{kind} of ONNX, in IR {text}"))
    return found


def _makers(model: Model) -> dict[str, LayerRef]:
    return {node.friendly_name: node.origin.ref for node in model.nodes if node.origin is not None}


def _types(model: Model) -> dict[str, list[str]]:
    """Return the types of the layers made from each node."""
    found: dict[str, list[str]] = defaultdict(list)
    for node in model.nodes:
        if node.origin is not None and node.inputs:
            found[node.origin.ref.name].append(node.type)
    return found


def _node(change: Change, ours: Makers, theirs: Makers) -> str | None:
    """Return the name of the node from which all layers of a change were made."""
    if change.outer:
        return None
    refs = [known.get(name) for pair in change.pairs for name, known in zip(pair, (ours, theirs), strict=True) if name]
    names = {None if ref is None else ref.name for ref in refs}
    return names.pop() if len(names) == 1 else None


def _versions(ours: Makers, theirs: Makers) -> Iterator[Change]:
    """Yield a line for operators whose domain has another version, which may define other defaults."""
    left, right = ({ref.version for ref in makers.values()} for makers in (ours, theirs))
    if left != right:
        before, after = (", ".join(sorted(only)) or "none" for only in (left - right, right - left))
        yield Change("opset", None, None, f"opset_import: {before} became {after}")
