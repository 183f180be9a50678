"""Filling in missing constants: those that shapes depend on get the only values that fit the declared shapes, and all
others are drawn at random.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from irexec.core.diagnostics.deadline import watched
from irexec.core.diagnostics.findings import At, Findings
from irexec.core.structure import CONST, LOOP
from irexec.core.types import Array, PartialShape, TensorType
from irexec.ir.weights.file import RandomWeights
from irexec.model.arrays.brief import plural, shown
from irexec.model.arrays.given import convert
from irexec.model.graph.model import Model, Node, Value
from irexec.model.inference.infer import Inferring
from irexec.model.weightless.search import Search, may_describe_shapes
from irexec.model.weightless.values import drawn, drawn_for
from irexec.ops.spec.capacity import memory

_SHOWN_CHOICES, _SHOWN_FOUND = 4, 6


def fill(model: Model, wanted: RandomWeights, findings: Findings) -> None:
    """Give all missing constants of a model, and of its bodies, values; report those that are not determined."""
    parts = [*_parts(model)]
    missing = {node: None for part in parts for node in _nodes(part) if _is_missing(node)}
    unknown = {*wanted.constants} - {node.friendly_name for part in parts for node in _nodes(part)}
    for name in sorted(unknown):
        findings.add("U005", f"--constant {name}: no constant has this name")
    if (total := sum(_size(node) for node in missing)) > memory() // 2:
        findings.add("C013", f"the missing weights have {total:,} bytes, more than half of this machine's memory")
        return
    if missing:
        _Filling(wanted, findings, [*missing]).parts(parts)


def _parts(model: Model) -> Iterator[Model]:
    """Yield the models of bodies before the model that contains them."""
    for node in _nodes(model):
        for body in node.bodies:
            yield from _parts(body.model)
    yield model


def _nodes(model: Model) -> Iterator[Node]:
    return iter((*model.nodes, *model.unreachable))


def _is_missing(node: Node) -> bool:
    return node.type == CONST and node.held is None and node.attributes.keys() >= {"element_type", "shape"}


def _type(node: Node) -> TensorType:
    return TensorType(node.attributes["element_type"], PartialShape(node.attributes["shape"]))


def _size(node: Node) -> int:
    kind, shape = node.attributes["element_type"], node.attributes["shape"]
    return int(kind.nbytes(math.prod(shape)))


class _Filling:
    """The state of filling in: the inference so far, and the constants that are missing or asked for."""

    def __init__(self, wanted: RandomWeights, findings: Findings, missing: Sequence[Node]) -> None:
        self.wanted, self.findings = wanted, findings
        self.run = Inferring(findings.trial(), declared=False)
        self.missing = {node for node in missing if not self._is_given(node)}
        self.readers: dict[Node, tuple[Node, int]] = {}
        self.asked: set[Node] = set()
        self.found: list[Node] = []
        # The missing constants that small integers are computed from, and the layers that compute these.
        self.origins: dict[Value, frozenset[Node]] = {}
        self.carriers: list[Node] = []

    def parts(self, parts: Iterable[Model]) -> None:
        for part in parts:
            for node in watched([*_nodes(part)], "finding the missing constants"):
                self._node(node)
        left = sorted(self.missing - self.asked, key=lambda node: node.number)
        for node in left:
            self._draw(node)
        self._report(left)

    def _report(self, left: Sequence[Node]) -> None:
        texts = [f"{node.friendly_name!r} = {shown(node.constant)}" for node in self.found if node.constant is not None]
        count, seed = plural(len(left), "constant"), self.wanted.seed
        message = f"the weights are missing: {count} drawn at random (seed {seed})"
        if texts:
            more = f" and {len(texts) - _SHOWN_FOUND} more" if len(texts) > _SHOWN_FOUND else ""
            message += f"; found from the declared shapes: {', '.join(texts[:_SHOWN_FOUND])}{more}"
        self.findings.add("C016", message)

    def _is_given(self, node: Node) -> bool:
        given = self.wanted.constants.get(node.friendly_name)
        if given is None:
            return False
        type = _type(node)
        array = convert(given, type.element_type)
        if array is None or array.size != math.prod(node.attributes["shape"]):
            self.findings.add("U004", f"--constant {node.friendly_name}: the values do not fit {type}", layer=node.ref)
        else:
            node.constant = np.asarray(array).reshape(node.attributes["shape"])
        return True

    def _node(self, node: Node) -> None:
        """Infer the types of a layer, once the missing constants that determine them are found."""
        if node in self.missing:
            self.run.inference.note(node, (_type(node),))
            self.origins[node.outputs[0]] = frozenset((node,))
            return
        for position, value in enumerate(node.inputs):
            if value is not None and value.node in self.missing:
                self.readers.setdefault(value.node, (node, position))
        self.run.node(node)
        # The constants that were asked for have no values: later layers have the declared types.
        origins = self._origins(node)
        if node.bodies:
            trips = node.inputs[0] if node.type == LOOP and node.inputs else None
            if trips is not None and trips.node in self.missing:
                self._ask(node, trips.node, [])
        elif origins - self.asked and node.operator is not None:
            self._search(node, sorted(origins - self.asked, key=lambda const: const.number))
        self._note_declared(node)
        origins = self._origins(node)
        if origins and all(may_describe_shapes(type) for type in self.run.inference.outputs(node)):
            self.carriers.append(node)
            self.origins |= dict.fromkeys(node.outputs, origins)

    def _origins(self, node: Node) -> frozenset[Node]:
        return frozenset[Node]().union(*(self.origins.get(v, frozenset()) for v in node.inputs if v)) & self.missing

    def _note_declared(self, node: Node) -> None:
        """Use the declared shapes where the inferred ones are not known."""
        types = [*self.run.inference.outputs(node)]
        for index, (value, type) in enumerate(zip(node.outputs, types, strict=False)):
            merged = None if value.declared is None else type.shape.merge(value.declared.shape)
            if merged is not None and merged != type.shape:
                types[index] = TensorType(type.element_type, merged, type.held, type.partial)
        self.run.inference.note(node, types)

    def _search(self, node: Node, origins: Sequence[Node]) -> None:
        search = Search(node, self.run.inference, [c for c in self.carriers if self._origins(c) & {*origins}])
        small = [const for const in origins if may_describe_shapes(_type(const))]
        open_values = {const.outputs[0]: _type(const) for const in small}
        if not search.matters(open_values):
            return
        choices = search.choices(open_values)
        for const in small:
            value = const.outputs[0]
            found = {choice[value].tobytes(): choice[value] for choice in choices}
            if len(found) == 1:
                (const.constant,) = found.values()
                self.missing.discard(const)
                self.found.append(const)
                self.run.node(const)
            elif not choices or search.depends_on(value, choices[0]):
                self._ask(node, const, [*found.values()])
        for carrier in (*search.carriers, node):
            self.run.node(carrier)

    def _ask(self, node: Node, const: Node, found: Sequence[Array]) -> None:
        """Report a missing constant on which the shapes of a layer depend, with values that fit."""
        self.asked.add(const)
        texts = [shown(array) for array in found]
        fitting = ", ".join(texts[:_SHOWN_CHOICES]) + (", ..." if len(texts) > _SHOWN_CHOICES else "")
        among = f"{len(texts)} values fit the declared ones: {fitting}" if texts else "irexec found none that fits"
        self.findings.add(
            "U006",
            f"the constant {const.friendly_name!r} ({_type(const)}) is missing, and the shapes of {node.type} "
            f"{node.friendly_name!r} depend on it; {among}",
            at=None if const.layer is None else At(const.layer.at),
            layer=const.ref,
            hint=f"give its values: --constant '{const.friendly_name}={texts[0] if texts else '[...]'}'",
        )

    def _draw(self, node: Node) -> None:
        rng = np.random.default_rng([self.wanted.seed, int(node.attributes.get("offset") or 0)])
        reader = self.readers.get(node)
        found = None if reader is None else drawn_for(rng, *reader, self.run.inference)
        if found is None and reader is not None and _is_choice(node) and reader[0].operator is not None:
            valid = Search(reader[0], self.run.inference, []).valid(node.outputs[0])
            found = valid[int(rng.integers(len(valid)))] if valid else None
        node.held = drawn(rng, _type(node)) if found is None else found
        self.run.node(node)


def _is_choice(node: Node) -> bool:
    """Return whether a constant may be an axis or a number of a layer, of which only some are valid."""
    type = _type(node)
    return bool(type.element_type.is_integral_number) and may_describe_shapes(type)
