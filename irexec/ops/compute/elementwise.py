"""Functions that elementwise kernels share: blocks that stay in cache, broadcasting, and a single final rounding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from irexec.core.threads.parallel import parallel_for
from irexec.core.types import Array
from irexec.ops.compute.half import narrow_half, widen_half
from irexec.ops.compute.precision import compute_dtype, is_float, narrow, widen
from irexec.ops.rules.shapes import Broadcasting

BLOCK = 1 << 15
"""Elements per block: 128 KiB of f32, so that a block and intermediate results stay in the second-level cache."""

FEW = 8
"""The number of blocks from which waking other threads saves time: a block takes 20 to 90 µs, and a request costs about
20 µs if the machine is busy and no thread responds."""

MANY = 1 << 10
"""The number of elements from which half.py is faster than NumPy's own conversion."""

Ufunc = Callable[..., Any]
"""A function of arrays, such as NumPy's: `out=` is an array for the result. It may be an operand, so that only the last
step that reads the operands may write it."""


def result_like(x: Array, out: Array | None) -> Array:
    """Return `out`, or a new array of x's shape and type."""
    return np.empty(x.shape, x.dtype) if out is None else out


def blockwise(formula: Ufunc, x: Array, out: Array | None = None) -> Array:
    """Apply a function of one operand to x block by block, in x's compute dtype."""
    result = result_like(x, out)
    if not result.flags.c_contiguous:
        np.copyto(result, blockwise(formula, x))
        return result
    dtype = compute_dtype(x.dtype)
    source, target = x.reshape(-1), result.reshape(-1)

    def compute(index: int) -> None:
        part, place = source[index * BLOCK :][:BLOCK], target[index * BLOCK :][:BLOCK]
        if dtype == x.dtype:
            formula(part, out=place)
        else:
            place[...] = _narrowed(formula(_widened(part)), x.dtype)

    for_blocks(-(-source.size // BLOCK), compute)
    return result


def for_blocks(count: int, compute: Callable[[int], None]) -> None:
    """Call compute(0) … compute(count - 1), one call per block; on all threads if there are at least FEW blocks."""
    if count >= FEW:
        parallel_for(count, compute)
        return
    with np.errstate(all="ignore"):
        for index in range(count):
            compute(index)


def elementwise(function: Ufunc, x: Array, out: Array | None = None) -> Array:
    """Apply a NumPy function of one operand to x: to narrow floats in f32, to all other types in their own type."""
    if compute_dtype(x.dtype) != x.dtype:
        return blockwise(function, x, out)
    with np.errstate(all="ignore"):
        return np.asarray(function(x, out=out))


def truncated(x: Array, dtype: np.dtype[Any]) -> Array:
    """Truncate floats to an integer dtype as a C cast does on x86, with the same results on every machine.

    The C standard leaves values outside the dtype's range undefined. They are converted through the signed 32-bit type
    (for 64-bit dtypes: 64-bit) and wrap; a value outside of that type's range first becomes its lowest number.
    """
    bounds = np.iinfo(dtype)
    if x.size == 0 or (x.min() >= bounds.min and x.max() < float(bounds.max) + (bounds.max < 2**53)):
        return x.astype(dtype)
    half = 2.0**63 if dtype.itemsize == 8 else 2.0**31
    with np.errstate(all="ignore"):
        whole = np.trunc(x.astype(np.float64))
        upper = np.zeros(whole.shape, np.int64)
        if dtype.kind == "u" and dtype.itemsize >= 4:
            # For the upper half of an unsigned type, the first number of that half is subtracted before the conversion
            # and added afterwards.
            lowest_above = np.int64(-(2**63)) if dtype.itemsize == 8 else np.int64(2**31)
            upper = np.where((whole >= half) & (whole < 2 * half), lowest_above, upper)
            whole = np.where(whole >= 2 * half, 0.0, np.where(whole >= half, whole - half, whole))
        fits = (whole >= -half) & (whole < half)
        held = np.where(fits, whole, -half).astype(np.int64)
        return np.asarray(held + upper).astype(dtype)


def half_away(x: Array, out: Array | None = None) -> Array:
    """Round each float to the nearest integer, halves away from zero."""
    whole = np.trunc(x)
    return np.asarray(np.add(whole, np.copysign(np.abs(x - whole) >= 0.5, x), out=out))


def in_doubles(function: Callable[[Array], Array], x: Array, out: Array | None = None) -> Array:
    """Apply a function to each element in f64 and cast the result to x's type, block by block."""
    result = result_like(x, out)
    if not result.flags.c_contiguous:
        np.copyto(result, in_doubles(function, x))
        return result
    source, target = x.reshape(-1), result.reshape(-1)

    def compute(index: int) -> None:
        part = slice(index * BLOCK, (index + 1) * BLOCK)
        target[part] = function(source[part].astype(np.float64))

    for_blocks(-(-source.size // BLOCK), compute)
    return result


def through_floats(function: Ufunc, x: Array, out: Array | None = None) -> Array:
    """Apply a real function to integers: computed in f64, rounded half away from zero to x's type."""
    return in_doubles(lambda part: truncated(half_away(np.asarray(function(part))), x.dtype), x, out)


def aligned(a: Array, b: Array, how: Broadcasting) -> Array:
    """Return `b` in the shape that NumPy broadcasts against `a` as required by `how`.

    The shape rule has checked that the shapes fit.
    """
    if how.auto_broadcast != "pdpd" or a.shape == b.shape:
        return b
    start = a.ndim - b.ndim if how.auto_broadcast_axis == -1 else how.auto_broadcast_axis
    shape = b.shape
    while shape and shape[-1] == 1 and start + len(shape) > a.ndim:
        shape = shape[:-1]
    return b.reshape((*shape, *[1] * (a.ndim - start - len(shape))))


def broadcast_pair(
    function: Ufunc, a: Array, b: Array, how: Broadcasting, out: Array | None = None, **options: Any
) -> Array:
    """Apply a NumPy function to two operands, broadcast as required by `how` and computed in their element type."""
    with np.errstate(all="ignore"):
        return np.asarray(function(a, aligned(a, b, how), out=out, **options))


def wide_pair(function: Ufunc, a: Array, b: Array, how: Broadcasting, out: Array | None = None) -> Array:
    """Apply a function like broadcast_pair, but compute narrow floats in f32 and round them once."""
    if not is_float(a.dtype) or compute_dtype(a.dtype) == a.dtype:
        return broadcast_pair(function, a, b, how, out)
    with np.errstate(all="ignore"):
        result = broadcast_pair(function, _widened(a), _widened(b), how)
        return narrow(_narrowed(result, a.dtype), a.dtype, out)


def arithmetic_pair(function: Ufunc, a: Array, b: Array, how: Broadcasting, out: Array | None = None) -> Array:
    """Apply a function whose result NumPy rounds only once: large f16 arrays are computed in f32, only for speed."""
    if a.dtype == np.float16 and max(a.size, b.size) >= MANY:
        return wide_pair(function, a, b, how, out)
    return broadcast_pair(function, a, b, how, out)


def _widened(x: Array) -> Array:
    return widen_half(x) if x.dtype == np.float16 and x.size >= MANY else widen(x)


def _narrowed(x: Array, dtype: np.dtype[Any]) -> Array:
    return narrow_half(x) if dtype == np.float16 and x.size >= MANY else x.astype(dtype)
