"""Extreme finite inputs: if the true result is a number of the type, no intermediate value overflows or vanishes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.cases import the

WIDE = np.longdouble
POWERS = np.array([0.0, *np.logspace(-44, 38, 165), 3.4e38, *np.linspace(0.01, 110, 400)])


def inputs(dtype: Any) -> np.ndarray:
    """Return numbers of both signs, from the smallest to the largest of the type, dense where functions bend."""
    limits = ml_dtypes.finfo(dtype)
    values = np.concatenate([POWERS, [float(limits.max), float(limits.tiny), float(limits.eps)]])
    with np.errstate(over="ignore"):
        values = np.concatenate([values, -values]).astype(dtype)
    return values[np.isfinite(values.astype(np.float64))]


def normal_cumulative(x: np.ndarray) -> np.ndarray:
    """Return Φ by its continued fraction for large arguments, by its series near 0."""
    a = np.abs(x)
    series, term = a.copy(), a.copy()
    for n in range(1, 120):
        term = term * np.minimum(a, 6) ** 2 / (2 * n + 1)
        series = series + term
    density = np.exp(-a * a / 2) / np.sqrt(2 * WIDE(np.pi))
    fraction = a + 0
    for n in range(200, 0, -1):
        fraction = a + n / np.where(fraction == 0, 1, fraction)
    tail = np.where(a < 3, 0.5 - density * series, density / np.maximum(fraction, 1))
    return np.where(x > 0, 1 - tail, tail)


def mish(x: np.ndarray) -> np.ndarray:
    return x * np.tanh(np.log1p(np.exp(x)))


def gelu_tanh(x: np.ndarray) -> np.ndarray:
    u = np.sqrt(2 / WIDE(np.pi)) * (x + WIDE("0.044715") * x**3)
    return x / (1 + np.exp(-2 * u))


REFERENCES: dict[tuple[str, int], Callable[[np.ndarray], np.ndarray]] = {
    ("HSigmoid", 5): lambda x: np.clip(x + 3, 0, 6) / 6,
    ("HSwish", 4): lambda x: x * (np.clip(x + 3, 0, 6) / 6),
    ("Mish", 4): mish,
    ("SoftPlus", 4): lambda x: np.where(x > 50, x, np.log1p(np.exp(np.minimum(x, 60)))),
    ("SoftSign", 9): lambda x: x / (1 + np.abs(x)),
    ("Swish", 4): lambda x: x / (1 + np.exp(-x)),
    ("Sigmoid", 1): lambda x: 1 / (1 + np.exp(-x)),
    ("Sinh", 1): np.sinh,
    ("Cosh", 1): np.cosh,
    ("Tanh", 1): np.tanh,
    ("Asinh", 4): np.arcsinh,
    ("Atan", 1): np.arctan,
}
DTYPES = [np.float16, ml_dtypes.bfloat16, np.float32]


@pytest.mark.parametrize("dtype", DTYPES, ids=["f16", "bf16", "f32"])
@pytest.mark.parametrize(("type", "version"), REFERENCES)
def test_activations(type: str, version: int, dtype: Any) -> None:
    x = inputs(dtype)
    with np.errstate(all="ignore"):
        expected = REFERENCES[type, version](x.astype(WIDE))
        result = the(type, version)(x)
    close(result, expected, x, ulp=16)


@pytest.mark.parametrize("dtype", DTYPES, ids=["f16", "bf16", "f32"])
def test_gelu_by_tanh(dtype: Any) -> None:
    x = inputs(dtype)
    with np.errstate(all="ignore"):
        result = the("Gelu", 7)(x, approximation_mode="tanh")
        close(
            result, gelu_tanh(x.astype(WIDE)), x, ulp=200
        )  # the exponent of e^-2u is as large as 88, its error likewise


@pytest.mark.parametrize("dtype", DTYPES, ids=["f16", "bf16", "f32"])
def test_gelu(dtype: Any) -> None:
    """Far below 0, where the result is almost zero, its absolute error is at most a billionth."""
    x = inputs(dtype)
    with np.errstate(all="ignore"):
        expected = x.astype(WIDE) * normal_cumulative(x.astype(WIDE))
        result = the("Gelu", 2)(x)
    tail = (expected < 0) & (expected > -1e-4) & (x < -1)
    close(result[~tail], expected[~tail], x[~tail], 16)
    least = 1e-9 + float(ml_dtypes.finfo(dtype).smallest_subnormal)
    np.testing.assert_allclose(
        result[tail].astype(np.float64), expected[tail].astype(np.float64), rtol=4e-3, atol=least
    )


def close(result: np.ndarray, expected: np.ndarray, x: np.ndarray, ulp: int) -> None:
    """Return whether results are within `ulp` units in the last place; results below the smallest normal number may be
    0.
    """
    limits = ml_dtypes.finfo(result.dtype)
    largest = WIDE(float(limits.max))
    allowed = np.maximum(ulp * np.abs(expected) * WIDE(float(limits.eps)), WIDE(float(limits.tiny)))
    inside = np.abs(expected) <= largest * WIDE(0.999)
    wrong = np.flatnonzero(inside & ~(np.abs(result.astype(WIDE) - np.where(inside, expected, 0)) <= allowed))
    assert not wrong.size, [(x[i], result[i], float(expected[i])) for i in wrong[:5]]


ROWS = [1e-30, 1e-20, 1.0, 1e10, 3e19, 1e30, 1e38]


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.float64], ids=["f32", "bf16", "f64"])
@pytest.mark.parametrize("scale", ROWS)
def test_norms_and_means(scale: float, dtype: Any) -> None:
    """Sums of squares exceed the type's range, but the result is their root or a quotient."""
    scale = scale**8 if dtype is np.float64 else scale
    rng = np.random.default_rng(0)
    x = (rng.uniform(0.5, 3, (2, 6)) * scale).astype(dtype)
    wide, axes = x.astype(WIDE), np.array([1])
    root = np.sqrt((wide**2).sum(axis=1, keepdims=True))
    close(the("ReduceL2", 4)(x, axes, keep_dims=True), root, root, 16)
    close(the("ReduceMean", 1)(x, axes, keep_dims=True), wide.mean(axis=1, keepdims=True), wide, 16)
    close(the("NormalizeL2", 1)(x, axes, eps=0.0, eps_mode="add").ravel(), (wide / root).ravel(), x.ravel(), 16)
    close(the("GRN", 1)(x, bias=0.0).ravel(), (wide / root).ravel(), x.ravel(), 16)
    pooled = the("AvgPool", 1)(x[:, None], strides=(1,), pads_begin=(0,), pads_end=(0,), kernel=(6,), exclude_pad=False)
    close(pooled[:, 0], wide.mean(axis=1, keepdims=True), wide, 16)


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.float64], ids=["f32", "bf16", "f64"])
@pytest.mark.parametrize("scale", [1.0, 1e10, 3e19, 1e30, 1e38])
def test_normalizations(scale: float, dtype: Any) -> None:
    scale = scale**8 if dtype is np.float64 else scale
    rng = np.random.default_rng(1)
    x = (rng.uniform(0.5, 3, (2, 2, 6)) * scale).astype(dtype)
    wide = x.astype(WIDE)
    centred = wide - wide.mean(axis=(1, 2), keepdims=True)
    expected = centred / np.sqrt((centred**2).mean(axis=(1, 2), keepdims=True))
    precision = 4e-2 if dtype is ml_dtypes.bfloat16 else 1e-5
    mvn = the("MVN", 6)(x, np.array([1, 2]), normalize_variance=True, eps=1e-30, eps_mode="inside_sqrt")
    np.testing.assert_allclose(mvn.astype(np.float64), expected.astype(np.float64), rtol=precision, atol=precision)
    one = np.ones(2, dtype)
    group = the("GroupNormalization", 12)(x, one, one - one, num_groups=1, epsilon=1e-30)
    np.testing.assert_allclose(group.astype(np.float64), expected.astype(np.float64), rtol=precision, atol=precision)
    local = the("LRN", 1)(x, np.array([1]), alpha=1.0, beta=0.75, bias=1.0, size=1)
    lrn = (wide / (1 + wide**2) ** 0.75).astype(np.float64)
    np.testing.assert_allclose(local.astype(np.float64), lrn, rtol=max(precision, 1e-4))
