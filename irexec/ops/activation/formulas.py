"""The formulas of the activation functions, in NumPy's functions and operators.

`formula(x, ..., out=None)`: the last step writes `out`, which may be `x`. Results are accurate to a few units in the
last place. A back end gives its own values to the same formulas, if they implement NumPy's functions
(`__array_ufunc__`), and registers its own forms of the functions with `singledispatch`.
"""

from __future__ import annotations

import math
from functools import singledispatch
from typing import Any, TypeAlias

import numpy as np

from irexec.ops.arithmetic.error_function import erfc_f64, minus_normal_logit, polynomial

# A block of an array, or a value of a back end.
Operand: TypeAlias = Any


@singledispatch
def sigmoid(x: Operand, out: Operand | None = None) -> Operand:
    """1 / (1 + e⁻ˣ)."""
    return np.divide(1, 1 + np.exp(-x), out=out)


@singledispatch
def over_one_plus_exp(x: Operand, y: Operand, out: Operand | None = None) -> Operand:
    """x / (1 + eʸ). Where eʸ overflows, the result is x e⁻ʸ, which may be nonzero."""
    power = np.exp(y)
    beyond = np.isposinf(power) & np.isfinite(x) if np.fmax.reduce(power, initial=0) == np.inf else None
    small = None if beyond is None else x[beyond] * np.exp(-y[beyond])
    power += 1
    result = np.divide(x, power, out=out)
    if beyond is not None:
        result[beyond] = small
    return result


def swish(x: Operand, beta: float, out: Operand | None = None) -> Operand:
    """x / (1 + e^(-beta x))."""
    return over_one_plus_exp(x, x * -beta, out)


def gelu_erf(x: Operand, out: Operand | None = None) -> Operand:
    """x Φ(x), as x / (1 + e^-L(x)) with L the logit of Φ: accurate even where Φ is tiny."""
    if x.dtype == np.float64:
        return np.multiply(x, 0.5 * erfc_f64(x * -np.sqrt(0.5)), out=out)
    return over_one_plus_exp(x, minus_normal_logit(x), out)


# The coefficients of -2u / x as a polynomial in x², with the u of gelu_tanh.
_GELU_TANH = (-2 * math.sqrt(2 / math.pi), -2 * math.sqrt(2 / math.pi) * 0.044715)


def gelu_tanh(x: Operand, out: Operand | None = None) -> Operand:
    """x (1 + tanh(u)) / 2 = x / (1 + e^-2u) with u = √(2/π) (x + 0.044715 x³)."""
    return over_one_plus_exp(x, polynomial(x * x, _GELU_TANH) * x, out)


def hsigmoid(x: Operand, out: Operand | None = None) -> Operand:
    """min(max(x + 3, 0), 6) / 6."""
    return np.divide(np.clip(x + 3, 0, 6), 6, out=out)


def hswish(x: Operand, out: Operand | None = None) -> Operand:
    """x min(max(x + 3, 0), 6) / 6, with the division first, because x times 6 may overflow."""
    return np.multiply(x, hsigmoid(x), out=out)


@singledispatch
def mish(x: Operand, out: Operand | None = None) -> Operand:
    """x tanh(ln(1 + eˣ)) = x t / (t + 2) with t = eˣ (eˣ + 2)."""
    # For x of 40 or more, t / (t + 2) is 1 in every type; t could overflow.
    power = np.exp(np.minimum(x, 40))
    power *= power + 2
    return np.multiply(x, power / (power + 2), out=out)


def softplus(x: Operand, threshold: float, out: Operand | None = None) -> Operand:
    """ln(eˣ + 1) below the threshold, x above it."""
    below = np.log1p(np.exp(np.minimum(x, threshold)))
    return np.add(below, np.maximum(x - threshold, 0), out=out)


def softsign(x: Operand, out: Operand | None = None) -> Operand:
    """x / (1 + |x|)."""
    return np.divide(x, np.absolute(x) + 1, out=out)


def elu(x: Operand, alpha: float, out: Operand | None = None) -> Operand:
    """x above zero, alpha (eˣ - 1) below, without cancellation near zero."""
    below = np.expm1(np.minimum(x, 0))
    below *= alpha
    return np.add(np.maximum(x, 0, out=out), below, out=out)


def hard_sigmoid(x: Operand, alpha: float, beta: float, out: Operand | None = None) -> Operand:
    """max(0, min(1, alpha x + beta))."""
    line = np.multiply(x, alpha, out=out)
    line += beta
    return np.clip(line, 0, 1, out=out)


def prelu(x: Operand, slope: Operand) -> Operand:
    """x, or its product with the slope where x is negative."""
    return np.where(x < 0, x * slope, x)


def selu(x: Operand, alpha: float, factor: float, out: Operand | None = None) -> Operand:
    """factor times elu."""
    return np.multiply(elu(x, alpha, out), factor, out=out)
