"""Value propagation: evaluates small tensors during inference, so that shapes computed by layers become known.

`value` is a tensor that is fully known; `partial` contains an int or an interval (Dimension) for each element.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from irexec.core.types import (
    ANY_DIMENSION,
    I32,
    I64,
    MAX_KNOWN,
    MAX_RANK,
    Array,
    Dimension,
    DimLike,
    ElementType,
    TensorType,
    as_dimension,
    is_unknown,
)
from irexec.core.types.traced import is_traced
from irexec.ops.spec.operator import ConstraintError, Operator
from irexec.ops.spec.traits import CarriesSizes, ComputesSizes, Random, Stateful
from irexec.ops.spec.work import steps

_SHAPE_TYPES = frozenset({I32, I64})
# The maximum work, a few tenths of a second, for one value during inference.
MAX_STEPS = 1 << 26


def propagate(
    operator: Operator, inputs: Sequence[TensorType | None], attributes: dict[str, Any], outputs: list[TensorType]
) -> list[TensorType]:
    """Return the output types with the values that follow from known input values.

    Raises ConstraintError if known values break a constraint of the operator, MemoryError for too large a result.
    """
    known = all(tensor is None or tensor.has_value for tensor in inputs)
    carries = CarriesSizes in operator.traits and len(outputs) > 0 and outputs[0].element_type in _SHAPE_TYPES
    anything = known or (carries and any(t is not None and (t.has_value or t.partial is not None) for t in inputs))
    if not anything or not inputs or any(o.has_value or o.partial is not None for o in outputs):
        return outputs
    if Stateful in operator.traits or Random in operator.traits:
        return outputs
    if not all(map(_is_small, outputs)) or (steps(operator, inputs, attributes, outputs) or 0) > MAX_STEPS:
        return outputs
    if known:
        return _run(operator, [None if t is None else t.value for t in inputs], attributes, outputs)
    return _run_partial(operator, inputs, attributes, outputs)


def _is_small(tensor: TensorType) -> bool:
    """Return True for a tensor of few elements that NumPy can represent. An extent of 0 counts as 1, so that a huge
    extent beside it is not overlooked.
    """
    if tensor.rank is None or tensor.rank > MAX_RANK:
        return False
    most = [extent.max for extent in tensor.shape]
    return None not in most and math.prod(max(1, extent or 0) for extent in most) <= MAX_KNOWN


def _run(
    operator: Operator, arrays: list[Array | None], attributes: dict[str, Any], outputs: list[TensorType]
) -> list[TensorType]:
    try:
        with np.errstate(all="ignore"):
            results = as_list(operator.kernel(*arrays, **operator.bind(attributes)))
    except (ConstraintError, MemoryError):
        raise
    except Exception:  # reported when the layer runs
        return outputs
    return [
        TensorType(t.element_type, t.shape, np.asarray(r)) if t.element_type.dtype == np.asarray(r).dtype else t
        for t, r in zip(outputs, results, strict=False)
    ]


class _Number(Dimension):
    """A value known as an interval. Results that may be negative, which a Dimension cannot represent, become
    unknown."""

    __slots__ = ()

    def __add__(self, other: DimLike) -> Dimension:
        if is_unknown(self) or is_unknown(other):
            return ANY_DIMENSION
        return self - (-other) if isinstance(other, int) and other < 0 else super().__add__(other)

    __radd__ = __add__

    def __sub__(self, other: DimLike) -> Dimension:
        if isinstance(other, int) and other < 0:
            return super().__add__(-other)
        most = as_dimension(other).max
        return ANY_DIMENSION if most is None or most > self.min else super().__sub__(other)

    def __rsub__(self, other: int) -> Dimension:
        return ANY_DIMENSION if self.max is None or other < self.max else Dimension.__sub__(as_dimension(other), self)

    def __mul__(self, other: DimLike) -> Dimension:
        return ANY_DIMENSION if isinstance(other, int) and other < 0 else super().__mul__(other)

    __rmul__ = __mul__

    def __floordiv__(self, divisor: int) -> Dimension:
        return super().__floordiv__(divisor) if divisor > 0 else ANY_DIMENSION


def _run_partial(
    operator: Operator, inputs: Sequence[TensorType | None], attributes: dict[str, Any], outputs: list[TensorType]
) -> list[TensorType]:
    """Run the kernel on object arrays of ints and intervals. Only arithmetic operators accept intervals in inputs after
    the first."""
    arrays: list[Any] = []
    for index, tensor in enumerate(inputs):
        if tensor is None:
            arrays.append(None)
        elif tensor.value is not None:
            carries = ComputesSizes in operator.traits or operator.signature.is_variadic or index == 0
            arrays.append(_as_objects(tensor.value) if carries else tensor.value)
        elif tensor.partial is not None:
            arrays.append(_as_numbers(tensor.partial))
        elif tensor.shape.is_static and _is_small(tensor) and tensor.element_type in _SHAPE_TYPES:
            arrays.append(_unknown(tensor.shape.to_shape()))
        else:
            return outputs
    results: list[Any] = []
    # A kernel fails if it requires a number and gets an interval. The value is then unknown, which is not an error.
    with contextlib.suppress(ConstraintError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError):
        results = as_list(operator.kernel(*arrays, **operator.bind(attributes)))
    typed = []
    for tensor, result in zip(outputs, results or [None] * len(outputs), strict=False):
        known = result is not None and np.asarray(result).dtype == object and tensor.shape.accepts(np.shape(result))
        typed.append(_with_partial(tensor, np.asarray(result, dtype=object)) if known else tensor)
    return typed


def _with_partial(tensor: TensorType, items: Array) -> TensorType:
    flat = items.ravel().tolist()
    if not all(isinstance(v, (int, Dimension)) for v in flat):
        return tensor
    flat = [_held(_plain(v), tensor.element_type) for v in flat]
    if all(isinstance(v, int) and not is_traced(v) for v in flat) and tensor.element_type.dtype is not None:
        return TensorType(
            tensor.element_type, tensor.shape, np.array(flat, tensor.element_type.dtype).reshape(items.shape)
        )
    partial = np.empty(len(flat), object)
    partial[:] = flat
    return TensorType(tensor.element_type, tensor.shape, partial=partial.reshape(items.shape))


def _plain(value: DimLike) -> DimLike:
    """Return a number if it is known, otherwise an interval as used in shapes."""
    if isinstance(value, int):
        return value
    return value.value if value.is_static else Dimension(value.min, value.max)


def _held(value: DimLike, kind: ElementType) -> DimLike:
    """Return a result as the element type represents it: a number wraps around; an interval beyond the type becomes
    unknown.

    The numbers therefore stay small, however often layers multiply.
    """
    half = 1 << (kind.bitwidth - 1)
    if is_traced(value) and -half <= value < half:  # type: ignore[operator]
        return value
    if isinstance(value, int):
        return (value + half) % (2 * half) - half
    return value if max(value.min, value.max or 0) < half else ANY_DIMENSION


def _as_objects(array: Array) -> Array:
    result = np.empty(array.size, object)
    result[:] = [int(v) for v in array.ravel()]
    return result.reshape(array.shape)


def _as_numbers(items: Array) -> Array:
    result = np.empty(items.size, object)
    result[:] = [_Number(v.min, v.max) if isinstance(v, Dimension) else v for v in items.ravel().tolist()]
    return result.reshape(items.shape)


def _unknown(shape: tuple[int, ...]) -> Array:
    result = np.empty(shape, object)
    result[...] = _Number(-1)
    return result


def as_list(result: Any) -> list[Any]:
    """Return the results of a kernel, which returns one array, or a tuple or list of them, as a list."""
    return list(result) if isinstance(result, (tuple, list)) else [result]
