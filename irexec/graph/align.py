"""Alignment: matching the layers of two models: by name, then by tensor names, then by structure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable

from irexec.graph.model import Model, Node, Value


class Alignment:
    """Pairs of layers of two models. `forward` maps the first model's layers to the second's, `back` the reverse."""

    def __init__(self, a: Model, b: Model) -> None:
        self.a, self.b = a, b
        self.forward: dict[Node, Node] = {}
        self.back: dict[Node, Node] = {}

    def value(self, value: Value) -> Value | None:
        """Return the second model's counterpart of a value of the first one."""
        other = self.forward.get(value.node)
        return other.outputs[value.index] if other is not None and value.index < len(other.outputs) else None

    def pair(self, one: Node, other: Node) -> bool:
        """Pair two layers, unless one of them is paired already."""
        if one in self.forward or other in self.back:
            return False
        self.forward[one], self.back[other] = other, one
        return True


def align(a: Model, b: Model) -> Alignment:
    """Return the pairs of corresponding layers of two models, without the layers in bodies."""
    found = Alignment(a, b)
    _by_key(found, lambda node: (node.friendly_name, node.type) if node.friendly_name else None)
    _by_key(found, lambda node: node.friendly_name or None)
    _by_key(found, _tensor_names)
    for ours, theirs in ((a.parameters, b.parameters), (a.results, b.results)):
        if len(ours) == len(theirs):
            for one, other in zip(ours, theirs, strict=True):
                found.pair(one, other)
    while _downwards(found) or _upwards(found) or _beside(found):
        pass
    return found


def _by_key(found: Alignment, key: Callable[[Node], Hashable | None]) -> None:
    """Pair the layers that have the same key, if it is unique in both models."""
    ours, theirs = (_unique(nodes, key) for nodes in (_left(found.a, found.forward), _left(found.b, found.back)))
    for name, node in ours.items():
        if name in theirs and (node.type == "Const") == (theirs[name].type == "Const"):
            found.pair(node, theirs[name])


def _left(model: Model, paired: dict[Node, Node]) -> list[Node]:
    return [node for node in model.nodes if node not in paired]


def _unique(nodes: Iterable[Node], key: Callable[[Node], Hashable | None]) -> dict[Hashable, Node]:
    groups: dict[Hashable, list[Node]] = defaultdict(list)
    for node in nodes:
        if (name := key(node)) is not None:
            groups[name].append(node)
    return {name: group[0] for name, group in groups.items() if len(group) == 1}


def _tensor_names(node: Node) -> Hashable | None:
    if node.type == "Result":
        return None
    return min(node.outputs[0].names) if node.outputs and node.outputs[0].names else None


def _downwards(found: Alignment) -> bool:
    """Pair layers of the same type that read the same values."""
    before = len(found.forward)
    theirs: dict[Hashable, list[Node]] = defaultdict(list)
    for node in _left(found.b, found.back):
        if (key := _reading(node, lambda n: n)) is not None:
            theirs[key].append(node)
    for node in _left(found.a, found.forward):
        key = _reading(node, found.forward.get)
        for other in theirs.get(key, ()) if key is not None else ():
            if found.pair(node, other):
                break
    return len(found.forward) > before


def _reading(node: Node, paired: Callable[[Node], Node | None]) -> Hashable | None:
    """The type and the values that a node reads, by the second model's names; of constants only their presence."""
    sources: list[Hashable] = []
    anything = False
    for value in node.inputs:
        if value is None or value.node.type == "Const":
            sources.append(None)
            continue
        other = paired(value.node)
        if other is None:
            return None
        sources.append((other, value.index))
        anything = True
    return (node.type, *sources) if anything else None


def _beside(found: Alignment) -> bool:
    """Pair layers that alone of their type read the same paired values, whatever their other inputs."""
    before = len(found.forward)
    ours = _unique(_left(found.a, found.forward), lambda node: _partly(node, found.forward.get))
    # The key in terms of the second model, in which unpaired values do not count either.
    theirs = _unique(_left(found.b, found.back), lambda node: _partly(node, lambda n: n if n in found.back else None))
    for key, node in ours.items():
        if key in theirs:
            found.pair(node, theirs[key])
    return len(found.forward) > before


def _partly(node: Node, paired: Callable[[Node], Node | None]) -> Hashable | None:
    """Return the same as `_reading`, without the unpaired values."""
    sources = [None if v is None or (other := paired(v.node)) is None else (other, v.index) for v in node.inputs]
    return (node.type, *sources) if any(sources) else None


def _upwards(found: Alignment) -> bool:
    """Pair layers of the same type that paired layers read at the same position."""
    before = len(found.forward)
    pairs = list(found.forward.items())
    for one, other in pairs:
        for ours, theirs in zip(one.inputs, other.inputs, strict=False):
            if ours is None or theirs is None or ours.node.type != theirs.node.type:
                continue
            if found.pair(ours.node, theirs.node):
                pairs.append((ours.node, theirs.node))
    return len(found.forward) > before
