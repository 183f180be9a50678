"""Conversion of arrays between any two element types, by OpenVINO's rules.

To integers: floats are truncated toward zero; values outside the type's range wrap (see elementwise.truncated). To
boolean: every value except 0 is true, including NaN. To floats: nearest, ties to even; overflow gives infinity if the
type has one (f8e4m3: NaN; f4e2m1: its greatest number). Conversions to f8e4m3 and f8e5m2 round twice, first to f16.
f8e8m0 has neither 0 nor negative numbers: smaller values become its lowest number. OpenVINO's core differs: it
truncates some bf16 values, and converts an i32 (not an i64) beyond the range of f16 to the greatest f16 instead of
infinity. Strings convert only to strings.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from irexec.core.types import BOOLEAN, F4E2M1, F8E4M3, F8E5M2, F8E8M0, F16, F32, I4, NF4, STRING, U1, Array, ElementType
from irexec.ops.compute.elementwise import MANY, truncated
from irexec.ops.compute.half import narrow_half, widen_half
from irexec.ops.compute.precision import is_float, is_narrow, widen

# The sixteen numbers of nf4: quantiles of the normal distribution, scaled to [-1, 1].
_NF4 = (
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
    -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
    0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0,
)  # fmt: skip


class OutOfRange(ValueError, RuntimeError):
    """Raised for a number that an element type does not hold. (OpenVINO raises RuntimeError.)"""


@cache
def nf4() -> tuple[Array, Array]:
    """Return the numbers of nf4, and the midpoints between them."""
    values = np.array(_NF4, np.float32)
    return values, (values[1:] + values[:-1]) / 2


def castable(source: ElementType, target: ElementType) -> bool:
    """Return whether there is a conversion between two types: strings convert only to strings."""
    return (source is STRING) == (target is STRING)


def cast(array: Array, source: ElementType, target: ElementType) -> Array:
    """Convert an array from element type `source` to `target`; return the array itself if both are the same."""
    if source is target:
        return array
    if source is NF4:
        array = nf4()[0][array]
    elif source.bitwidth in (2, 4) and source.is_integral_number:
        array = array.astype(np.int8)
    with np.errstate(all="ignore"):
        if target is BOOLEAN:
            return np.asarray((widen(array) if is_narrow(array.dtype) else array) != 0)
        return _to_float(array, target) if target.is_real else _to_integer(array, target)


def _to_float(array: Array, target: ElementType) -> Array:
    assert target.dtype is not None
    if array.size >= MANY:
        if target is F32 and array.dtype == np.float16:
            return widen_half(array)
        if target is F16 and array.dtype == np.float32:
            return narrow_half(array)
    if target in (NF4, F8E8M0, F4E2M1):
        return _TO_RARE[target](array.astype(np.float32))
    if target.bitwidth <= 16 and not is_float(array.dtype):
        array = array.astype(np.float32)
    return narrowed(array, target)


def narrowed(array: Array, target: ElementType) -> Array:
    """Return numbers rounded to the nearest of a float type; for f8e4m3 and f8e5m2 first to f16, as in OpenVINO."""
    with np.errstate(all="ignore"):
        if target in (F8E4M3, F8E5M2) and array.dtype != np.float16:
            array = array.astype(np.float32).astype(np.float16)
        return array.astype(target.dtype)


def elements(array: Array, kind: ElementType) -> Array:
    """Return numbers as the elements of a constant of this type. For nf4, floats are rounded and integers are codes;
    for u1, every number except 0 becomes 1.

    Raises OutOfRange for a number outside the range of a packed type.
    """
    if array.dtype == kind.dtype:
        return array
    if kind in (F8E8M0, F4E2M1) or (kind is NF4 and is_float(array.dtype)):
        return cast(array, ElementType.of(array.dtype), kind)
    if kind is U1:
        return cast(array != 0, BOOLEAN, U1)
    if kind.is_packed and array.size:
        low, high = (-8, 8) if kind is I4 else (0, 1 << kind.bitwidth)
        least, most = int(array.min()), int(array.max())
        if least < low or most >= high:
            raise OutOfRange(f"{least if least < low else most} is out of range for {kind}: {low} to {high - 1}")
    return narrowed(array, kind) if kind in (F8E4M3, F8E5M2) else array.astype(kind.dtype, copy=False)


def _to_nf4(x: Array) -> Array:
    codes = np.searchsorted(nf4()[1], x, side="left")
    return np.where(np.isnan(x), 0, codes).astype(np.uint8)


def _to_f4e2m1(x: Array) -> Array:
    return np.where(np.isnan(x), np.float32(6), x).astype(F4E2M1.dtype)


def to_f8e8m0(x: Array, round_mode: str = "even", *, saturate: bool = True) -> Array:
    """Round f32 numbers to powers of two: to the nearest, ties to the even exponent ("even") or up ("nearest"), "up" or
    "down". Negative numbers become the lowest number, as do smaller ones; without `saturate` numbers outside the range
    become NaN.
    """
    bits = np.ascontiguousarray(x).view(np.uint32)
    exponent, rest = ((bits >> 23) & 0xFF).astype(np.int32), bits & 0x7FFFFF
    # Denormal f32 numbers are less than 2**-126 (code 1); 2**-127 (code 0) is in the middle of their range.
    lower, half = np.where(exponent == 0, 0x400000, 0), np.where(exponent == 0, 0x600000, 0x400000)
    ups = {"up": rest > lower, "down": rest < 0, "nearest": rest >= half}
    code = exponent + ups.get(round_mode, (rest > half) | ((rest == half) & (exponent & 1 == 1)))
    outside = (code > 254) | ((exponent == 0) & (rest < lower))
    code = np.where(outside & (not saturate), 255, np.minimum(code, 254))
    code = np.where(np.isnan(x), 255, np.where(x < 0, 0, code))
    return code.astype(np.uint8).view(F8E8M0.dtype)


_TO_RARE = {NF4: _to_nf4, F4E2M1: _to_f4e2m1, F8E8M0: to_f8e8m0}


def _to_integer(array: Array, target: ElementType) -> Array:
    """Truncate floats; wrap integers modulo two to the power of the type's bits."""
    assert target.dtype is not None
    held = np.dtype(np.uint8) if target.is_packed else target.dtype
    whole = truncated(widen(array), held) if is_float(array.dtype) else array.astype(held)
    if not target.is_packed:
        return whole
    if target is I4:
        return (((whole & 15) ^ 8).astype(np.int8) - np.int8(8)).astype(target.dtype)
    return (whole & ((1 << target.bitwidth) - 1)).astype(target.dtype)


def wraps(dtype: np.dtype[Any], bound: float) -> bool:
    """Return whether numbers up to this magnitude exceed an integer type; False for floats."""
    return dtype.kind in "iu" and bound >= 2.0 ** (8 * dtype.itemsize - (dtype.kind == "i"))


def largest(array: Array) -> float:
    """Return the largest magnitude of the elements; 0 without elements."""
    return float(np.abs(array.astype(np.float64)).max(initial=0.0))


def is_out_of_range(data: Array, kind: ElementType) -> bool:
    """Return whether an integer type cannot represent a number of `data`, even without its fraction."""
    return bool(out_of_range(data, kind).any())


def out_of_range(data: Array, kind: ElementType) -> Array:
    """Return the numbers of `data` that an integer type cannot represent, even without their fractions, as a mask."""
    if not kind.is_integral_number:
        return np.zeros(data.shape, np.bool_)
    wide = data.astype(np.float64)
    top = 2.0 ** (kind.bitwidth - (kind.kind == "i"))
    low = -top if kind.kind == "i" else 0.0
    return np.asarray(~np.isfinite(wide) | (np.trunc(wide) >= top) | (np.trunc(wide) < low))
