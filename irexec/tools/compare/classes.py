"""Classes of computations: equal numbers for layers that compute the same from the same inputs, also in two models."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from irexec.core.records import replace
from irexec.core.structure import CONST, SOURCES
from irexec.core.types import Array
from irexec.model.graph.model import Body, Model, Node, Value
from irexec.ops.spec.traits import Commutative

# These layers are identified by other facts: a constant by its values, an input by its position.
_PLACES = ("offset", "size", "element_type", "shape")
# The number of bytes in the sample of a constant; the number of constants with equal samples that are compared, before
# further constants are identified by a hash of all bytes; and the number of bytes compared at a time.
_SAMPLED, _MOST_ALIKE, _BLOCK = 1 << 14, 4, 1 << 20


class Classes:
    """Assigns numbers to computations: equal computations get equal numbers. One object is used for all models that are
    compared.
    """

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        # Bodies contain bodies, so the class of each is computed only once.
        self._bodies: dict[Model, tuple[int, ...]] = {}
        self._constants: dict[Node, Hashable] = {}
        # The different arrays with the same sample of their bytes.
        self._alike: dict[Hashable, list[Array]] = {}

    def of(
        self, model: Model, inputs: Sequence[Hashable], variables: Mapping[str, int] | None = None
    ) -> dict[Node, int]:
        """Return the class of each layer of a model. `inputs`: keys that distinguish the Parameters. `variables`:
        numbers that take the place of the variables' names.
        """
        found: dict[Node, int] = {}
        given = dict(zip(model.parameters, inputs, strict=True))
        for node in model.nodes:
            own: Hashable = given[node] if node in given else self.own(node, variables)
            sources = [None if v is None else (found.get(v.node), v.index) for v in node.inputs]
            found[node] = self._number((own, in_order(node, sources)))
        return found

    def own(self, node: Node, variables: Mapping[str, int] | None = None) -> int:
        """Return the class of the function that a layer computes: operator, attributes, constant, bodies."""
        if node.constant is not None:
            if node not in self._constants:
                self._constants[node] = self._values_of(node.constant)
            return self._number((CONST, str(node.outputs[0].element_type), self._constants[node]))
        attributes = [(k, str(v)) for k, v in sorted(attributes_of(node).items())]
        if variables is not None and node.has_state:
            attributes = [(k, str(variables.get(v, v)) if k == "variable_id" else v) for k, v in attributes]
        version = node.operator.opset if node.operator is not None else node.version
        return self._number((node.type, version, *attributes, *self.bodies(node)))

    def bodies(self, node: Node) -> tuple[Hashable, ...]:
        """Return a key for each body of a layer, with the values that the body is given."""
        return tuple(self._body(node, number) for number in range(len(node.bodies)))

    def _values_of(self, array: Array) -> Hashable:
        """Return a key that is equal for arrays of equal shapes and bytes."""
        if array.dtype.kind in "TUO" or array.size <= _SAMPLED:
            return _digest(array)
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        key = (array.shape, str(array.dtype), _digest(flat[:: flat.size // _SAMPLED]))
        known = self._alike.setdefault(key, [])
        for number, other in enumerate(known):
            if _equal(flat, other):
                return (*key, number)
        if len(known) == _MOST_ALIKE:
            return _digest(array)
        known.append(flat)
        return (*key, len(known) - 1)

    def _body(self, node: Node, number: int) -> Hashable:
        body = node.bodies[number]
        if (ends := self._bodies.get(body.model)) is None:
            inside = self.of(body.model, [("body", index) for index in range(len(body.model.parameters))])
            ends = self._bodies[body.model] = tuple(inside[end] for end in (*body.model.results, *body.model.sinks))
        return ends, repr(maps_of(body))

    def _number(self, key: Hashable) -> int:
        return self._numbers.setdefault(key, len(self._numbers))


def attributes_of(node: Node) -> dict[str, object]:
    """Return the attributes that affect the results of a layer, with the operator's defaults for absent attributes."""
    declared = node.operator.attributes if node.operator else ()
    values = {a.name: a.default for a in declared if not a.required} | node.attributes
    if node.layer is not None and len(node.attributes) < len(declared):
        # The layer belongs to a file with errors: attributes that have no value are compared as they are written.
        data = node.layer.data
        values |= {a.name: data[a.file_name] for a in declared if a.name not in node.attributes and a.file_name in data}
    skipped = _PLACES if node.type in SOURCES else ()
    return {name: value for name, value in values.items() if value is not None and name not in skipped}


def maps_of(body: Body) -> tuple[Any, ...]:
    """Return the port maps without their positions in a file, in an order that does not depend on it."""
    inputs = sorted((replace(entry, at=-1) for entry in body.inputs), key=lambda entry: entry.parameter)
    outputs = sorted((replace(entry, at=-1) for entry in body.outputs), key=lambda entry: entry.external or -1)
    return (inputs, outputs, body.condition)


def in_order(node: Node, sources: Sequence[Hashable]) -> tuple[Hashable, ...]:
    """Return the inputs of a layer, sorted if their order does not change the result."""
    if Commutative in node.traits and len(sources) == 2 and attributes_of(node).get("auto_broadcast") != "pdpd":
        return tuple(sorted(sources, key=repr))
    return tuple(sources)


def counterparts(node: Node, other: Node) -> list[tuple[Value | None, Value | None]]:
    """Return the inputs of two layers, position by position."""
    more = max(len(node.inputs), len(other.inputs))
    ours, theirs = ([*n.inputs, *[None] * (more - len(n.inputs))] for n in (node, other))
    return list(zip(ours, theirs, strict=True))


def _equal(one: Array, other: Array) -> bool:
    blocks = (slice(begin, begin + _BLOCK) for begin in range(0, one.size, _BLOCK))
    return one is other or all(np.array_equal(one[block], other[block]) for block in blocks)


def _digest(array: Array) -> Hashable:
    if array.dtype.kind in "TUO":
        return array.shape, tuple(array.ravel().tolist())
    flat = np.ascontiguousarray(array).reshape(-1)
    return array.shape, hashlib.blake2b(flat.view(np.uint8).data if flat.size else b"").digest()
