"""The formulas of the activation functions, each a few NumPy steps over one block.

`formula(x, out, scratch)`: `out` may be `x`, so the step that writes `out` is the last that reads `x`; `scratch` has
three rows of x's length. Results are accurate to a few units in the last place.
"""

from __future__ import annotations

import math

import numpy as np

from irexec.core.types import Array
from irexec.ops.arithmetic.error_function import erfc_f64, minus_normal_logit_f32


def sigmoid(x: Array, out: Array, scratch: Array) -> None:
    """1 / (1 + e⁻ˣ)."""
    np.negative(x, out)
    np.exp(out, out)
    np.add(out, 1, out)
    np.divide(1, out, out)


def _over_one_plus_exp(x: Array, y: Array, out: Array, power: Array) -> None:
    """x / (1 + eʸ); `power` is scratch. Where eʸ overflows, the result is x e⁻ʸ, which may be nonzero."""
    np.exp(y, power)
    if np.fmax.reduce(power, initial=0) == np.inf:
        beyond = np.isposinf(power) & np.isfinite(x)
        small = x[beyond] * np.exp(-y[beyond])
        np.add(power, 1, power)
        np.divide(x, power, out)
        out[beyond] = small
        return
    np.add(power, 1, power)
    np.divide(x, power, out)


def swish(x: Array, out: Array, scratch: Array, *, beta: float) -> None:
    """x / (1 + e^(-beta x))."""
    y = scratch[0]
    np.multiply(x, x.dtype.type(-beta), y)
    _over_one_plus_exp(x, y, out, scratch[1])


def gelu_erf(x: Array, out: Array, scratch: Array) -> None:
    """x Φ(x), as x / (1 + e^-L(x)) with L the logit of Φ: accurate even where Φ is tiny."""
    if x.dtype == np.float64:
        np.multiply(x, 0.5 * erfc_f64(x * -np.sqrt(0.5)), out)
        return
    y = scratch[2]
    minus_normal_logit_f32(x, y, scratch)
    _over_one_plus_exp(x, y, out, scratch[0])


# The coefficients of 2u / x as a polynomial in x², with the u of gelu_tanh.
GELU_TANH = (2 * math.sqrt(2 / math.pi), 2 * math.sqrt(2 / math.pi) * 0.044715)


def gelu_tanh(x: Array, out: Array, scratch: Array) -> None:
    """x (1 + tanh(u)) / 2 = x / (1 + e^-2u) with u = √(2/π) (x + 0.044715 x³)."""
    y = scratch[0]
    np.multiply(x, x, y)
    np.multiply(y, x.dtype.type(-GELU_TANH[1]), y)
    np.add(y, x.dtype.type(-GELU_TANH[0]), y)
    np.multiply(y, x, y)
    _over_one_plus_exp(x, y, out, scratch[1])


def hsigmoid(x: Array, out: Array, scratch: Array) -> None:
    """min(max(x + 3, 0), 6) / 6."""
    np.add(x, 3, out)
    np.clip(out, 0, 6, out)
    np.divide(out, 6, out)


def hswish(x: Array, out: Array, scratch: Array) -> None:
    """x min(max(x + 3, 0), 6) / 6, with the division first, because x times 6 may overflow."""
    y = scratch[0]
    np.add(x, 3, y)
    np.clip(y, 0, 6, y)
    np.divide(y, 6, y)
    np.multiply(x, y, out)


def mish(x: Array, out: Array, scratch: Array) -> None:
    """x tanh(ln(1 + eˣ)) = x t / (t + 2) with t = eˣ (eˣ + 2)."""
    t, u = scratch[0], scratch[1]
    # For x of 40 or more, t / (t + 2) is 1 in every type; t could overflow.
    np.minimum(x, x.dtype.type(40), out=t)
    np.exp(t, t)
    np.add(t, 2, u)
    np.multiply(t, u, t)
    np.add(t, 2, u)
    np.divide(t, u, t)
    np.multiply(x, t, out)


def softplus(x: Array, out: Array, scratch: Array, *, threshold: float) -> None:
    """ln(eˣ + 1) below the threshold, x above it."""
    y, above = scratch[0], scratch[1]
    np.minimum(x, x.dtype.type(threshold), out=y)
    np.exp(y, y)
    np.log1p(y, y)
    np.subtract(x, x.dtype.type(threshold), above)
    np.maximum(above, 0, out=above)
    np.add(y, above, out)


def softsign(x: Array, out: Array, scratch: Array) -> None:
    """x / (1 + |x|)."""
    y = scratch[0]
    np.absolute(x, y)
    np.add(y, 1, y)
    np.divide(x, y, out)


def elu(x: Array, out: Array, scratch: Array, *, alpha: float) -> None:
    """x above zero, alpha (eˣ - 1) below, without cancellation near zero."""
    y = scratch[0]
    np.minimum(x, 0, out=y)
    np.expm1(y, y)
    np.multiply(y, x.dtype.type(alpha), y)
    np.maximum(x, 0, out=out)
    np.add(out, y, out)
