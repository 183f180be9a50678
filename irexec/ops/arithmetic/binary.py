"""Elementwise arithmetic with two operands, broadcast to each other.

Integers wrap. Division by zero, which the pages do not define, gives 0 for integers and the IEEE result for floats.
Source: the operation pages of these names, and the page of broadcast rules.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from irexec.core.types import ANY_DIMENSION, Array, Dimension, DimLike
from irexec.ops.compute.casting import largest, wraps
from irexec.ops.compute.elementwise import aligned, arithmetic_pair, broadcast_pair, wide_pair
from irexec.ops.compute.named import made_later, ufunc
from irexec.ops.compute.precision import is_float
from irexec.ops.rules.axes import into
from irexec.ops.rules.shapes import Broadcasting, broadcast
from irexec.ops.spec.operator import Operator, Tolerance, exact, operator, rounded
from irexec.ops.spec.oracle import FINITE, LARGEST, LEAST, Allowed, Undefined
from irexec.ops.spec.tensors import NumericTensor
from irexec.ops.spec.traits import (
    Bilinear,
    Commutative,
    CommutativeInPatterns,
    ComputesSizes,
    DeclaredTrait,
    Difference,
    Division,
    Exponentiation,
    HomogeneousTogether,
    MayOverflow,
    Product,
    Quotient,
    Steps,
    Sum,
    Unpacking,
)

# Used by inference, where the operands may be intervals of extents.
_LARGER = made_later(Dimension.larger, 2)
_SMALLER = made_later(Dimension.smaller, 2)


def _known_power(a: DimLike, b: DimLike) -> DimLike:
    """Return aᵇ modulo 2^64 (the exact power may be arbitrarily long); an unknown dimension unless both are known."""
    return pow(a, b, 1 << 64) if isinstance(a, int) and isinstance(b, int) and b >= 0 else ANY_DIMENSION


_POWER = made_later(_known_power, 2)


def _known_rest(a: DimLike, b: DimLike) -> DimLike:
    """Return the remainder of a / b for known a >= 0 and b > 0, otherwise an unknown dimension."""
    return a % b if isinstance(a, int) and isinstance(b, int) and a >= 0 and b > 0 else ANY_DIMENSION


_REST = made_later(_known_rest, 2)


def _arithmetic(
    type: str,
    function: Any,
    doc: str,
    pair: Callable[..., Array] = arithmetic_pair,
    tolerance: Tolerance = exact,
    *,
    traits: tuple[DeclaredTrait, ...] = (),
) -> Operator:
    """Return an operator that applies `function` to pairs of elements; `pair` determines the precision."""

    def kernel(a: NumericTensor, b: NumericTensor, /, *, how: Broadcasting, out: Array | None = None) -> NumericTensor:
        return pair(function, a, b, how, out)

    declare = operator(
        type,
        "opset1",
        *traits,
        ComputesSizes,
        shapes=broadcast,
        inplace=("a", "b"),
        tolerance=tolerance,
        doc=doc,
    )
    return declare(kernel)


def _larger(a: Array, b: Array, out: Array | None = None) -> Array:
    return np.asarray((_LARGER if object in (a.dtype, b.dtype) else np.maximum)(a, b, out=out))


def _smaller(a: Array, b: Array, out: Array | None = None) -> Array:
    return np.asarray((_SMALLER if object in (a.dtype, b.dtype) else np.minimum)(a, b, out=out))


def _rest(a: Array, b: Array, out: Array | None = None) -> Array:
    return np.asarray((_REST if object in (a.dtype, b.dtype) else np.fmod)(a, b, out=out))


def _squared_difference(a: Array, b: Array, out: Array | None = None) -> Array:
    difference = np.asarray(np.subtract(a, b, out=out))
    return np.asarray(np.multiply(difference, difference, out=difference))


_NAN = "NaN if a or b is NaN (the page does not define it; in OpenVINO the result depends on their order)."

add_1 = _arithmetic(
    "Add",
    ufunc("add"),
    "a + b.",
    traits=(
        Sum,
        CommutativeInPatterns,
        MayOverflow,
        HomogeneousTogether,
    ),
)
subtract_1 = _arithmetic(
    "Subtract",
    ufunc("subtract"),
    "a - b.",
    traits=(
        Difference,
        MayOverflow,
        Unpacking,
        HomogeneousTogether,
    ),
)
multiply_1 = _arithmetic(
    "Multiply",
    ufunc("multiply"),
    "a · b.",
    traits=(
        Product,
        CommutativeInPatterns,
        MayOverflow,
        Unpacking,
        Bilinear,
    ),
)
maximum_1 = _arithmetic(
    "Maximum",
    _larger,
    f"The greater of a and b; {_NAN}",
    traits=(
        CommutativeInPatterns,
        HomogeneousTogether,
    ),
)
minimum_1 = _arithmetic(
    "Minimum",
    _smaller,
    f"The smaller of a and b; {_NAN}",
    traits=(
        CommutativeInPatterns,
        HomogeneousTogether,
    ),
)
maximum_1.oracle.allowed, minimum_1.oracle.allowed = LARGEST, LEAST
mod_1 = _arithmetic(
    "Mod",
    _rest,
    "The remainder of the truncated division of a by b; it has the sign of a.",
    wide_pair,
    rounded(2),
    traits=(Division, Steps),
)
floor_mod_1 = _arithmetic(
    "FloorMod",
    ufunc("remainder"),
    "The remainder of the floored division of a by b; it has the sign of b.",
    wide_pair,
    rounded(2),
    traits=(Division, Steps),
)
squared_difference_1 = _arithmetic(
    "SquaredDifference", _squared_difference, "(a - b)².", wide_pair, rounded(1), traits=(Commutative, MayOverflow)
)


@operator("Divide", "opset1", ComputesSizes, Quotient, Division, shapes=broadcast, inplace=("a", "b"))
def divide_1(
    a: NumericTensor, b: NumericTensor, /, *, m_pythondiv: bool = True, how: Broadcasting, out: Array | None = None
) -> NumericTensor:
    """a / b; integer quotients are rounded down, or toward zero if `m_pythondiv` is false."""
    if is_float(a.dtype):
        return arithmetic_pair(np.divide, a, b, how, out)
    if m_pythondiv or a.dtype.kind == "u":
        return broadcast_pair(np.floor_divide, a, b, how, out)
    rest = broadcast_pair(np.fmod, a, b, how)
    b = aligned(a, b, how)
    with np.errstate(all="ignore"):
        return np.asarray(np.floor_divide(np.subtract(a, rest), b, out=out))


@operator("Power", "opset1", ComputesSizes, Exponentiation, MayOverflow, shapes=broadcast, tolerance=rounded(4))
def power_1(a: NumericTensor, b: NumericTensor, /, *, how: Broadcasting, out: Array | None = None) -> NumericTensor:
    """a to the power of b. Integers wrap; for a negative exponent the result is truncated (0 unless a is 1 or -1)."""
    if is_float(a.dtype):
        return wide_pair(_real_power, a, b, how, out)
    return broadcast_pair(_integer_power, a, b, how, out)


def _real_power(a: Array, b: Array, out: Array | None = None) -> Array:
    """Return np.power; a single exponent of 1, 2 or 3 is computed by multiplication, which is about 50 times faster."""
    exponent = b.reshape(-1)[0] if b.size == 1 and b.ndim <= a.ndim else np.nan
    if exponent == 1:
        return np.asarray(np.positive(a, out=out))
    if exponent == 2:
        return np.asarray(np.square(a, out=out))
    if exponent == 3:
        return np.asarray(np.multiply(np.square(a), a, out=out))
    return np.asarray(np.power(a, b, out=out))


def _integer_power(a: Array, b: Array, out: Array | None = None) -> Array:
    if object in (a.dtype, b.dtype):
        return np.asarray(_POWER(a, b))
    if a.dtype.kind == "u" or not np.any(b < 0):
        return np.asarray(np.power(a, b, out=out))
    odd = (b & 1).astype(bool)
    below = np.where(a == 1, 1, np.where(a == -1, np.where(odd, -1, 1), 0)).astype(a.dtype)
    result = np.where(b < 0, below, np.power(a, np.maximum(b, 0)))
    return into(result, out)


power_1.oracle.allowed = FINITE
divide_1.oracle.allowed = Allowed(reciprocal=True)
mod_1.oracle.allowed = floor_mod_1.oracle.allowed = Allowed(special=False, reciprocal=True)


@divide_1.oracle.undefined_for
def _by_zero(a: Array, b: Array) -> Undefined:
    """Return "no result" for integers divided by zero."""
    return "no result" if not is_float(b.dtype) and (b == 0).any() else False


@mod_1.oracle.undefined_for
@floor_mod_1.oracle.undefined_for
def _(a: Array, b: Array) -> Undefined:
    """Return "no result" for integers divided by zero; for floats, whether any quotient is infinite, NaN, very large,
    or so close to an integer that the remainder depends on rounding.
    """
    if not is_float(a.dtype):
        return _by_zero(a, b)
    with np.errstate(all="ignore"):
        quotient = np.abs(a.astype(np.float64) / b.astype(np.float64))
    near = np.abs(quotient - np.rint(quotient)) <= 4 * np.finfo(np.float32).eps * np.maximum(quotient, 1.0)
    return bool((~np.isfinite(quotient) | near | (quotient > _PERIODS)).any())


@power_1.oracle.undefined_for
def _(a: Array, b: Array) -> Undefined:
    """Return "no result" for integers with a negative exponent, True if a power may exceed the integer type."""
    if is_float(b.dtype):
        return False
    bits = math.log2(max(largest(a), 1.0)) * largest(b)
    return "no result" if (b < 0).any() else wraps(a.dtype, 2.0 ** min(bits, 1000.0))


_PERIODS = 1 << 16
"""The largest quotient of floats whose remainder counts as defined."""
