"""Alignment: matching the layers of two models by the functions that they compute, by structure, and by name.

Names are weak evidence: exporters number layers (`Add_12`) and tensors ("38"), and an added layer shifts all numbers.
Therefore layers are first paired if they compute the same function of the inputs, or if the same layers lead from them
to the results; names are used to choose among equal candidates, and to pair the remaining layers.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence

from irexec.core.structure import CONST, RESULT, SOURCES
from irexec.model.graph.model import Model, Node, Value
from irexec.tools.compare.classes import Classes, attributes_of, counterparts, in_order
from irexec.tools.compare.variables import numbers_of

_NUMBERED = re.compile(r"[A-Za-z]*[_.:]?\d+(\.\d+)?")


class Alignment:
    """Pairs of layers of two models. `forward` maps the first model's layers to the second model's, `back` the reverse.

    `own`: the class of each layer's own function, in both models; `whole`: the class of the function from the model's
    inputs to the layer.
    """

    def __init__(self, a: Model, b: Model, classes: Classes | None = None) -> None:
        self.a, self.b, self.classes = a, b, classes or Classes()
        self.forward: dict[Node, Node] = {}
        self.back: dict[Node, Node] = {}
        self.own: dict[Node, int] = {}
        self.whole: dict[Node, int] = {}

    def value(self, value: Value) -> Value | None:
        """Return the second model's counterpart of a value of the first model; None if it has none."""
        other = self.forward.get(value.node)
        return other.outputs[value.index] if other is not None and value.index < len(other.outputs) else None

    def original(self, value: Value) -> Value | None:
        """Return the first model's counterpart of a value of the second model; None if it has none."""
        mine = self.back.get(value.node)
        return mine.outputs[value.index] if mine is not None and value.index < len(mine.outputs) else None

    def pair(self, one: Node, other: Node) -> bool:
        """Pair two layers, unless one of them is paired already; return whether they were paired."""
        if one in self.forward or other in self.back:
            return False
        self.forward[one], self.back[other] = other, one
        return True


def align(a: Model, b: Model, classes: Classes | None = None) -> Alignment:
    """Return the pairs of corresponding layers of two models, without the layers in bodies.

    `classes`: the classes of enclosing models, if these models are bodies; they are reused.
    """
    found = Alignment(a, b, classes)
    _ports(found, a.parameters, b.parameters)
    _ports(found, a.results, b.results)
    here, there = _classify(found)
    _trusted(found)
    _equal(found, here, there)
    while _upwards(found, found.own.__getitem__):
        pass
    _by_key(found, lambda node: (node.friendly_name, node.type) if _is_named(node) else None)
    _by_key(found, _tensor_names)
    _grow(found)
    _by_key(found, lambda node: (node.friendly_name, node.type) if node.given_name else None, _is_near)
    _by_key(found, lambda node: node.friendly_name if node.given_name else None, _is_near)
    _grow(found)
    while _pair_by_surroundings(found, _place):
        _grow(found)
    return found


def _grow(found: Alignment) -> None:
    while _downwards(found) or _upwards(found, lambda node: node.type) or _pair_by_surroundings(found, _partly):
        pass


# Inputs and results


def _ports(found: Alignment, ours: Sequence[Node], theirs: Sequence[Node]) -> None:
    """Pair the inputs, or the results, of two models: by name, then by their order."""
    for numbered in (False, True):
        names = [_port_names(node, numbered) for node in theirs]
        for node in ours:
            here = _port_names(node, numbered)
            same = [other for other, there in zip(theirs, names, strict=True) if here & there]
            if len(same) == 1 and node not in found.forward:
                found.pair(node, same[0])
    left = [
        [node for node in nodes if node not in done] for nodes, done in ((ours, found.forward), (theirs, found.back))
    ]
    if len(left[0]) == len(left[1]):
        for one, other in zip(*left, strict=True):
            found.pair(one, other)


def _port_names(node: Node, numbered: bool) -> set[str]:
    names = {*node.outputs[0].names, *([node.given_name] if node.given_name else [])}
    if node.type == RESULT and node.inputs[0] is not None:
        names |= node.inputs[0].names
    return {name for name in names if numbered or not _NUMBERED.fullmatch(name)}


# Equal functions


def _classify(found: Alignment) -> tuple[dict[int, list[Node]], dict[int, list[Node]]]:
    """Compute the classes of layers. Returns the layers of each model by their class in `Alignment.whole`."""
    classes = found.classes
    paired = {node: index for index, node in enumerate(found.a.parameters)}
    ours: list[Hashable] = [("input", paired[node]) for node in found.a.parameters]
    theirs: list[Hashable] = [("input", _paired(found, node, paired)) for node in found.b.parameters]
    variables = numbers_of(found.a, found.b, classes, ours, theirs)
    kinds = classes.of(found.a, ours, variables[0]), classes.of(found.b, theirs, variables[1])
    there: dict[int, list[Node]] = defaultdict(list)
    for node, kind in kinds[1].items():
        there[kind].append(node)
    here: dict[int, list[Node]] = defaultdict(list)
    for node, kind in kinds[0].items():
        here[kind].append(node)
    found.whole = kinds[0] | kinds[1]
    found.own = {node: classes.own(node, variables[0]) for node in found.a.nodes}
    found.own |= {node: classes.own(node, variables[1]) for node in found.b.nodes}
    return here, there


def _trusted(found: Alignment) -> None:
    """Pair layers of the same name and type if the names of both models can be trusted: most of these pairs are
    equal layers that read paired layers, as in two versions of one file, but not if layers were renumbered.
    """
    named = _unique(found.a.nodes, _name_and_type), _unique(found.b.nodes, _name_and_type)
    pairs = {node: named[1][key] for key, node in named[0].items() if key in named[1]}
    same = {node for node, other in pairs.items() if _is_same(found, node, other, pairs)}
    computing = [node for node in found.a.nodes if node.type not in SOURCES]
    paired = [node for node in computing if node in pairs]
    if 2 * len(same.intersection(paired)) < max(len(paired), len(computing) / 2):
        return
    for node, other in pairs.items():
        near = [v.node for v in node.inputs if v is not None] + [user for v in node.outputs for user in v.users]
        if node in same or any(neighbour in same for neighbour in near):
            found.pair(node, other)


def _name_and_type(node: Node) -> Hashable | None:
    return (node.given_name, node.type) if node.given_name else None


def _is_same(found: Alignment, one: Node, other: Node, pairs: dict[Node, Node]) -> bool:
    """Return True if two layers are equal and read values that are equal or computed by paired layers."""
    if found.own[one] != found.own[other]:
        return False
    return all(
        x is y if x is None or y is None else found.whole[x.node] == found.whole[y.node] or pairs.get(x.node) is y.node
        for x, y in counterparts(one, other)
    )


def _equal(found: Alignment, here: dict[int, list[Node]], there: dict[int, list[Node]]) -> None:
    """Pair the layers that compute equal values from the inputs of the models."""
    for kind, nodes in here.items():
        names = {node.friendly_name: node for node in there.get(kind, ())}
        for node in nodes:
            if node.friendly_name in names:
                found.pair(node, names[node.friendly_name])
        rest = (other for other in there.get(kind, ()) if other not in found.back)
        for node, other in zip([node for node in nodes if node not in found.forward], rest, strict=False):
            found.pair(node, other)


def _paired(found: Alignment, node: Node, numbers: dict[Node, int]) -> Hashable:
    mine = found.back.get(node)
    return numbers[mine] if mine is not None else ("only there", node.number)


def _upwards(found: Alignment, kind: Callable[[Node], Hashable]) -> bool:
    """Pair layers of the same kind that paired layers read at the same position; return whether any were paired."""
    before = len(found.forward)
    pairs = list(found.forward.items())
    for one, other in pairs:
        for ours, theirs in _sources(one, other, kind):
            if kind(ours) == kind(theirs) and found.pair(ours, theirs):
                pairs.append((ours, theirs))
    return len(found.forward) > before


def _sources(one: Node, other: Node, kind: Callable[[Node], Hashable]) -> list[tuple[Node, Node]]:
    """Return pairs of the layers that two paired layers read at the same positions; crossed pairs if the order of
    inputs does not matter and more of these are of the same kind.
    """
    if one.type != other.type:
        return []
    pairs = [(x, y) for x, y in counterparts(one, other) if x is not None and y is not None]
    straight = [(x.node, y.node) for x, y in pairs if x.index == y.index]
    if len(pairs) == 2 and in_order(one, [1, 0]) == (0, 1):
        (a, p), (b, q) = pairs
        crossed = [(a.node, q.node), (b.node, p.node)]
        if _equals(crossed, kind) > _equals(straight, kind):
            return crossed
    return straight


def _equals(pairs: Iterable[tuple[Node, Node]], kind: Callable[[Node], Hashable]) -> int:
    return sum(kind(x) == kind(y) for x, y in pairs)


# Names


def _by_key(
    found: Alignment,
    key: Callable[[Node], Hashable | None],
    accepts: Callable[[Alignment, Node, Node], bool] = lambda found, one, other: True,
) -> None:
    """Pair the layers that have the same key, if it is unique in both models."""
    ours, theirs = (_unique(nodes, key) for nodes in (_left(found.a, found.forward), _left(found.b, found.back)))
    for name, node in ours.items():
        other = theirs.get(name)
        if other is not None and (node.type == CONST) == (other.type == CONST) and accepts(found, node, other):
            found.pair(node, other)


def _left(model: Model, paired: dict[Node, Node]) -> list[Node]:
    return [node for node in model.nodes if node not in paired]


def _unique(nodes: Iterable[Node], key: Callable[[Node], Hashable | None]) -> dict[Hashable, Node]:
    groups: dict[Hashable, list[Node]] = defaultdict(list)
    for node in nodes:
        if (name := key(node)) is not None:
            groups[name].append(node)
    return {name: group[0] for name, group in groups.items() if len(group) == 1}


def _is_named(node: Node) -> bool:
    """Return True for a name chosen by a person, not a number, nor the type with a number (`Add_12`)."""
    stem = node.given_name.rstrip("0123456789")
    return bool(stem) and stem.rstrip("_") not in ("", node.type, node.get_type_name())


def _tensor_names(node: Node) -> Hashable | None:
    if node.type in (RESULT, CONST):
        return None
    names = [name for name in (node.outputs[0].names if node.outputs else ()) if not _NUMBERED.fullmatch(name)]
    return (min(names), node.type) if names else None


def _is_near(found: Alignment, one: Node, other: Node) -> bool:
    """Return True for layers that read a paired value, or are read by a paired layer, at the same position."""
    for ours, theirs in counterparts(one, other):
        if ours is not None and theirs is not None and ours.node.type != CONST and found.value(ours) is theirs:
            return True
    return any(
        found.forward.get(user) is there and port == place
        for mine, yours in zip(one.outputs, other.outputs, strict=False)
        for user, port in mine.uses()
        for there, place in yours.uses()
    )


# Structure


def _downwards(found: Alignment) -> bool:
    """Pair layers of equal type and preferably attributes that read the same values; return whether any were paired."""
    before = len(found.forward)
    theirs: dict[Hashable, list[Node]] = defaultdict(list)
    for node in _left(found.b, found.back):
        if (key := _reading(node, lambda n: n)) is not None:
            theirs[key].append(node)
    for node in _left(found.a, found.forward):
        key = _reading(node, found.forward.get)
        candidates = [other for other in theirs.get(key, ()) if other not in found.back] if key is not None else []
        if candidates:
            attributes = str(attributes_of(node))
            found.pair(node, min(candidates, key=lambda other: str(attributes_of(other)) != attributes))
    return len(found.forward) > before


def _reading(node: Node, paired: Callable[[Node], Node | None]) -> Hashable | None:
    """Return the key of a layer: its type and the paired values that it reads, with all constants alike. None if it
    reads an unpaired value.
    """
    sources: list[Hashable] = []
    anything = False
    for value in node.inputs:
        if value is None or value.node.type == CONST:
            sources.append(None)
            continue
        other = paired(value.node)
        if other is None:
            return None
        sources.append((other, value.index))
        anything = True
    return (node.type, *in_order(node, sources)) if anything else None


def _pair_by_surroundings(
    found: Alignment, key: Callable[[Node, Callable[[Node], Node | None]], Hashable | None]
) -> bool:
    """Pair layers with equal keys (in terms of the second model) that are unique in both; return whether any were
    paired."""
    before = len(found.forward)
    ours = _unique(_left(found.a, found.forward), lambda node: key(node, found.forward.get))
    # Unpaired values do not count in the second model either.
    theirs = _unique(_left(found.b, found.back), lambda node: key(node, lambda n: n if n in found.back else None))
    for name, node in ours.items():
        if name in theirs:
            found.pair(node, theirs[name])
    return len(found.forward) > before


def _partly(node: Node, paired: Callable[[Node], Node | None]) -> Hashable | None:
    """Return the key of a layer: its type and the paired values that it reads, regardless of its other inputs."""
    sources = [None if v is None or (other := paired(v.node)) is None else (other, v.index) for v in node.inputs]
    return (node.type, *in_order(node, sources)) if any(sources) else None


def _place(node: Node, paired: Callable[[Node], Node | None]) -> Hashable | None:
    """Return the key of a layer of any type: the paired values that it reads, and the readers of its first output."""
    if node.type == CONST or not node.outputs:
        return None
    above = frozenset((other, v.index) for v in node.inputs if v is not None and (other := paired(v.node)) is not None)
    below = frozenset((other, port) for user, port in node.outputs[0].uses() if (other := paired(user)) is not None)
    return (above, below) if above and below else None
