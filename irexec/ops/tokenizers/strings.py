"""Strings and lists of strings in the representation of OpenVINO Tokenizers: positions in joined bytes.

A string tensor is three tensors: begins, ends and the bytes, `chars`. A ragged tensor has two more in front of its
elements: the first element of each row, and the element after the last.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Annotated, TypeAlias

import numpy as np

from irexec.core.types import BOOLEAN, I32, U8, Array, ElementType, PartialShape, TensorType
from irexec.ops.rules.shapes import has_rank, same_shape
from irexec.ops.spec.operator import Check, Elements, require

Index: TypeAlias = Annotated[Array, Elements(None, {I32})]
Chars: TypeAlias = Annotated[Array, Elements(None, {U8})]
Part: TypeAlias = Annotated[Array, Elements(None, {I32, U8, BOOLEAN})]
"""One of the tensors of a string tensor, a pattern (u8), or flags of unchanged strings (boolean)."""

ANY_LENGTH = PartialShape([-1])


def places(begins: Array, ends: Array, size: int, constraint: str, port: str = "ends") -> list[tuple[int, int]]:
    """Return the begin and end of each element. Raises ConstraintError for an element outside of [0, size]."""
    found = list(zip(begins.ravel().tolist(), ends.ravel().tolist(), strict=False))
    wrong = next((place for place in found if not 0 <= place[0] <= place[1] <= size), (0, 0))
    message = f"an element goes from {wrong[0]} to {wrong[1]}, expected 0 <= begin <= end <= {size}"
    require(constraint, wrong == (0, 0) and len(found) == begins.size == ends.size, message, port=port)
    return found


def strings(begins: Array, ends: Array, chars: Array, constraint: str = "C2") -> list[bytes]:
    """Return the bytes of each string."""
    raw = chars.tobytes()
    return [raw[begin:end] for begin, end in places(begins, ends, len(raw), constraint)]


def joined(parts: Sequence[bytes]) -> tuple[Array, Array, Array]:
    """Return begins, ends and chars of strings that follow each other."""
    borders = np.fromiter(accumulate(map(len, parts), initial=0), np.int32, len(parts) + 1)
    return borders[:-1].copy(), borders[1:].copy(), np.frombuffer(b"".join(parts), np.uint8).copy()


def rows(ragged_begins: Array, ragged_ends: Array, count: int, constraint: str = "C2") -> list[range]:
    """Return the elements of each row of a ragged tensor that has `count` elements."""
    found = places(ragged_begins, ragged_ends, count, constraint, "ragged_ends")
    return [range(first, last) for first, last in found]


def borders(lengths: Iterable[int], shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Return the begins and ends of rows of these lengths that follow each other."""
    ends = np.fromiter(accumulate(lengths), np.int32)
    begins = np.concatenate([np.zeros(1, np.int32), ends])[: ends.size]
    return begins.reshape(shape), ends.reshape(shape)


def indices(numbers: Iterable[int]) -> Array:
    return np.fromiter(numbers, np.int32)


def are_strings(check: Check, begins: TensorType, ends: TensorType, chars: TensorType) -> PartialShape:
    """Check C1: begins and ends have the same shape, and chars has rank 1. Return the shape of the string tensor."""
    has_rank(check, "C1", chars, 1, "chars")
    return same_shape(check, "C1", begins.shape, ends.shape, "ends")


def are_ragged_strings(
    check: Check, ragged_begins: TensorType, ragged_ends: TensorType, *parts: TensorType
) -> PartialShape:
    """Check C1 for a ragged tensor of strings. Return the shape of its rows."""
    are_strings(check, *parts)
    return same_shape(check, "C1", ragged_begins.shape, ragged_ends.shape, "ragged_ends")


def string_types(shape: PartialShape) -> list[TensorType]:
    """Return the types of a string tensor of this shape, whose bytes are not known."""
    return [TensorType(I32, shape), TensorType(I32, shape), TensorType(U8, ANY_LENGTH)]


def ragged_types(shape: PartialShape, elements: ElementType) -> list[TensorType]:
    """Return the types of a ragged tensor with rows of this shape."""
    return [TensorType(I32, shape), TensorType(I32, shape), TensorType(elements, ANY_LENGTH)]


def ragged_string_types(shape: PartialShape) -> list[TensorType]:
    """Return the types of a ragged tensor of strings with rows of this shape."""
    return [TensorType(I32, shape), TensorType(I32, shape), *string_types(ANY_LENGTH)]


def is_flags(given: TensorType | None) -> bool:
    """Return True for an input of flags, which mark the strings that are not changed."""
    return given is not None and given.element_type is BOOLEAN
