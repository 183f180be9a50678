"""FakeQuantize: floats rounded to a number of levels between limits.

Source: operation page FakeQuantize-1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import numpy as np

from irexec.core.diagnostics.statements import ACCEPTS
from irexec.core.types import Array, PartialShape, TensorType
from irexec.ops.compute.elementwise import BLOCK, aligned, for_blocks
from irexec.ops.compute.precision import compute_dtype
from irexec.ops.rules.shapes import Broadcasting, broadcast_shapes
from irexec.ops.spec.attributes import AsRead, Within
from irexec.ops.spec.operator import Check, operator, rounded
from irexec.ops.spec.oracle import Allowed, Undefined
from irexec.ops.spec.tensors import FloatTensorF
from irexec.ops.spec.traits import Quantization, Steps

_LIMITS = ("input_low", "input_high", "output_low", "output_high")


@operator(
    "FakeQuantize",
    "opset1",
    Quantization,
    Steps,
    inplace="x",
    tolerance=rounded(8, among=("output_low", "output_high")),
)
def fake_quantize_1(
    x: FloatTensorF,
    input_low: FloatTensorF,
    input_high: FloatTensorF,
    output_low: FloatTensorF,
    output_high: FloatTensorF,
    /,
    *,
    levels: Annotated[int, Within(ge=2), AsRead(default=0), AsRead(others=ACCEPTS)],
    how: Broadcasting,
    out: Array | None = None,
) -> FloatTensorF:
    """Map x from [input_low, input_high] to one of `levels` values in [output_low, output_high].

    Halves are rounded to the even level. C1: the limits broadcast into the shape of x, as in NumPy or PaddlePaddle;
    with "none" the limits have the shape of x, or one element as in OpenVINO.
    """
    given = (input_low, input_high, output_low, output_high)
    dtype = compute_dtype(x.dtype)
    limits = [_limit(x, array, how).astype(dtype) for array in given]
    result = np.empty(x.shape, x.dtype) if out is None else out
    if not result.flags.c_contiguous:
        source = np.ascontiguousarray(x)
        np.copyto(result, fake_quantize_1.kernel(source, *given, levels=levels, how=how))
        return result
    lead = x.ndim
    while lead and all(a.shape[lead - 1] == 1 for a in limits):
        lead -= 1
    rows, length = math.prod(x.shape[:lead]), math.prod(x.shape[lead:])
    columns = [np.broadcast_to(a.reshape(a.shape[:lead]), x.shape[:lead]).reshape(rows, 1) for a in limits]
    quantize = _between if bool(np.all(limits[0] < limits[1])) else _by_cases
    before, after = x.reshape(rows, length), result.reshape(rows, length)
    parts = list(_blocks(rows, length))

    def compute(index: int) -> None:
        part = parts[index]
        block = before[part].astype(dtype)
        low, high, output_low, output_high = (c[part[0]] for c in columns)
        quantize(block, low, high, output_low, output_high, levels)
        after[part] = block

    for_blocks(len(parts), compute)
    return result


def _limit(x: Array, limit: Array, how: Broadcasting) -> Array:
    """Return the limit with axes of extent 1 added, so that it has as many axes as x."""
    if limit.size != 1 and limit.shape != x.shape:
        limit = aligned(x, limit, how)
    return limit.reshape((1,) * x.ndim if limit.size == 1 else (*[1] * (x.ndim - limit.ndim), *limit.shape))


def _blocks(rows: int, length: int) -> Iterator[tuple[slice, slice]]:
    """Yield parts of a matrix that fit into the cache, each as slices: several rows, or a piece of one row."""
    step, width = max(1, BLOCK // max(1, length)), max(1, min(length, BLOCK))
    for row in range(0, rows, step):
        for column in range(0, length, width):
            yield slice(row, row + step), slice(column, column + width)


def quantize(x: Any, low: Any, extent: Any, highest: Any, step: Any, output_low: Any, out: Array | None = None) -> Any:
    """The page's last case, for all x, also by a back end (see irexec.ops.activation.formulas): the level number is
    clipped instead of x, with the same result. `highest`: the highest level number, `step`: the distance of outputs.
    """
    level = np.subtract(x, low, out=out)
    level /= extent
    level *= highest
    level = np.clip(np.rint(level, out=out), 0, highest, out=out)
    level *= step
    level += output_low
    return level


def _between(x: Array, low: Array, high: Array, output_low: Array, output_high: Array, levels: int) -> None:
    """Apply the page's last case to all elements."""
    highest = x.dtype.type(levels - 1)
    quantize(x, low, high - low, highest, (output_high - output_low) / highest, output_low, x)


def _by_cases(x: Array, low: Array, high: Array, output_low: Array, output_high: Array, levels: int) -> None:
    """Apply the page's expression literally, for limits that are equal or reversed."""
    number = x.copy()
    _between(number, low, high, output_low, output_high, levels)
    above = np.where(x > np.maximum(low, high), output_high, number)
    x[...] = np.where(x <= np.minimum(low, high), output_low, above)


@fake_quantize_1.shapes
def _(check: Check, x: TensorType, *limits: TensorType, how: Broadcasting) -> PartialShape:
    for port, limit in zip(_LIMITS, limits, strict=True):
        if how.auto_broadcast in ("none", "explicit") and limit.shape.is_static and _one(limit.shape.to_shape()):
            continue
        fits = _broadcasts(x.shape, limit.shape, how)
        message = f"{port} {limit.shape} does not broadcast into x {x.shape}"
        check("C1", fits, message, port=port, found=str(limit.shape), allowed=str(x.shape))
    return x.shape


def _one(shape: Sequence[int]) -> bool:
    return math.prod(shape) == 1


def _broadcasts(x: PartialShape, limit: PartialShape, how: Broadcasting) -> bool:
    """Return whether the limit can broadcast with x to the shape of x."""
    fits = True

    def note(constraint: str, condition: bool | None, message: str, **details: object) -> bool:
        nonlocal fits
        fits = fits and bool(condition)
        return bool(condition)

    return broadcast_shapes(note, x, limit, how).compatible(x) and fits


@fake_quantize_1.oracle.undefined_for
def _(x: Array, *limits: Array, levels: int, how: Broadcasting) -> Undefined:
    """The result is undefined for values so close to the middle between two levels that it depends on rounding
    errors.
    """
    wide, low, high = (a.astype(np.float64) for a in (x, *(_limit(x, limit, how) for limit in limits[:2])))
    with np.errstate(all="ignore"):
        place = (wide - low) / (high - low) * (levels - 1)
    inside = (wide > low) & (wide < high)
    return bool((inside & (np.abs(place - np.floor(place) - 0.5) < _BETWEEN)).any())


def _moves(x: Array, low: Array, high: Array, *_: Array, levels: int, **others: object) -> bool:
    """Return whether there are few levels and none is exactly 0: a runtime that computes with integers then moves all
    levels by up to half a level.
    """
    if levels > _FEW:
        return False
    first, last = low.astype(np.float64), high.astype(np.float64)
    with np.errstate(all="ignore"):
        zero = -first / (last - first) * (levels - 1)
    return bool((np.abs(zero - np.rint(zero)) > _BETWEEN).any())


fake_quantize_1.oracle.allowed = Allowed(moves=_moves)
_FEW = 64
"""The number of levels up to which half a level exceeds the error allowed for graphs."""
_BETWEEN = 1e-3
"""The distance, as a fraction of a step, within which a number counts as midway between two levels or as a level."""
