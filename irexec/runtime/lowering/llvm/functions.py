"""Functions of vectors of f32 as LLVM instructions: the exponential function and functions based on it.

Each is accurate to a few units in the last place, propagates NaN, and does not overflow in intermediate results.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from irexec.runtime.lowering.llvm.code import I32, Code


def clamped(code: Code, x: Any, low: Any, high: Any) -> Any:
    """x limited to the range between two vectors; NaN, which is neither below nor above a number, is kept."""
    b = code.builder
    x = b.select(b.fcmp_ordered("<", x, low), low, x)
    return b.select(b.fcmp_ordered(">", x, high), high, x)


def logistic(code: Code, x: Any) -> Any:
    """1 / (1 + e⁻ˣ)."""
    return logistic_times(code, x, code.constant(1.0))


def logistic_times(code: Code, x: Any, factor: Any) -> Any:
    """`factor` / (1 + e⁻ˣ), computed with e to the power of a number below 0, which cannot overflow."""
    b, one = code.builder, code.constant(1.0)
    high, scale = exp_below_0(code, b.fneg(code.call("fabs", x)))
    power = b.fmul(high, scale)
    # For a negative x: factor · eˣ / (1 + eˣ). Where eˣ is tiny its product with the factor is not.
    product = b.fmul(b.fmul(high, factor), scale)
    above = b.select(b.fcmp_ordered("<", x, code.zeros()), product, factor)
    return b.fdiv(above, b.fadd(one, power))


# tanh x / x - 1 as a polynomial in x² for |x| < 0.625, with the least maximum relative error.
_TANH = (-5.704963051017537e-3, 2.0639064279169245e-2, -5.373970740391508e-2, 0.13331442094827067, -0.3333328193750968)


def tanh(code: Code, x: Any) -> Any:
    """tanh x: a polynomial near 0, and a function of e to the power of -2|x| elsewhere."""
    b, one = code.builder, code.constant(1.0)
    square = b.fmul(x, x)
    near = code.call("fmuladd", b.fmul(polynomial(code, map(code.constant, _TANH), square), square), x, x)
    size = code.call("fabs", x)
    high, scale = exp_below_0(code, b.fmul(size, code.constant(-2.0)))
    power = b.fmul(high, scale)
    far = code.call("copysign", b.fdiv(b.fsub(one, power), b.fadd(one, power)), x)
    return b.select(b.fcmp_ordered("<", size, code.constant(0.625)), near, far)


def mish(code: Code, x: Any) -> Any:
    """x tanh(ln(1 + eˣ)) as x n / (n + m), in terms of p, the power of e to -|x|.

    For a negative x, n is p (p + 2) and m is 2; otherwise they are 1 + 2p and 2p².
    """
    b, one, two = code.builder, code.constant(1.0), code.constant(2.0)
    high, scale = exp_below_0(code, b.fneg(code.call("fabs", x)))
    power = b.fmul(high, scale)
    is_below = b.fcmp_ordered("<", x, code.zeros())
    beyond = b.fadd(power, two)
    n = b.select(is_below, b.fmul(power, beyond), code.call("fmuladd", power, two, one))
    m = b.select(is_below, two, b.fmul(b.fmul(power, power), two))
    # Where eˣ is tiny its product with x is not.
    above = b.select(is_below, b.fmul(b.fmul(b.fmul(x, high), scale), beyond), b.fmul(x, n))
    return b.fdiv(above, b.fadd(n, m))


def polynomial(code: Code, coefficients: Any, x: Any) -> Any:
    """Evaluate a polynomial by Horner's scheme; the highest coefficient comes first."""
    result, *rest = coefficients
    for coefficient in rest:
        result = code.call("fmuladd", result, x, coefficient)
    return result


# e^r for |r| <= ln 2 / 2 as 1 + r + r² (1/2 + r/6 + ...), with the least maximum relative error.
_TAIL = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
# ln 2 in two parts, so that n times the first part is exact.
_LN2_HIGH, _LN2_LOW = 0.693359375, -2.12194440e-4
# Adding this to a number rounds it to an integer, which is then in the lowest bits of the sum.
_ROUNDER, _ROUNDER_BITS = 12582912.0, 0x4B400000


def exp_below_0(code: Code, x: Any) -> tuple[Any, Any]:
    """eˣ for x <= 0 as two factors, the second a power of 2; accurate to 2 units in the last place.

    Their product may be smaller than any normal number.
    """
    b = code.builder
    whole_numbers = ir.VectorType(I32, code.lanes)

    def whole(number: int) -> Any:
        return ir.Constant(whole_numbers, [number] * code.lanes)

    # Below this, even the product with x is 0.
    lowest = code.constant(-126.0)
    is_zero = b.fcmp_ordered("<", x, lowest)
    x = b.select(is_zero, lowest, x)
    shifted = code.call("fmuladd", x, code.constant(1.44269504088896341), code.constant(_ROUNDER))
    n = b.fsub(shifted, code.constant(_ROUNDER))
    r = code.call("fmuladd", n, code.constant(-_LN2_HIGH), x)
    r = code.call("fmuladd", n, code.constant(-_LN2_LOW), r)
    tail = polynomial(code, map(code.constant, _TAIL), r)
    result = b.fadd(code.call("fmuladd", tail, b.fmul(r, r), r), code.constant(1.0))
    # 2ⁿ is computed as two factors, which are normal numbers even where 2ⁿ is not.
    power = b.sub(b.bitcast(shifted, whole_numbers), whole(_ROUNDER_BITS))
    half = b.ashr(power, whole(1))
    first, second = (
        b.bitcast(b.shl(b.add(part, whole(127)), whole(23)), x.type) for part in (half, b.sub(power, half))
    )
    return b.fmul(result, first), b.select(is_zero, code.zeros(), second)
