"""Pairing the variables of two models by what is assigned to them: exporters number them as they like."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

from irexec.core.structure import ASSIGN, CONST, READ_VALUE
from irexec.model.graph.model import Model, Node
from irexec.tools.compare.classes import Classes, in_order

# The numbers of layers before an assigned value by which it is recognized, if the layers before those differ.
_DEPTHS = (24, 12, 6)

Keys = Callable[[Node], Hashable]


class _Variables:
    """The variables of a model. `assigned`: the layer whose result is assigned to each, which also reads it."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.names = list(dict.fromkeys(str(n.attributes.get("variable_id")) for n in model.nodes if n.has_state))
        self.all = dict.fromkeys(self.names, 0)
        self.depths = _depths(model)
        written = {
            str(node.attributes.get("variable_id")): node.inputs[0].node
            for node in model.nodes
            if node.type == ASSIGN and node.inputs[0] is not None
        }
        # A value that extends another variable may be assigned to the wrong one: then only names tell which is meant.
        self.assigned = {name: node for name, node in written.items() if name in _nearest(node)}

    def groups(self, key: Keys, done: Mapping[str, object]) -> dict[Hashable, list[str]]:
        """Return the variables without a counterpart by the key of what is assigned, the first ones first."""
        found: dict[Hashable, list[str]] = defaultdict(list)
        for name in sorted(self.assigned, key=lambda name: self.depths[self.assigned[name]]):
            if name not in done:
                found[key(self.assigned[name])].append(name)
        return found


def numbers_of(
    a: Model, b: Model, classes: Classes, ours: Sequence[Hashable], theirs: Sequence[Hashable]
) -> tuple[dict[str, int], dict[str, int]]:
    """Return a number for each variable of two models, equal for those that correspond. `ours`, `theirs`: keys of the
    inputs.

    They are paired if equal values are assigned to them, or if the last layers before these are equal, or of the same
    types; the remaining ones by name, and then in the order in which they are read.
    """
    one, two = _Variables(a), _Variables(b)
    forward: dict[str, str] = {}
    back: dict[str, str] = {}
    for key in _keys(one, two, classes, ours, theirs) if one.names and two.names else ():
        here, there = one.groups(key, forward), two.groups(key, back)
        for kind, names in here.items():
            others = there.get(kind, [])
            if len(names) == len(others):
                _pair(zip(names, others, strict=True), forward, back)
        if len(forward) == len(one.names):
            break
    _pair(((name, name) for name in one.names if name in two.all), forward, back)
    left = [[name for name in side.names if name not in done] for side, done in ((one, forward), (two, back))]
    _pair(zip(*left, strict=False), forward, back)
    numbers = {name: number for number, name in enumerate(one.names)}
    more = {name: len(numbers) + number for number, name in enumerate(two.names) if name not in back}
    return numbers, more | {name: numbers[mine] for name, mine in back.items()}


def _pair(pairs: Iterator[tuple[str, str]], forward: dict[str, str], back: dict[str, str]) -> None:
    for name, other in pairs:
        if name not in forward and other not in back:
            forward[name], back[other] = other, name


def _keys(
    one: _Variables, two: _Variables, classes: Classes, ours: Sequence[Hashable], theirs: Sequence[Hashable]
) -> Iterator[Keys]:
    """Yield functions that return a key of a layer, equal for layers that correspond; the most certain first."""
    whole = classes.of(one.model, ours, one.all) | classes.of(two.model, theirs, two.all)
    yield whole.__getitem__
    alike = {**one.all, **two.all}
    own = {node: classes.own(node, alike) for side in (one, two) for node in side.model.nodes}
    for kind in (own.__getitem__, _type):
        for depth in _DEPTHS:
            yield _near(kind, depth)


def _type(node: Node) -> Hashable:
    return CONST if node.constant is not None else node.type


def _near(kind: Keys, depth: int) -> Keys:
    """Return the key of a layer made of its kind and those of the layers up to some layers before it."""
    numbers: dict[Hashable, int] = {}
    known: dict[tuple[Node, int], int] = {}

    def key(node: Node, left: int = depth) -> int:
        if (node, left) not in known:
            inputs = node.inputs if left else ()
            sources = [None if v is None else (key(v.node, left - 1), v.index) for v in inputs]
            whole = (kind(node), in_order(node, sources) if sources else ())
            known[node, left] = numbers.setdefault(whole, len(numbers))
        return known[node, left]

    return key


def _nearest(node: Node) -> set[str]:
    """Return the variables that are read closest to a layer: those that the fewest layers lie between."""
    level, seen = [node], {node}
    while level:
        if found := {str(each.attributes.get("variable_id")) for each in level if each.type == READ_VALUE}:
            return found
        before = dict.fromkeys(v.node for each in level for v in each.inputs if v is not None and v.node not in seen)
        seen |= before.keys()
        level = list(before)
    return set()


def _depths(model: Model) -> dict[Node, int]:
    """Return the largest number of layers that lead to each layer."""
    found: dict[Node, int] = {}
    for node in model.nodes:
        found[node] = 1 + max((found.get(v.node, 0) for v in node.inputs if v is not None), default=0)
    return found
