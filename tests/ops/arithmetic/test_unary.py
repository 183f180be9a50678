"""Elementwise arithmetic with one operand: compared with OpenVINO and with Python's math, and edge cases."""

from __future__ import annotations

import math
import operator

import ml_dtypes
import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import BF16, F16, F32, F64, I8, I32, U8
from irexec.ops.compute.elementwise import BLOCK
from irexec.ops.spec.contents import find
from irexec.ops.spec.operator import Operator

OPSETS = {"Acosh": 4, "Asinh": 4, "Atanh": 4, "Round": 5, "ErfInv": 17}
# The range in which each function is defined and not too steep for f32.
DOMAINS = {
    "Abs": (-5, 5),
    "Acos": (-1, 1),
    "Acosh": (1, 9),
    "Asin": (-1, 1),
    "Asinh": (-9, 9),
    "Atan": (-9, 9),
    "Atanh": (-0.95, 0.95),
    "Ceiling": (-5, 5),
    "Cos": (-9, 9),
    "Cosh": (-4, 4),
    "Erf": (-4, 4),
    "ErfInv": (-0.99, 0.99),
    "Exp": (-9, 9),
    "Floor": (-5, 5),
    "Log": (0.01, 9),
    "Negative": (-5, 5),
    "Round": (-5, 5),
    "Sign": (-5, 5),
    "Sin": (-9, 9),
    "Sinh": (-4, 4),
    "Sqrt": (0, 9),
    "Tan": (-1.4, 1.4),
    "Tanh": (-4, 4),
}
SHAPES = [(), (1,), (5,), (3, 4), (2, 1, 3, 2, 2)]


def unary(name: str) -> Operator:
    found = find(name, f"opset{OPSETS.get(name, 1)}")
    assert found is not None
    return found


def sample(name: str, shape: tuple[int, ...], dtype: object = np.float32) -> np.ndarray:
    low, high = DOMAINS[name]
    return np.random.default_rng(len(name)).uniform(low, high, shape).astype(dtype)


@pytest.mark.parametrize("name", DOMAINS)
def test_agrees_with_openvino(name: str) -> None:
    op = unary(name)
    x = sample(name, SHAPES[len(name) % len(SHAPES)])
    np.testing.assert_allclose(run(op, x)[0], openvino(op, x)[0], rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("name", sorted(set(DOMAINS) - {"ErfInv"}))  # ErfInv is computed in f64
def test_narrow_floats_round_once(name: str, dtype: type) -> None:
    op = unary(name)
    x = sample(name, (7, 300), dtype)
    wide = op(x.astype(np.float32)).astype(dtype)
    np.testing.assert_array_equal(run(op, x)[0].astype(np.float32), wide.astype(np.float32))


# Functions that have another name in Python's math, or none.
REFERENCE = {"Abs": abs, "Ceiling": math.ceil, "Negative": operator.neg, "Sign": np.sign, "Round": round}


@pytest.mark.parametrize("name", DOMAINS)
def test_f64_is_computed_as_itself(name: str) -> None:
    x = sample(name, (40,), np.float64)
    found = run(unary(name), x)[0]
    if name == "ErfInv":
        np.testing.assert_allclose([math.erf(v) for v in found], x, rtol=1e-14)
        return
    function = REFERENCE.get(name) or getattr(math, name.lower())
    np.testing.assert_allclose(found, [function(v) for v in x], rtol=4e-15, atol=1e-15)


@pytest.mark.parametrize("name", ["Abs", "Ceiling", "Floor", "Negative", "Round", "Sign", "Cos", "Erf", "Tan", "Tanh"])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_integers_agree_with_the_core(name: str, dtype: type) -> None:
    x = np.array([0, 1, 2, 3, 7, -1, -2, -100], dtype)
    np.testing.assert_array_equal(run(unary(name), x)[0], openvino(unary(name), x, constants=True)[0])


@pytest.mark.parametrize("name", ["Asinh", "Atan", "Cosh", "Sinh", "Sqrt", "Acosh", "Atanh"])
def test_integers_of_steep_functions_agree_with_the_core(name: str) -> None:
    x = np.array([1, 2, 3, 4, 7], np.int32)
    np.testing.assert_array_equal(run(unary(name), x)[0], openvino(unary(name), x, constants=True)[0])


@pytest.mark.parametrize(("name", "expected"), [("Exp", [1, 3, 7, 20]), ("Log", [0, 1, 1, 2]), ("Sin", [0, 1, 1, 0])])
def test_integers_are_rounded_where_the_core_truncates(name: str, expected: list[int]) -> None:
    # The core truncates exp(1) to 2 and sin(1) to 0. No page specifies this; those of Sqrt and Tanh specify rounding.
    x = np.array([0, 1, 2, 3] if name != "Log" else [1, 2, 4, 7], np.int32)
    np.testing.assert_array_equal(run(unary(name), x)[0], expected)


def test_integers_that_overflow_are_the_lowest_number() -> None:
    np.testing.assert_array_equal(run(unary("Exp"), np.array([60, 3], np.int32))[0], [-(2**31), 20])
    np.testing.assert_array_equal(run(unary("Sqrt"), np.array([-4, 4], np.int64))[0], [-(2**63), 2])


def test_lowest_integer_wraps() -> None:
    x = np.array([-128, -1, 127], np.int8)
    np.testing.assert_array_equal(run(unary("Abs"), x)[0], [-128, 1, 127])
    np.testing.assert_array_equal(run(unary("Negative"), x)[0], [-128, 1, -127])


def test_atanh_of_integers_as_the_page_specifies() -> None:
    np.testing.assert_array_equal(
        run(unary("Atanh"), np.array([-5, -1, 0, 1, 9], np.int8))[0], [-128, -128, 0, 127, 127]
    )
    np.testing.assert_array_equal(run(unary("Atanh"), np.array([0, 1, 9], np.uint8))[0], [0, 255, 255])


def test_page_examples() -> None:
    tan = run(unary("Tan"), np.array([0.0, 0.25, -0.25, 0.5, -0.5], np.float32))[0]
    np.testing.assert_allclose(tan, [0.0, 0.25534192, -0.25534192, 0.54630249, -0.54630249], rtol=1e-6)
    np.testing.assert_array_equal(run(unary("Tan"), np.array([-2, -1, 0, 1, 2], np.int32))[0], [2, -2, 0, 2, -2])
    sqrt = run(unary("Sqrt"), np.array([4.0, 7.0, 9.0, 10.0], np.float32))[0]
    np.testing.assert_allclose(sqrt, [2.0, 2.6457512, 3.0, 3.1622777], rtol=1e-7)
    np.testing.assert_array_equal(run(unary("Sqrt"), np.array([4, 7, 9, 10], np.int32))[0], [2, 3, 3, 3])
    halves = np.array([-4.5, -1.9, -1.5, 0.5, 0.9, 1.5, 2.3, 2.5], np.float32)
    even = run(unary("Round"), halves, mode="half_to_even")[0]
    away = run(unary("Round"), halves, mode="half_away_from_zero")[0]
    np.testing.assert_array_equal(even, [-4.0, -2.0, -2.0, 0.0, 1.0, 2.0, 2.0, 2.0])
    np.testing.assert_array_equal(away, [-5.0, -2.0, -2.0, 1.0, 1.0, 2.0, 2.0, 3.0])


def test_round_away_does_not_round_twice() -> None:
    x = np.array([0.49999997, 8388609.0, -0.49999997], np.float32)
    np.testing.assert_array_equal(run(unary("Round"), x, mode="half_away_from_zero")[0], [0, 8388609.0, 0])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", DOMAINS)
def test_specials_give_no_warning(name: str) -> None:
    specials = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, -1e30, 1e-40, 2, -2], np.float32)
    for dtype in (np.float32, np.float64, np.float16):
        with np.errstate(all="warn"):
            with np.errstate(over="ignore", under="ignore"):
                x = specials.astype(dtype)
            result = run(unary(name), x)[0]
        assert np.isnan(result[0])


def test_erf_is_right_to_f32_rounding() -> None:
    x = np.linspace(-6, 6, 40001, dtype=np.float32)
    exact = np.array([math.erf(float(v)) for v in x])
    error = np.abs(run(unary("Erf"), x)[0] - exact) / np.spacing(np.abs(exact).astype(np.float32))
    assert error.max() < 8
    assert error.mean() < 0.5
    ends = np.array([np.inf, -np.inf, 1e-40, 1e30], np.float32)
    np.testing.assert_allclose(run(unary("Erf"), ends)[0], [1, -1, 1.128379e-40, 1], rtol=1e-4)


def test_erfinv_of_the_ends() -> None:
    x = np.array([0.0, 1.0, -1.0, 1.5, -2.0, 1e-10, 1 - 2**-24], np.float32)
    found = run(unary("ErfInv"), x)[0]
    np.testing.assert_allclose(found[:6], [0.0, np.inf, -np.inf, np.nan, np.nan, 8.8622694e-11], rtol=1e-6)
    np.testing.assert_allclose(math.erfc(found[6]), 2**-24, rtol=1e-5)


def test_erfinv_is_right_to_the_rounding_of_its_type() -> None:
    near_one, near_zero = 1 - 2.0 ** -np.arange(1, 53), 2.0 ** -np.arange(1, 900)
    x = np.concatenate([np.linspace(0, 1, 999, endpoint=False), near_one, near_zero])
    for dtype, most in ((np.float64, 8), (np.float32, 1)):
        places = np.unique(x.astype(dtype)[x.astype(dtype) < 1]).astype(np.float64)
        found = run(unary("ErfInv"), places.astype(dtype))[0].astype(np.float64)
        # The error of erf at a point, measured from the end with more digits, divided by its slope there.
        missed = [math.erf(y) - v if v < 0.5 else (1 - v) - math.erfc(y) for v, y in zip(places, found, strict=True)]
        error = np.array(missed) * np.exp(found**2) * np.sqrt(np.pi) / 2
        units = np.spacing(found.astype(dtype)).astype(np.float64)
        assert np.abs(error / units).max() < most
    np.testing.assert_array_equal(run(unary("ErfInv"), -x)[0], -run(unary("ErfInv"), x)[0])


@pytest.mark.parametrize("name", DOMAINS)
def test_writes_into_out_and_over_its_own_input(name: str) -> None:
    op, x = unary(name), sample(name, (3, BLOCK // 2 + 7))
    expected = op(x)
    out = np.empty_like(x)
    assert op(x, out=out) is out
    np.testing.assert_array_equal(out, expected)
    turned = sample(name, (3, BLOCK // 2 + 7))
    op(turned, out=turned)
    np.testing.assert_array_equal(turned, expected)
    np.testing.assert_array_equal(op(x.T), expected.T)
    strided = np.empty((x.shape[1], 3), np.float32).T
    np.testing.assert_array_equal(op(x, out=strided), expected)


@pytest.mark.parametrize(("name", "kind"), [("Negative", U8), ("ErfInv", I32), ("ErfInv", I8)])
def test_types_that_the_page_leaves_out_are_refused(name: str, kind: object) -> None:
    _, breaches = infer(unary(name), [tensor(kind, "2,3")])
    assert [b.code for b in breaches] == ["O002"]


@pytest.mark.parametrize("kind", [F16, BF16, F32, F64])
def test_shape_is_the_input_s(kind: object) -> None:
    for text in ("", "2,?,1..3", "..."):
        [found], breaches = infer(unary("Tanh"), [tensor(kind, text)])
        assert not breaches
        assert found.shape == tensor(kind, text).shape
        assert found.element_type is kind
