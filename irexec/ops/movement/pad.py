"""Pad: a tensor extended, or cropped, at its edges.

Source: operation pages Pad-1, Pad-12.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import numpy as np

from irexec.core.types import (
    ANY_DIMENSION,
    MAX_LENGTH,
    Array,
    Dimension,
    PartialShape,
    TensorType,
    is_unknown,
)
from irexec.ops.rules.axes import filled, has_length, in_range, integers, length_of, sum_of
from irexec.ops.rules.shapes import has_rank
from irexec.ops.spec.older import OlderForm
from irexec.ops.spec.operator import Check, operator, require
from irexec.ops.spec.signature import InputsOf
from irexec.ops.spec.tensors import AnyTensor, LooseIntegers
from irexec.ops.spec.traits import CarriesSizes, IgnoresUnconnected, Moving

PadMode: TypeAlias = Literal["constant", "edge", "reflect", "symmetric"]


@operator("Pad", "opset12", CarriesSizes, IgnoresUnconnected, Moving)
def pad_12(
    data: AnyTensor,
    pads_begin: LooseIntegers,
    pads_end: LooseIntegers,
    pad_value: AnyTensor | None = None,
    /,
    *,
    pad_mode: PadMode,
    out: Array | None = None,
) -> AnyTensor:
    """`data` with `pads_begin[d]` elements added at the start of dimension d and `pads_end[d]` at its end.

    A negative count removes elements, which can still be mirrored. Modes: "constant" adds `pad_value` (0, False, ""),
    "edge" repeats the outermost element, "reflect" mirrors without this element, "symmetric" with it.

    Raises ConstraintError C1 for more elements than there are to mirror (reflect: n - 1, symmetric: n),
    C2 unless there is one count per dimension, C5 for edges of an empty dimension.
    Shape rule: C3 pad_value is a scalar, C4 strings are padded in mode "constant" only.
    """
    begin, end = integers(pads_begin), integers(pads_end)
    if pad_mode == "constant":
        return _constant(data, begin, end, pad_value, out)
    for axis, (before, after) in enumerate(zip(begin, end, strict=True)):
        if min(before, after) < 0:
            data = np.take(data, _sources(axis, data.shape[axis], before, after, pad_mode), axis)
            begin[axis] = end[axis] = 0
    shape = [b + n + e for b, n, e in zip(begin, data.shape, end, strict=True)]
    result = np.empty(shape, data.dtype) if out is None else out
    result[tuple(slice(b, b + n) for b, n in zip(begin, data.shape, strict=True))] = data
    # Each axis is filled over the whole extent of the other axes, whose pads may be unfilled and are overwritten later.
    for axis, (before, count, after) in enumerate(zip(begin, data.shape, end, strict=True)):
        if before or after:
            along = np.moveaxis(result, axis, 0)
            sources = _sources(axis, count, before, after, pad_mode) + before
            along[:before] = along[sources[:before]]
            along[before + count :] = along[sources[before + count :]]
    return result


@pad_12.older
def _(form: OlderForm, *inputs: TensorType | None) -> None:
    pads = [*form.ints("pads_begin"), *form.ints("pads_end")]
    form.need(all(pad >= 0 for pad in pads), "a pad is negative")


@operator("Pad", "opset1", CarriesSizes, IgnoresUnconnected, Moving)
def pad_1(*inputs: Annotated[Any, InputsOf(pad_12)], pad_mode: PadMode, out: Array | None = None) -> AnyTensor:
    """As Pad-12. The same constraints, and C6: counts are not negative (OpenVINO accepts them)."""
    _check_counts(require, *map(integers, inputs[1:3]))
    return np.asarray(pad_12.compute(*inputs, pad_mode=pad_mode, out=out))


def _constant(data: Array, begin: list[int], end: list[int], pad_value: Array | None, out: Array | None) -> Array:
    shape = tuple(max(b + n + e, 0) for b, n, e in zip(begin, data.shape, end, strict=True))
    value = np.zeros((), data.dtype) if pad_value is None else pad_value.reshape(())
    result = np.empty(shape, data.dtype) if out is None else out
    result[...] = value
    kept = [max(min(b + n, total) - max(b, 0), 0) for b, n, total in zip(begin, data.shape, shape, strict=True)]
    target = tuple(slice(max(b, 0), max(b, 0) + k) for b, k in zip(begin, kept, strict=True))
    source = tuple(slice(max(-b, 0), max(-b, 0) + k) for b, k in zip(begin, kept, strict=True))
    result[target] = data[source]
    return result


def _sources(axis: int, count: int, before: int, after: int, mode: str) -> Array:
    """Return the source index of each element of the result along a dimension of `count` elements."""
    # The number of elements before the first position may exceed the maximum extent of an axis.
    first = min(-before, count if mode == "edge" else MAX_LENGTH)
    places = np.arange(max(before + count + after, 0)) + first
    if mode == "edge":
        _check_edge(require, axis, is_empty=places.size > 0 and count == 0)
        return np.clip(places, 0, count - 1)
    limit = count - 1 if mode == "reflect" else count
    _check_mirrored(require, axis, before, after, limit, Dimension(count))
    # Mirrored positions repeat with this period; the second half of each period is reversed.
    period = 2 * limit
    places = places % period if period else places * 0
    return np.minimum(places, period - places - (mode == "symmetric")) if period else places


def _mirrored(before: int, after: int, limit: int) -> bool:
    """Return True if `limit` elements are enough to mirror for both pads."""
    return max(before, after, 0) <= max(limit, 0)


def _check_edge(check: Check, axis: int, *, is_empty: bool) -> None:
    check("C5", not is_empty, f"dimension {axis} is empty: it has no edge to repeat", port="data")


def _check_mirrored(check: Check, axis: int, before: int, after: int, limit: int, extent: Dimension) -> None:
    """Check C1: `limit` elements of the dimension can be mirrored."""
    message = f"dimension {axis} has pads {before} and {after}, expected at most {limit} for its {extent} elements"
    port = "pads_begin" if before > limit else "pads_end"
    fits = _mirrored(min(before, after), max(before, after), limit)
    check("C1", fits, message, port=port, allowed=f"at most {limit}")


def _rule(
    check: Check,
    data: TensorType,
    pads_begin: TensorType,
    pads_end: TensorType,
    pad_value: TensorType | None = None,
    *,
    pad_mode: str,
) -> PartialShape:
    for name, pads in (("pads_begin", pads_begin), ("pads_end", pads_end)):
        has_length(check, "C2", pads, data.rank, name)
    if pad_value is not None:
        has_rank(check, "C3", pad_value, 0, "pad_value")
    strings = data.element_type.name == "string" and pad_mode != "constant"
    check("C4", not strings, f"pad_mode is {pad_mode!r}, expected 'constant' for strings", attribute="pad_mode")
    rank = data.rank if data.rank is not None else length_of(pads_begin)
    if data.rank is None or any(len(p.known or ()) != data.rank for p in (pads_begin, pads_end)):
        return PartialShape.dynamic(rank)
    begin, end = pads_begin.known or [], pads_end.known or []
    dims = []
    for axis, (before, extent, after) in enumerate(zip(begin, data.shape, end, strict=True)):
        fixed = [p for p in (before, after) if isinstance(p, int)]
        if len(fixed) == 2 and pad_mode in ("reflect", "symmetric") and extent.max is not None:
            _check_mirrored(check, axis, fixed[0], fixed[1], extent.max - (pad_mode == "reflect"), extent)
        _check_edge(check, axis, is_empty=pad_mode == "edge" and extent.max == 0 and any(p > 0 for p in fixed))
        if is_unknown(before) or is_unknown(after):
            dims.append(ANY_DIMENSION)  # A pad may be negative, which crops.
            continue
        grown = sum_of([extent, *(p for p in (before, after) if isinstance(p, Dimension))])
        dims.append(grown + sum(fixed))
    return PartialShape(dims)


@pad_1.shapes
def _(
    check: Check,
    data: TensorType,
    pads_begin: TensorType,
    pads_end: TensorType,
    pad_value: TensorType | None = None,
    *,
    pad_mode: str,
) -> PartialShape:
    _check_counts(check, pads_begin.ints, pads_end.ints)
    return _rule(check, data, pads_begin, pads_end, pad_value, pad_mode=pad_mode)


def _check_counts(check: Check, begin: list[int] | None, end: list[int] | None) -> None:
    for name, pads in (("pads_begin", begin), ("pads_end", end)):
        in_range(check, "C6", name, pads, 0, hint="Pad-12 crops")


@pad_1.oracle.draw("pads_begin", "pads_end")
@pad_12.oracle.draw("pads_begin", "pads_end")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    limit = min(types["data"].shape.to_shape(), default=1)
    return filled(types, port, rng.integers(0, min(max(limit, 1), 3), types[port].shape.to_shape()))


pad_12.shapes(_rule)
