"""Activation functions: compared with OpenVINO and with the formula in f64, and edge cases."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32, I32, U8
from irexec.ops.compute.elementwise import BLOCK
from irexec.ops.spec.contents import find
from irexec.ops.spec.operator import ConstraintError, Operator

ERF = np.vectorize(math.erf, otypes=[np.float64])
Formula = Callable[[np.ndarray], np.ndarray]
# type, opset, attributes, the page's formula
CASES: list[tuple[str, int, dict[str, Any], Formula]] = [
    ("Clamp", 1, {"min": -1.5, "max": 2.25}, lambda x: np.minimum(np.maximum(x, -1.5), 2.25)),
    ("Elu", 1, {"alpha": 1.5}, lambda x: np.where(x > 0, x, 1.5 * np.expm1(x))),
    ("Gelu", 2, {}, lambda x: x * 0.5 * (1 + ERF(x / np.sqrt(2)))),
    ("Gelu", 7, {"approximation_mode": "erf"}, lambda x: x * 0.5 * (1 + ERF(x / np.sqrt(2)))),
    (
        "Gelu",
        7,
        {"approximation_mode": "tanh"},
        lambda x: x * 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    ),
    ("HSigmoid", 5, {}, lambda x: np.clip(x + 3, 0, 6) / 6),
    ("HSwish", 4, {}, lambda x: x * np.clip(x + 3, 0, 6) / 6),
    ("Mish", 4, {}, lambda x: x * np.tanh(np.log1p(np.exp(x)))),
    ("ReLU", 1, {}, lambda x: np.maximum(x, 0)),
    ("Sigmoid", 1, {}, lambda x: 1 / (1 + np.exp(-x))),
    ("SoftPlus", 4, {}, lambda x: np.log1p(np.exp(x))),
    ("SoftSign", 9, {}, lambda x: x / (1 + np.abs(x))),
    ("Swish", 4, {}, lambda x: x / (1 + np.exp(-x))),
]
NAMED = pytest.mark.parametrize(("name", "opset", "attributes", "formula"), CASES)


def get(name: str, opset: int) -> Operator:
    found = find(name, f"opset{opset}")
    assert found is not None
    return found


def sample(*shape: int, seed: int = 0) -> np.ndarray:
    return (np.random.default_rng(seed).normal(size=shape) * 3).astype(np.float32)


@NAMED
def test_agrees_with_openvino(name: str, opset: int, attributes: dict[str, Any], formula: Formula) -> None:
    op, x = get(name, opset), sample(2, 3, 5, seed=len(name))
    np.testing.assert_allclose(run(op, x, **attributes)[0], openvino(op, x, **attributes)[0], rtol=1e-4, atol=2e-6)


@NAMED
def test_f64_and_f32_are_right_to_their_rounding(
    name: str, opset: int, attributes: dict[str, Any], formula: Formula
) -> None:
    x = np.linspace(-9, 9, 3001)
    np.testing.assert_allclose(run(get(name, opset), x, **attributes)[0], formula(x), rtol=1e-13, atol=1e-15)
    single = x.astype(np.float32)
    expected = formula(single.astype(np.float64))
    np.testing.assert_allclose(run(get(name, opset), single, **attributes)[0], expected, rtol=2e-6, atol=3e-7)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@NAMED
def test_narrow_floats_round_once(
    name: str, opset: int, attributes: dict[str, Any], formula: Formula, dtype: type
) -> None:
    op, x = get(name, opset), sample(7, 300).astype(dtype)
    if name == "Clamp":
        attributes = {"min": -1.5, "max": 2.25}
    wide = op(x.astype(np.float32), **attributes).astype(dtype)
    if name == "SoftPlus" and dtype is np.float16:
        np.testing.assert_allclose(run(op, x)[0].astype(np.float32), wide.astype(np.float32), rtol=1e-3)
    else:
        np.testing.assert_array_equal(run(op, x, **attributes)[0].astype(np.float32), wide.astype(np.float32))


@NAMED
def test_writes_into_out_over_its_input_and_from_strides(
    name: str, opset: int, attributes: dict[str, Any], formula: Formula
) -> None:
    op, x = get(name, opset), sample(3, BLOCK + 7)
    expected = op(x, **attributes)
    out = np.empty_like(x)
    assert op(x, out=out, **attributes) is out
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(op(x.T, **attributes), expected.T)
    op(x, out=x, **attributes)
    np.testing.assert_array_equal(x, expected)


@pytest.mark.filterwarnings("error")
@NAMED
def test_specials(name: str, opset: int, attributes: dict[str, Any], formula: Formula) -> None:
    x = np.array([np.inf, 1e30, 200, 1e5, 0, -0.0, -200, -1e5, -1e30, np.nan], np.float32)
    with np.errstate(all="warn"):
        found = run(get(name, opset), x, **attributes)[0]
    bounded = {"Clamp": 2.25, "HSigmoid": 1, "Sigmoid": 1, "SoftSign": 1}
    assert np.isnan(found[-1])
    if name == "SoftSign":
        assert np.isnan(found[0])  # infinity over infinity, as the formula has it
    else:
        assert found[0] == bounded.get(name, np.inf)
    np.testing.assert_allclose(found[1:4], bounded.get(name, x[1:4]), rtol=1e-2)
    low = {"Clamp": -1.5, "Elu": -1.5, "SoftSign": -1}.get(name, 0)
    np.testing.assert_allclose(found[6:9], low, rtol=1e-2, atol=1e-20)
    assert run(get(name, opset), np.zeros((0, 3), np.float32), **attributes)[0].shape == (0, 3)


def test_gelu_is_right_in_the_tail() -> None:
    # 0.5 (1 + erf(x)) cancels for negative x; the result has to keep its relative precision.
    x = np.array([-2, -4, -5], np.float32)
    exact = [float(v) * 0.5 * math.erfc(-float(v) / math.sqrt(2)) for v in x]
    np.testing.assert_allclose(run(get("Gelu", 7), x)[0], exact, rtol=2e-5)
    np.testing.assert_allclose(run(get("Gelu", 7), x.astype(np.float64))[0], exact, rtol=1e-14)


def test_gelu_takes_the_spelling_openvino_writes() -> None:
    x = sample(4)
    for mode in ("erf", "tanh"):
        upper = run(get("Gelu", 7), x, approximation_mode=mode.upper())[0]
        np.testing.assert_array_equal(upper, run(get("Gelu", 7), x, approximation_mode=mode)[0])


def test_c1_the_limits_of_clamp_are_in_order() -> None:
    breaches = infer(get("Clamp", 1), [tensor(F32, "2")], min=2, max=1.5)[1]
    assert [(b.constraint, b.attribute) for b in breaches] == [("C1", "min")]
    assert not infer(get("Clamp", 1), [tensor(F32, "2")], min=2, max=2)[1]


def test_clamp_of_integers_rounds_its_limits_inwards() -> None:
    x = np.array([-5, 1, 2, 4, 5], np.int16)
    np.testing.assert_array_equal(run(get("Clamp", 1), x, min=1.3, max=4.7)[0], [2, 2, 2, 4, 4])
    bytes_ = np.array([0, 3, 9, 255], np.uint8)
    np.testing.assert_array_equal(run(get("Clamp", 1), bytes_, min=-1.5, max=1e10)[0], [0, 3, 9, 255])
    np.testing.assert_array_equal(run(get("Clamp", 1), bytes_, min=2, max=math.inf)[0], [2, 3, 9, 255])


def test_elu_does_not_cancel_near_zero() -> None:
    x = np.array([-1e-6, -1e-12], np.float32)
    np.testing.assert_allclose(run(get("Elu", 1), x, alpha=1)[0], x, rtol=1e-6)


def test_hard_sigmoid() -> None:
    op, x = get("HardSigmoid", 1), sample(3, 4)
    alpha, beta = (np.array(v, np.float32) for v in (0.3, 0.6))
    np.testing.assert_allclose(run(op, x, alpha, beta)[0], np.clip(np.float32(0.3) * x + np.float32(0.6), 0, 1))


@pytest.mark.parametrize("shape", ["1", "2"])
def test_hard_sigmoid_c1_c2_alpha_and_beta_are_scalars(shape: str) -> None:
    wrong = tensor(F32, shape)
    _, breaches = infer(get("HardSigmoid", 1), [tensor(F32, "2"), wrong, wrong])
    assert [b.constraint for b in breaches] == ["C1", "C2"]
    with pytest.raises(ConstraintError):
        get("HardSigmoid", 1)(np.ones(2, np.float32), np.ones(2, np.float32), np.ones((), np.float32))


@pytest.mark.parametrize(
    ("data", "slope"),
    [((5,), (1,)), ((20, 4), (4,)), ((2, 3, 4), (3,)), ((2, 3, 4), (4,)), ((2, 3, 4), (3, 1)), ((2, 3, 3), (3,))],
)
def test_prelu_agrees_with_openvino(data: tuple[int, ...], slope: tuple[int, ...]) -> None:
    op, arrays = get("PReLU", 1), [sample(*data), sample(*slope, seed=1)]
    np.testing.assert_allclose(run(op, *arrays)[0], openvino(op, *arrays)[0], rtol=1e-6)


def test_prelu_of_a_scalar() -> None:
    for slope in (np.float32(3) * np.ones(()), np.full((1,), 3.0), np.full((1, 1), 3.0)):
        np.testing.assert_array_equal(run(get("PReLU", 1), np.array(-2.0), slope)[0], -6)


def test_prelu_with_an_infinite_slope() -> None:
    found = run(get("PReLU", 1), np.array([-2, 0, 3], np.float32), np.array([np.inf], np.float32))[0]
    np.testing.assert_array_equal(found, [-np.inf, 0, 3])


def test_prelu_of_integers_and_f16() -> None:
    np.testing.assert_array_equal(run(get("PReLU", 1), np.array([-3, 4]), np.array([2]))[0], [-6, 4])
    x, slope = sample(2, 3, 400).astype(np.float16), np.array([0.1, 0.2, 0.3], np.float16)
    wide = get("PReLU", 1)(x.astype(np.float32), slope.astype(np.float32)).astype(np.float16)
    np.testing.assert_array_equal(run(get("PReLU", 1), x, slope)[0], wide)


@pytest.mark.parametrize("slope", ["5", "2,3,4,1", "2,1,1,1"])
def test_prelu_c1_slope_broadcasts_into_data(slope: str) -> None:
    _, breaches = infer(get("PReLU", 1), [tensor(F32, "2,3,4"), tensor(F32, slope)])
    assert [b.constraint for b in breaches] == ["C1"]
    with pytest.raises(ConstraintError):
        get("PReLU", 1)(np.ones((2, 3, 4)), np.ones([int(d) for d in slope.split(",")]))


def test_relu_of_integers() -> None:
    np.testing.assert_array_equal(run(get("ReLU", 1), np.array([-128, -1, 0, 127], np.int8))[0], [0, 0, 0, 127])


@pytest.mark.parametrize("shape", [(), (1,)])
def test_selu(shape: tuple[int, ...]) -> None:
    op, x = get("Selu", 1), sample(3, 4)
    alpha, scale = (np.full(shape, v, np.float32) for v in (1.6732632, 1.050701))
    wide = x.astype(np.float64)
    expected = 1.050701 * np.where(wide > 0, wide, 1.6732632 * np.expm1(wide))
    np.testing.assert_allclose(run(op, x, alpha, scale)[0], expected, rtol=1e-6)


def test_selu_c1_c2_alpha_and_lambda_have_one_element() -> None:
    _, breaches = infer(get("Selu", 1), [tensor(F32, "2"), tensor(F32, "2"), tensor(F32, "1,1")])
    assert [b.constraint for b in breaches] == ["C1", "C2"]


def test_sigmoid_of_integers_is_rounded() -> None:
    np.testing.assert_array_equal(run(get("Sigmoid", 1), np.array([-5, 0, 1, 5], np.int32))[0], [0, 1, 1, 1])


@pytest.mark.parametrize("beta", [0.0, 0.7, 2.0])
def test_swish_with_beta_agrees_with_openvino(beta: float) -> None:
    op, x, b = get("Swish", 4), sample(3, 4), np.array(beta, np.float32)
    np.testing.assert_allclose(run(op, x, b)[0], openvino(op, x, b)[0], rtol=1e-5, atol=1e-6)


def test_swish_c1_beta_is_a_scalar() -> None:
    _, breaches = infer(get("Swish", 4), [tensor(F32, "2"), tensor(F32, "1")])
    assert [b.constraint for b in breaches] == ["C1"]
    with pytest.raises(ConstraintError):
        get("Swish", 4)(np.ones(2, np.float32), np.ones(2, np.float32))


def test_swish_c2_beta_is_not_negative() -> None:
    _, breaches = infer(get("Swish", 4), [tensor(F32, "2"), tensor(F32, "", -1)])
    assert [b.constraint for b in breaches] == ["C2"]


@pytest.mark.parametrize(("name", "opset"), [("Gelu", 7), ("Mish", 4), ("Elu", 1), ("SoftPlus", 4)])
def test_only_floats(name: str, opset: int) -> None:
    _, breaches = infer(get(name, opset), [tensor(I32, "2")], **({"alpha": 1} if name == "Elu" else {}))
    assert [b.code for b in breaches] == ["O002"]


def test_numbers_of_any_type_where_the_page_specifies_numeric() -> None:
    for name, attributes in (("ReLU", {}), ("Clamp", {"min": 0, "max": 1})):
        assert not infer(get(name, 1), [tensor(U8, "2")], **attributes)[1]
