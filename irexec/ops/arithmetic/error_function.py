"""The error function and related functions, vectorized: erf, erfc, erfinv and the logit of the normal distribution.

The coefficients were fitted for this file: least weighted maximum error (f32), Chebyshev series (f64).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np

from irexec.core.types import Array

# With L(x) = ln(Φ(x) / Φ(-x)), Φ the normal distribution: numerator and denominator of -L(x) / x in x². The
# errors of Φ and erf are at most 1.6e-7.
_LOGIT_ABOVE = (-17180.163165559257, -2395.0211127452176, -200.1114747710613, -6.222210553242162, -0.01727755443939564)
_LOGIT_BELOW = (10766.072413101188, 1010.5566004902812, 79.89922893893025, 1.0)

# erf(x) / x in x², for |x| <= 1.
_ERF_SMALL = (
    1.1283791670955126, -0.3761263890318375, 0.11283791670954882, -0.026866170645077334, 0.005223977624823223,
    -0.0008548326981129666, 0.00012055331122299266, -1.4925595519506043e-05, 1.6461004480962034e-06,
    -1.6350354461959655e-07, 1.4660051998394848e-08, -1.1373902296430911e-09, 5.958930743134941e-11,
)  # fmt: skip
# (1 + 2x) exp(x²) erfc(x) in (x - 4) / (x + 4), for x >= 0.
_ERFC_SCALED = (
    1.2329951186255526, -0.1396211168405625, 0.015379652102620026, 0.0680970542546904, -0.10103906603632413,
    0.09373283499843826, -0.06633036581166812, 0.03716751553592911, -0.016197734065728945, 0.005031969992669933,
    -0.0007577732210512849, -0.0001992567757633648, 0.00015062131406268513, -2.4398944545280832e-05,
    -1.1220772697788498e-05, 5.709206053072183e-06, 2.9094470866632674e-07, -8.249198427508354e-07,
    7.888177117406594e-08, 1.1009737295274889e-07, -2.1868462576141457e-08, -1.4709550868669278e-08,
    3.950879254166685e-09, 1.7903326159489847e-09, -5.377133821031794e-10, -1.374652989001164e-10,
    4.180821739675544e-11,
)  # fmt: skip

# erfinv(x) / x in 2s / 6.01 - 1, where s = sqrt(-ln(1 - x²)), which is below 6.01 for every x < 1 of f64.
_ERFINV = (
    2.837985415390697, 3.0103162816490374, 0.0842632662137798, -0.2043465187555831, 0.45654595765388717,
    -0.8615806180891579, 1.0831975776245804, -0.34288087381031457, -1.7383890561132644, 3.898647981843911,
    -3.6302056099794817, -2.429257970033131, 16.183686441590027, -18.869501276644893, -24.431919656281167,
    67.2621943299311, 10.839856967262426, -124.08819214603334, 24.21438695963573, 151.69420462034097,
    -53.7185790780674, -129.60247272039618, 53.3880696780064, 77.13080342898162, -30.66913520894917,
    -30.61701964529654, 9.861240252273692, 7.303837567773689, -1.3828858729043927, -0.7928613299811536,
)  # fmt: skip


@singledispatch
def polynomial(x: Any, coefficients: Sequence[float]) -> Any:
    """Return the polynomial with these coefficients, lowest first, by Horner's rule."""
    *rest, highest = coefficients
    result = x * highest
    for coefficient in rest[:0:-1]:
        result += coefficient
        result *= x
    result += rest[0]
    return result


def minus_normal_logit(x: Any) -> Any:
    """-L(x) = ln(Φ(-x) / Φ(x)) in f32: erf(x) = tanh(L(x√2) / 2), and Φ(x) = 1 / (1 + exp(-L(x)))."""
    # Beyond 12 the f32 result is constant; infinity / infinity would be NaN.
    square = np.fmin(x * x, 144)
    return polynomial(square, _LOGIT_ABOVE) / polynomial(square, _LOGIT_BELOW) * x


def erf_f32(x: Array, out: Array | None = None) -> Array:
    """Return the error function of f32."""
    result: Array = np.tanh(minus_normal_logit(x * math.sqrt(2)) * -0.5, out=out)
    return result


def erfc_f64(x: Array) -> Array:
    """Return the complementary error function of f64, accurate in the tail."""
    size = np.abs(x)
    bounded = np.minimum(size, 30.0)
    scaled = polynomial((bounded - 4.0) / (bounded + 4.0), _ERFC_SCALED)
    # exp(-x²) in two factors: the square of the upper half of x has no rounding error.
    upper = bounded.astype(np.float32).astype(np.float64)
    tail = scaled / (1.0 + 2.0 * bounded) * np.exp(-upper * upper) * np.exp((upper - bounded) * (upper + bounded))
    return np.where(np.isnan(x), x, np.where(x < 0, 2.0 - tail, tail))


def erf_f64(x: Array) -> Array:
    """Return the error function of f64."""
    inner = np.clip(x, -1.0, 1.0)
    return np.where(
        np.abs(x) <= 1, polynomial(inner * inner, _ERF_SMALL) * x, np.copysign(1.0 - erfc_f64(np.abs(x)), x)
    )


def erfinv_near(x: Array) -> Array:
    """Return the inverse of erf for f64 values in [-1, 1], with a relative error of 1e-8; NaN outside."""
    size = np.abs(x)
    s = np.sqrt(-np.log((1.0 - size) * (1.0 + size)))
    ratio = polynomial(s * (2 / 6.01) - 1.0, _ERFINV)
    return np.where(size < 1, ratio * x, np.where(size == 1, np.copysign(np.inf, x), np.nan))


def erfinv_f64(x: Array) -> Array:
    """Return the inverse of erf for f64 values in [-1, 1]; NaN outside. One Halley step refines erfinv_near."""
    size = np.abs(x)
    y = erfinv_near(size)
    error = np.where(size < 0.5, erf_f64(y) - size, 1.0 - size - erfc_f64(y))
    step = error * np.exp(y * y) * (np.sqrt(np.pi) / 2.0)
    return np.copysign(np.where(size < 1, y - step / (1.0 + y * step), y), x)
