"""What is done to sums before they are stored: the layers of single elements that follow the one that summed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from irexec.native.after import NUMBERS, After
from irexec.native.code import F32, I32, Code, Number, Run

Change = Callable[[Number, Any], Any]


def epilogue(code: Code, steps: Sequence[After], operands: Number, channel: Number, place: Number) -> Change:
    """`change(index, vector)` for a run of the result that begins at `place`, in this channel or from this column on.

    `operands` is the address of the steps' operands.
    """
    changes = [
        _of_operand(code, step, operands.numbers().number(number).floats(), channel, place)
        for number, step in enumerate(steps)
    ]

    def change(index: Number, vector: Any) -> Any:
        for each in changes:
            vector = each(index, vector)
        return vector

    return change


def _of_operand(code: Code, step: After, operand: Run, channel: Number, place: Number) -> Change:
    if step.takes == "numbers":
        return _of_numbers(code, step.kind, [operand.scalar(number) for number in range(NUMBERS)])
    write = {"add": code.builder.fadd, "multiply": code.builder.fmul}[step.kind]
    if step.takes == "channel":
        scalar = operand.scalar(channel)
        return lambda index, vector: write(vector, code.splat(scalar, vector.type.count))
    run = operand + (channel if step.takes == "column" else place)
    return lambda index, vector: write(vector, run.vector(index, vector.type.count))


def _of_numbers(code: Code, kind: str, numbers: Sequence[Any]) -> Change:
    b = code.builder

    def clamp(index: Number, x: Any) -> Any:
        return clamped(code, x, *numbers[:2])

    def sigmoid(index: Number, x: Any) -> Any:
        return logistic(code, x)

    def swish(index: Number, x: Any) -> Any:
        return _logistic(code, b.fmul(x, code.splat(numbers[0], x.type.count)), x)

    def gelu_erf(index: Number, x: Any) -> Any:
        """The numbers are two polynomials in x², whose quotient times -x is the logit of the normal distribution."""
        square = b.fmul(x, x)
        most = _constant(144.0, x.type.count)
        square = b.select(b.fcmp_ordered(">", square, most), most, square)
        quotient = b.fdiv(polynomial(numbers[:5], square), polynomial([*numbers[5:8], None], square))
        return _logistic(code, b.fneg(b.fmul(quotient, x)), x)

    def gelu_tanh(index: Number, x: Any) -> Any:
        """The numbers are a polynomial in x², which times x is the logit."""
        return _logistic(code, b.fmul(polynomial(numbers[:2], b.fmul(x, x)), x), x)

    def polynomial(coefficients: Sequence[Any], x: Any) -> Any:
        """The lowest coefficient comes first; None stands for 1."""
        one = ir.Constant(F32, 1.0)
        *rest, result = (code.splat(one if c is None else c, x.type.count) for c in coefficients)
        for coefficient in reversed(rest):
            result = code.call("fmuladd", result, x, coefficient)
        return result

    formulas: dict[str, Change] = {
        "clamp": clamp,
        "sigmoid": sigmoid,
        "swish": swish,
        "gelu_erf": gelu_erf,
        "gelu_tanh": gelu_tanh,
    }
    return formulas[kind]


def clamped(code: Code, x: Any, low: Any, high: Any) -> Any:
    """x, no lower and no higher than two scalars; nan, which is neither below nor above, stays."""
    b = code.builder
    low, high = (code.splat(number, x.type.count) for number in (low, high))
    x = b.select(b.fcmp_ordered("<", x, low), low, x)
    return b.select(b.fcmp_ordered(">", x, high), high, x)


def logistic(code: Code, x: Any) -> Any:
    """1 / (1 + e⁻ˣ)."""
    return _logistic(code, x, _constant(1.0, x.type.count))


# tanh x / x - 1 by x², for |x| < 0.625: a polynomial whose greatest relative error is the least.
_TANH = (-5.704963051017537e-3, 2.0639064279169245e-2, -5.373970740391508e-2, 0.13331442094827067, -0.3333328193750968)


def tanh(code: Code, x: Any) -> Any:
    """tanh x, right to 2 units in the last place."""
    b, count = code.builder, x.type.count
    square = b.fmul(x, x)
    series = _constant(_TANH[0], count)
    for coefficient in _TANH[1:]:
        series = code.call("fmuladd", series, square, _constant(coefficient, count))
    near = code.call("fmuladd", b.fmul(series, square), x, x)
    size = code.call("fabs", x)
    high, scale = exp_below_0(code, b.fmul(size, _constant(-2.0, count)))
    power, one = b.fmul(high, scale), _constant(1.0, count)
    far = code.call("copysign", b.fdiv(b.fsub(one, power), b.fadd(one, power)), x)
    return b.select(b.fcmp_ordered("<", size, _constant(0.625, count)), near, far)


def _logistic(code: Code, x: Any, factor: Any) -> Any:
    """`factor` / (1 + e⁻ˣ), by e to the power of a number below 0, which cannot overflow."""
    b, count = code.builder, x.type.count
    one = _constant(1.0, count)
    high, scale = exp_below_0(code, b.fneg(code.call("fabs", x)))
    power = b.fmul(high, scale)
    # For a negative x: factor · eˣ / (1 + eˣ). Where eˣ is tiny its product with the factor is not.
    product = b.fmul(b.fmul(high, factor), scale)
    above = b.select(b.fcmp_ordered("<", x, _constant(0.0, count)), product, factor)
    return b.fdiv(above, b.fadd(one, power))


# e^r for |r| <= ln 2 / 2 as 1 + r + r² (1/2 + r/6 + ...), the least of the greatest relative error.
_TAIL = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
# ln 2 in two parts, so that n times the first one is exact.
_LN2_HIGH, _LN2_LOW = 0.693359375, -2.12194440e-4
# Added to a number, this rounds it to a whole one, which is then in its lowest bits.
_ROUNDER, _ROUNDER_BITS = 12582912.0, 0x4B400000


def exp_below_0(code: Code, x: Any) -> tuple[Any, Any]:
    """eˣ for x <= 0 as two factors, the second a power of 2: right to 2 units in the last place.

    Their product may be smaller than any normal number.
    """
    b, count = code.builder, x.type.count
    whole_numbers = ir.VectorType(I32, count)
    # From here on downwards even the product with the number itself is 0.
    lowest = _constant(-126.0, count)
    is_zero = b.fcmp_ordered("<", x, lowest)
    x = b.select(is_zero, lowest, x)
    shifted = code.call("fmuladd", x, _constant(1.44269504088896341, count), _constant(_ROUNDER, count))
    n = b.fsub(shifted, _constant(_ROUNDER, count))
    r = code.call("fmuladd", n, _constant(-_LN2_HIGH, count), x)
    r = code.call("fmuladd", n, _constant(-_LN2_LOW, count), r)
    tail = _constant(_TAIL[0], count)
    for coefficient in _TAIL[1:]:
        tail = code.call("fmuladd", tail, r, _constant(coefficient, count))
    result = b.fadd(code.call("fmuladd", tail, b.fmul(r, r), r), _constant(1.0, count))
    # 2ⁿ is made of two factors too, which are normal numbers where it is none.
    power = b.sub(b.bitcast(shifted, whole_numbers), ir.Constant(whole_numbers, [_ROUNDER_BITS] * count))
    half = b.ashr(power, ir.Constant(whole_numbers, [1] * count))
    first, second = (
        b.bitcast(
            b.shl(
                b.add(part, ir.Constant(whole_numbers, [127] * count)),
                ir.Constant(whole_numbers, [23] * count),
            ),
            x.type,
        )
        for part in (half, b.sub(power, half))
    )
    return b.fmul(result, first), b.select(is_zero, _constant(0.0, count), second)


def _constant(value: float, count: int) -> Any:
    return ir.Constant(ir.VectorType(F32, count), [value] * count)
