"""Range: evenly spaced numbers.

Source: operation pages Range-1, Range-4.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, isfinite
from typing import Annotated, Any, TypeAlias

import numpy as np

from irexec.core.types import (
    MAX_KNOWN,
    MAX_LENGTH,
    NUMERIC,
    Array,
    Dimension,
    ElementType,
    PartialShape,
    TensorType,
    is_unknown,
)
from irexec.core.types.traced import is_traced
from irexec.ops.compute.casting import is_out_of_range
from irexec.ops.rules.axes import filled, first_known
from irexec.ops.rules.shapes import has_rank
from irexec.ops.spec.older import OlderForm, element_types
from irexec.ops.spec.operator import Check, Elements, TypeFrom, operator, require
from irexec.ops.spec.oracle import Undefined
from irexec.ops.spec.tensors import NumericTensor, NumericTensor1

T2: TypeAlias = Annotated[Array, Elements("T2", NUMERIC)]
T3: TypeAlias = Annotated[Array, Elements("T3", NUMERIC)]
Number: TypeAlias = int | float


@operator("Range", "opset1")
def range_1(start: NumericTensor, stop: NumericTensor, step: NumericTensor, /) -> NumericTensor:
    """Return start, start + step, ... up to but not including `stop`; empty if `stop` is in the other direction.

    Raises ConstraintError C2 for a step of 0 or a value that is not finite.
    Shape rule: C1 start, stop and step are scalars.
    """
    return _range(start, stop, step, ElementType.of(start.dtype))


@operator("Range", "opset4")
def range_4(
    start: NumericTensor1, stop: T2, step: T3, /, *, output_type: ElementType
) -> Annotated[Array, TypeFrom("output_type")]:
    """As Range-1, in `output_type`: the inputs are first cast to this type, rounding towards zero.

    The constraints of Range-1 also apply. Shape rule: C3 output_type is numeric.
    """
    return _range(start, stop, step, output_type)


@range_4.older
def _(form: OlderForm, *inputs: TensorType | None) -> None:
    kinds, made = element_types(inputs), form.outputs[0].element_type
    form.need(
        all(kind is made for kind in kinds), f"its inputs are {', '.join(map(str, kinds))}, and its output is {made}"
    )


def _range(start: Array, stop: Array, step: Array, kind: ElementType) -> Array:
    numbers = [_cast(value.reshape(()).item(), kind) for value in (start, stop, step)]
    _check_numbers(require, numbers)
    first, last, by = numbers
    count = _count(first, last, by)
    _check_count(require, count)
    dtype = kind.dtype
    assert dtype is not None
    result = np.empty(count, dtype)
    for begin in range(0, count, _AT_ONCE):
        number = np.arange(begin, min(begin + _AT_ONCE, count), dtype=np.int64)
        if isinstance(first, int) and isinstance(by, int):
            # Integers wrap, as in all integer arithmetic.
            start_bits, step_bits = (np.uint64(n % (1 << 64)).astype(np.int64) for n in (first, by))
            values: Array = number * step_bits + start_bits
        else:
            # The page's accumulate_type: at least as exact as any output type.
            values = first + number.astype(np.float64) * by
        result[begin : begin + _AT_ONCE] = values.astype(dtype)
    return result


_AT_ONCE = 1 << 20
"""The number of elements that are created at once, in types wider than most outputs."""


def _cast(value: Number, kind: ElementType) -> Number:
    """Round towards zero for integer types; return the value itself if it is not finite."""
    return int(value) if kind.is_integral_number and isfinite(value) else value


def _check_numbers(check: Check, values: Sequence[Number | Dimension | None]) -> bool:
    """Check C2 for start, stop and step, if they are known."""
    usable = True
    for name, value in zip(("start", "stop", "step"), values, strict=True):
        if not isinstance(value, (Dimension, type(None))):
            expected = "a finite number other than 0" if name == "step" else "a finite number"
            fits = (isinstance(value, int) or isfinite(value)) and (name != "step" or value != 0)
            usable &= check("C2", fits, f"{name} is {value}, expected {expected}", port=name)
    return usable


def _check_count(check: Check, count: int) -> bool:
    message = f"the result would have {count} elements, expected at most {MAX_LENGTH}"
    return check("C2", count <= MAX_LENGTH, message, port="stop")


def _count(first: Number, last: Number, by: Number) -> int:
    """Return max(ceil((stop - start) / step), 0), computed exactly for integers."""
    if isinstance(first, int) and isinstance(last, int) and isinstance(by, int):
        return max(-((first - last) // by), 0)
    return max(ceil((last - first) / by), 0)


def _rule(check: Check, start: TensorType, stop: TensorType, step: TensorType, kind: ElementType) -> Any:
    ports = {"start": start, "stop": stop, "step": step}
    for name, tensor in ports.items():
        has_rank(check, "C1", tensor, 0, name)
    values = [_known(t, kind) for t in ports.values()]
    usable = _check_numbers(check, values)
    first, last, by = values
    positions = isinstance(last, Dimension) and not is_unknown(last)
    if isinstance(last, Dimension) and positions and isinstance(first, int) and isinstance(by, int) and by > 0:
        # `stop` is a dimension: the count follows from its interval.
        high = None if last.max is None else _count(first, last.max, by)
        return PartialShape([Dimension(_count(first, last.min, by), high)])
    numbers = [v for v in values if not isinstance(v, (Dimension, type(None)))]
    if len(numbers) < 3 or not usable:
        return PartialShape.dynamic(1)
    count = _count(*numbers)
    shape = PartialShape([count])
    if (
        not _check_count(check, count)
        or count > MAX_KNOWN
        or not kind.is_integral_number
        or any(map(is_traced, numbers))
    ):
        return shape
    scalars = [np.array(n) for n in numbers]
    return TensorType(kind, shape, _range(scalars[0], scalars[1], scalars[2], kind))


def _known(tensor: TensorType, kind: ElementType) -> Number | Dimension | None:
    if tensor.scalar is not None:
        return _cast(tensor.scalar, kind)
    return first_known(tensor)


@range_1.shapes
def _(check: Check, start: TensorType, stop: TensorType, step: TensorType) -> Any:
    return _rule(check, start, stop, step, start.element_type)


@range_4.shapes
def _(check: Check, start: TensorType, stop: TensorType, step: TensorType, *, output_type: ElementType) -> Any:
    message = f"output_type is {output_type}, expected a numeric type"
    if not check("C3", output_type in NUMERIC, message, attribute="output_type", found=str(output_type)):
        return PartialShape.dynamic(1)
    return _rule(check, start, stop, step, output_type)


@range_1.oracle.draw("start", "stop", "step")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    return _drawn(rng, port, types, types[port].element_type)


@range_4.oracle.draw("start", "stop", "step")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType], *, output_type: ElementType) -> Array:
    unsigned = types[port].element_type.kind == "u"
    return _drawn(rng, port, types, types[port].element_type if unsigned else output_type)


def _drawn(rng: np.random.Generator, port: str, types: dict[str, TensorType], kind: ElementType) -> Array:
    """Draw a start near 0, which is negative only if all numbers may be; stop and step are always the same."""
    start = rng.integers(0 if kind.kind == "u" else -2, 4)
    return filled(types, port, {"start": start, "stop": 8, "step": 1}[port])


@range_4.oracle.undefined_for
def _(start: Array, stop: Array, step: Array, *, output_type: ElementType) -> Undefined:
    """Return whether the result is undefined, including for a start that its type does not represent."""
    return is_out_of_range(start, output_type) or _undefined(start, stop, step)


@range_1.oracle.undefined_for
def _undefined(start: Array, stop: Array, step: Array) -> bool:
    """Return True if the number of elements depends on the rounding of a quotient."""
    first, last, by = (float(np.asarray(a).reshape(-1)[0]) for a in (start, stop, step))
    if all(number.is_integer() and abs(number) < _EXACT for number in (first, last, by)):
        return False
    count = (last - first) / by if by else 0.0
    return abs(count - round(count)) < _CLOSE * max(1.0, abs(count))


_CLOSE, _EXACT = 1e-5, 2**11
