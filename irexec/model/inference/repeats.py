"""Repeated layers: models stack equal blocks, and the result of a shape rule for one layer holds for its repetitions.

The result of a rule depends only on the types of the inputs and on the attributes. Equal types are therefore one object
here, and a layer whose operator, attributes and input types equal those of an earlier layer gets the output types of
that layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irexec.core.types import MAX_KNOWN, Array, ElementType, PartialShape, Stored, TensorType
from irexec.model.graph.model import Node

# The maximum size of values that are compared: scalars, axes, shapes. Larger values, such as weights, hardly repeat.
_MAX_COMPARED = 64


class Repeats:
    """The types inferred so far in one inference, by operator, attributes and input types."""

    def __init__(self) -> None:
        self._types: dict[object, TensorType] = {}
        self._constants: dict[object, TensorType] = {}
        self._found: dict[object, Sequence[TensorType]] = {}
        # Pairs of a declared and an inferred type that were found equal.
        self.agreeing: set[tuple[TensorType, TensorType]] = set()

    def constant(self, kind: ElementType, held: Array | Stored) -> TensorType:
        """Return the type of a constant, with its value if that is small."""
        if held.size > MAX_KNOWN:
            known: object = (kind, held.shape)
        elif isinstance(held, Stored) and held.size <= _MAX_COMPARED:
            known = (kind, held.key)
        else:
            return self.same(TensorType(kind, PartialShape(held.shape), held))
        found = self._constants.get(known)
        if found is None:
            value = None if held.size > MAX_KNOWN else held
            found = self._constants[known] = self.same(TensorType(kind, PartialShape(held.shape), value))
        return found

    def same(self, type: TensorType) -> TensorType:
        """Return the single object for all types that equal `type` and have the same value; `type` itself if comparing
        it is expensive.
        """
        value = type.held
        if type.partial is not None or (value is not None and value.size > _MAX_COMPARED):
            return type
        if isinstance(value, Stored):
            known = value.key
        elif value is not None and value.dtype.kind in "TO":
            return type
        else:
            known = None if value is None else (value.dtype, value.shape, value.tobytes())
        return self._types.setdefault((type.element_type, type.shape, known), type)

    @staticmethod
    def key(node: Node, attributes: dict[str, Any], inputs: Sequence[TensorType | None]) -> object:
        """Return a key that is equal for nodes of one operator with equal attributes and input types; equal types are
        one object."""
        key = (node.operator, *attributes.values(), *inputs)
        try:
            hash(key)
        except TypeError:  # A value that cannot be compared, such as a list, equals no other.
            return object()
        return key

    def __len__(self) -> int:
        return len(self._found)

    def known(self, key: object) -> Sequence[TensorType] | None:
        """Return the types stored for a key."""
        return self._found.get(key)

    def keep(self, key: object, types: Sequence[TensorType]) -> Sequence[TensorType]:
        """Store the types of a key for which nothing was reported, and return them."""
        found = self._found[key] = tuple(map(self.same, types))
        return found
