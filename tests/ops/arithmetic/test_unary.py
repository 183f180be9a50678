"""The rounding of Erf and ErfInv."""

from __future__ import annotations

import math

import numpy as np
from support.cases import the
from support.oracle import run


def test_erf_is_right_to_f32_rounding() -> None:
    x = np.linspace(-6, 6, 40001, dtype=np.float32)
    exact = np.array([math.erf(float(v)) for v in x])
    error = np.abs(run(the("Erf", 1), x)[0] - exact) / np.spacing(np.abs(exact).astype(np.float32))
    assert error.max() < 8
    assert error.mean() < 0.5
    ends = np.array([np.inf, -np.inf, 1e-40, 1e30], np.float32)
    np.testing.assert_allclose(run(the("Erf", 1), ends)[0], [1, -1, 1.128379e-40, 1], rtol=1e-4)


def test_erfinv_of_the_ends() -> None:
    x = np.array([0.0, 1.0, -1.0, 1.5, -2.0, 1e-10, 1 - 2**-24], np.float32)
    found = run(the("ErfInv", 17), x)[0]
    np.testing.assert_allclose(found[:6], [0.0, np.inf, -np.inf, np.nan, np.nan, 8.8622694e-11], rtol=1e-6)
    np.testing.assert_allclose(math.erfc(found[6]), 2**-24, rtol=1e-5)


def test_erfinv_is_right_to_the_rounding_of_its_type() -> None:
    near_one, near_zero = 1 - 2.0 ** -np.arange(1, 53), 2.0 ** -np.arange(1, 900)
    x = np.concatenate([np.linspace(0, 1, 999, endpoint=False), near_one, near_zero])
    for dtype, most in ((np.float64, 8), (np.float32, 1)):
        places = np.unique(x.astype(dtype)[x.astype(dtype) < 1]).astype(np.float64)
        found = run(the("ErfInv", 17), places.astype(dtype))[0].astype(np.float64)
        # The error of erf at a point, measured from the end with more digits, divided by its slope there.
        missed = [math.erf(y) - v if v < 0.5 else (1 - v) - math.erfc(y) for v, y in zip(places, found, strict=True)]
        error = np.array(missed) * np.exp(found**2) * np.sqrt(np.pi) / 2
        units = np.spacing(found.astype(dtype)).astype(np.float64)
        assert np.abs(error / units).max() < most
    np.testing.assert_array_equal(run(the("ErfInv", 17), -x)[0], -run(the("ErfInv", 17), x)[0])
