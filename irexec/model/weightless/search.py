"""The values of missing constants with which a layer has the declared shapes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any

import numpy as np

from irexec.core.types import Array, Dimension, PartialShape, TensorType
from irexec.model.graph.model import Node, Value
from irexec.model.inference import Inference
from irexec.model.inference.propagate import as_list, propagate
from irexec.model.weightless.candidates import candidates

_MOST_CHOICES, _MOST_PROBED = 20_000, 100
_MOST_ELEMENTS = 1 << 20
"""The number of elements for which results of two choices are compared."""
_LARGEST = 64
"""The number of elements of a constant that may describe shapes."""
_PRIMES, _LAST = (5, 7, 11, 13, 17, 19, 23, 29), 31
"""Extents in place of dynamic ones, all different, so that a mistaken axis is seen."""


def may_describe_shapes(type: TensorType) -> bool:
    """Return whether a value may be an axis, an extent, an index, or a factor of extents."""
    kind = type.element_type
    is_number = kind.is_integral_number or (kind.is_real and kind.dtype is not None and kind.bitwidth >= 16)
    return bool(is_number and type.shape.is_static and type.shape.size.value <= _LARGEST)


class Search:
    """A search for the constants that determine the shapes of one layer.

    `carriers`: the layers that compute its inputs from these constants, in order.
    """

    def __init__(self, node: Node, types: Inference, carriers: Sequence[Node]) -> None:
        self.node, self.types = node, types
        self.carriers = self._leading(carriers)
        self.declared = [None if v.declared is None else v.declared.shape for v in node.outputs]

    def _leading(self, carriers: Sequence[Node]) -> list[Node]:
        needed, found = {value for value in self.node.inputs if value is not None}, list[Node]()
        for carrier in reversed(carriers):
            if needed.intersection(carrier.outputs):
                needed.update(value for value in carrier.inputs if value is not None)
                found.insert(0, carrier)
        return found

    def matters(self, consts: Mapping[Value, TensorType]) -> bool:
        """Return whether shapes depend on these constants: without their values, static inputs give dynamic outputs."""
        inputs = self._inputs({})
        known = None if inputs is None else _infer(self.node, _static(inputs))
        if inputs is None or known is None or all(type.shape.is_static for type in known):
            return False
        for choice in islice(self._tried(consts), _MOST_PROBED):
            inputs = self._inputs(choice, static=True)
            made = None if inputs is None else _infer(self.node, inputs)
            if made is not None and made != known and sum(_count(t) for t in made) > sum(_count(t) for t in known):
                return True
        return False

    def depends_on(self, const: Value, choice: Mapping[Value, Array]) -> bool:
        """Return whether less is known of the shapes without one constant of a choice."""
        others = {value: array for value, array in choice.items() if value is not const}
        whole, less = (
            None if inputs is None else _infer(self.node, inputs)
            for inputs in (self._inputs(choice, static=True), self._inputs(others, static=True))
        )
        return whole is None or less is None or sum(map(_count, whole)) > sum(map(_count, less))

    def valid(self, const: Value) -> list[Array]:
        """Return the values of a constant that the layer accepts."""
        return [
            choice[const]
            for choice in self._tried({const: self.types[const]})
            if (inputs := self._inputs(choice)) is not None and _infer(self.node, inputs) is not None
        ]

    def choices(self, consts: Mapping[Value, TensorType]) -> list[dict[Value, Array]]:
        """Return the choices that fit the declared shapes; of those with the same results, only the first."""
        whole = {value: type for value, type in consts.items() if not type.element_type.is_real}
        return (self._fitting(whole) if whole else []) or self._fitting(consts)

    def _fitting(self, consts: Mapping[Value, TensorType]) -> list[dict[Value, Array]]:
        found: dict[object, dict[Value, Array]] = {}
        for choice in self._tried(consts):
            inputs = self._inputs(choice)
            made = None if inputs is None else _infer(self.node, inputs)
            if made is not None and self._fits(made):
                found.setdefault(self._effect(choice), choice)
        return [*found.values()]

    def _tried(self, consts: Mapping[Value, TensorType]) -> Iterator[dict[Value, Array]]:
        """Yield the choices of the candidates of each constant; none if there are too many."""
        outputs = [shape for shape in self.declared if shape is not None]
        given = [self.types[v] for v in self.node.inputs if v is not None and v not in consts]
        tried = []
        for value, type in consts.items():
            inputs = given
            for carrier in self.carriers:  # Axes and indices are those of the layer that reads the constant.
                if value in carrier.inputs:
                    inputs = [*(self.types[v] for v in carrier.inputs if v is not None and v is not value), *given]
            tried.append(candidates(type.element_type, type.shape.to_shape(), inputs, outputs))
        if consts and math.prod(map(len, tried)) <= _MOST_CHOICES:
            yield from (dict(zip(consts, arrays, strict=True)) for arrays in product(*tried))

    def _inputs(self, choice: Mapping[Value, Array], *, static: bool = False) -> list[TensorType | None] | None:
        """Return the types of the layer's inputs, with the values that follow from a choice. `static`: with numbers in
        place of dynamic extents.
        """
        known = {value: TensorType.of(array, self.types[value].element_type) for value, array in choice.items()}

        def inputs(node: Node) -> list[TensorType | None]:
            types = [None if v is None else known.get(v) or self.types[v] for v in node.inputs]
            return _static(types) if static else types

        for carrier in self.carriers:
            types = _infer(carrier, inputs(carrier))
            if types is None:
                return None
            known |= dict(zip(carrier.outputs, types, strict=False))
        return inputs(self.node)

    def _fits(self, types: Sequence[TensorType]) -> bool:
        pairs = zip(self.declared, types, strict=False)
        return all(wanted is None or wanted.rank is None or _agree(wanted, type.shape) for wanted, type in pairs)

    def _effect(self, choice: Mapping[Value, Array]) -> object:
        """Return what the layer computes with a choice from different numbers: equal if it does not matter."""
        inputs, operator = self._inputs(choice, static=True), self.node.operator
        assert operator is not None
        if inputs is None or (arrays := _numbered(inputs)) is None:
            return tuple(array.tobytes() for array in choice.values())
        try:
            with np.errstate(all="ignore"):
                results = as_list(operator.kernel(*arrays, **operator.bind(self.node.attributes)))
        except Exception:  # Extents in place of dynamic ones need not suit the layer.
            results = [type.value for type in inputs if type is not None and type.has_value]
        return tuple((np.shape(result), np.asarray(result).tobytes()) for result in results)


def _infer(node: Node, inputs: Sequence[TensorType | None]) -> list[TensorType] | None:
    """Return the types of a layer's outputs; None if the inputs break its constraints."""
    assert node.operator is not None
    breaches: list[Any] = []
    try:
        types = node.operator.infer(inputs, node.attributes, breaches)
        return None if breaches else propagate(node.operator, inputs, node.attributes, types)
    except (ValueError, MemoryError):
        return None


def _agree(wanted: PartialShape, made: PartialShape) -> bool:
    """Return whether both shapes have the same static extents: files do not contain the bounds of dynamic ones."""
    if wanted.rank != made.rank:
        return False
    return all(a == b or not (a.is_static or b.is_static) for a, b in zip(wanted, made, strict=True))


def _count(type: TensorType) -> int:
    """Return how much is known of a shape: its rank and static extents."""
    return 0 if type.rank is None else 1 + sum(extent.is_static for extent in type.shape)


def _static(types: Sequence[TensorType | None]) -> list[TensorType | None]:
    """Return the types with different numbers in place of dynamic extents and unknown elements."""
    primes = iter(_PRIMES)

    def number(item: int | Dimension) -> int:
        return next(primes, _LAST) if isinstance(item, Dimension) and item.is_dynamic else int(item)

    found: list[TensorType | None] = []
    for type in types:
        if type is None or type.rank is None or type.has_value:
            found.append(type)
            continue
        shape, dtype, value = PartialShape(map(number, type.shape)), type.element_type.dtype, None
        if type.partial is not None and dtype is not None:
            value = np.array([*map(number, type.partial.ravel().tolist())], dtype).reshape(type.partial.shape)
        found.append(TensorType(type.element_type, shape, value))
    return found


def _numbered(inputs: Sequence[TensorType | None]) -> list[Array | None] | None:
    """Return arrays of these types whose elements are all different, where the type allows it; None if impossible."""
    found = list[Array | None]()
    for type in _static(inputs):
        if type is None or type.has_value:
            found.append(None if type is None else type.value)
            continue
        dtype = type.element_type.dtype
        if dtype is None or type.element_type.is_carried or type.rank is None:
            return None
        extents = type.shape.to_shape()
        if math.prod(extents) > _MOST_ELEMENTS or dtype.kind not in "biufV":
            return None
        found.append(np.arange(math.prod(extents)).astype(dtype).reshape(extents))
    return found
