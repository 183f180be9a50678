"""Random values for a port: values that the operator accepts, or else any values of the element type."""

from __future__ import annotations

import contextlib
import math
from typing import Any

import numpy as np

from irexec.core.types import BOOLEAN, F8E8M0, F32, MAX_RANK, STRING, Array, ElementType, TensorType
from irexec.ops.spec.capacity import memory
from irexec.ops.spec.contents import category_of
from irexec.ops.spec.operator import Operator

_BLOCK = 1 << 20
"""The number of elements that are drawn at once."""


def most_drawn() -> int:
    """Return the maximum number of bytes for the random values of all inputs together."""
    return min(1 << 31, memory() // 8)


def undrawable(kind: ElementType, shape: tuple[int, ...], drawn: int) -> str | None:
    """Return the reason why values of this type and shape cannot be drawn; None if they can. `drawn`: bytes drawn
    before.
    """
    if len(shape) > MAX_RANK:
        return f"has rank {len(shape)}, but an array can have at most {MAX_RANK} axes"
    if kind.dtype is not None and drawn + math.prod(shape) * kind.dtype.itemsize > most_drawn():
        return "is too large for random values"
    return None


def draw_for(
    rng: np.random.Generator, operator: Operator, name: str, types: dict[str, TensorType], attributes: dict[str, Any]
) -> Array | None:
    """Return random values for a port from the operator's own generator; None if the operator has no generator.

    `types`: the tensor types of all inputs by name; inputs that were drawn before have values.
    """
    generator, array = operator.oracle.generators.get(name), None
    if generator is not None:
        # Shapes that break the operator's constraints are reported by its shape rule, not here.
        with contextlib.suppress(Exception), np.errstate(all="ignore"):
            array = generator(rng, name, types, attributes)
    shape = types[name].shape
    return array if array is not None and shape.accepts(np.shape(array)) else None


def has_no_result_for_zeros(operator: Operator, kind: ElementType) -> bool:
    """Return whether an operator of two inputs has no result for a second input of zero, as divisions of integers."""
    if len(operator.inputs) != 2 or not kind.is_integral_number or category_of(operator.type) != "arithmetic":
        return False
    return bool(operator.oracle.undefined(np.ones(1, kind.dtype), np.zeros(1, kind.dtype)) == "no result")


def repeated(rng: np.random.Generator, indices: Array) -> Array:
    """Return the indices with repetitions: each entry (a row of the last axis, or one element) is drawn from the first
    half of the entries.
    """
    width = indices.shape[-1] if indices.ndim > 1 else 1
    rows = indices.reshape(-1, width) if width else indices.reshape(-1, 1)
    picked: Array = rows[rng.integers(0, max(1, len(rows) // 2), len(rows))]
    return picked.reshape(indices.shape)


def draw(rng: np.random.Generator, kind: ElementType, shape: tuple[int, ...]) -> Array:
    """Return random values of an element type: normal floats, small integers, random booleans, short words."""
    count = math.prod(shape)
    if count <= _BLOCK:
        return _drawn(rng, kind, shape)
    # Draw in blocks: before conversion, random values can take four times the memory of the result.
    result = np.empty(count, np.uint8 if kind.is_carried else kind.dtype)
    for begin in range(0, count, _BLOCK):
        result[begin : begin + _BLOCK] = _drawn(rng, kind, (min(_BLOCK, count - begin),))
    return result.reshape(shape)


def _drawn(rng: np.random.Generator, kind: ElementType, shape: tuple[int, ...]) -> Array:
    if kind is BOOLEAN:
        return rng.integers(0, 2, shape).astype(np.bool_)
    if kind is STRING:
        words = np.array(["", "a", "bc", "déf", "ghij"], dtype=np.dtypes.StringDType())
        return words[rng.integers(0, len(words), shape)]
    if kind.is_integral_number:
        top = min(10, 2 ** (kind.bitwidth - (kind.kind == "i")))
        return rng.integers(0, top, shape).astype(kind.dtype)
    if kind.is_carried:
        return rng.integers(0, 1 << kind.bitwidth, shape).astype(np.uint8)
    values = rng.standard_normal(shape, dtype=np.float32)
    if kind is F8E8M0:
        values = np.exp2(np.rint(values))
    return values if kind is F32 else values.astype(kind.dtype)
