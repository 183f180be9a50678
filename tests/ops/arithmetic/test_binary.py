"""Elementwise arithmetic with two operands: compared with OpenVINO and with exact integers, and edge cases."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

import irexec
from irexec.core.types import BOOLEAN, F32, I32, Dimension, PartialShape, TensorType
from irexec.ops.spec.contents import find
from irexec.ops.spec.operator import ConstraintError, Operator

NAMES = ["Add", "Subtract", "Multiply", "Divide", "Mod", "FloorMod", "Maximum", "Minimum", "SquaredDifference", "Power"]
SHAPES = [((2, 3), (2, 3)), ((2, 1, 5), (1, 4, 5)), ((3, 2, 1, 4), (5, 4)), ((), (2, 3)), ((2, 0, 3), (1, 3))]


def binary(name: str) -> Operator:
    found = find(name, "opset1")
    assert found is not None
    return found


def operands(name: str, index: int, dtype: object = np.float32) -> list[np.ndarray]:
    rng = np.random.default_rng(index)
    low = 0.5 if name == "Power" else -4
    a, b = (rng.uniform(low, 4, shape) for shape in SHAPES[index % len(SHAPES)])
    if name in ("Divide", "Mod", "FloorMod"):
        b = np.copysign(np.abs(b) + 1, b)
    return [a.astype(dtype), b.astype(dtype)]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("index", [1, 2])
def test_agrees_with_openvino(name: str, index: int) -> None:
    arrays = operands(name, index + len(name))
    expected = openvino(binary(name), *arrays)[0]
    np.testing.assert_allclose(run(binary(name), *arrays)[0], expected, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", NAMES)
def test_i32_agrees_with_openvino(name: str) -> None:
    rng = np.random.default_rng(len(name))
    a = rng.integers(0 if name == "Power" else -20, 20, (4, 5)).astype(np.int32)
    b = rng.integers(1, 6, (5,)).astype(np.int32) * (1 if name == "Power" else rng.choice([-1, 1], 5).astype(np.int32))
    # The CPU plugin truncates integer division regardless of m_pythondiv; the core follows the page.
    expected = openvino(binary(name), a, b, constants=name == "Divide")[0]
    np.testing.assert_array_equal(run(binary(name), a, b)[0], expected)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [6, 3000])
def test_narrow_floats_round_once(name: str, dtype: type, size: int) -> None:
    rng = np.random.default_rng(size)
    a, b = (rng.uniform(0.5, 4, (size,)).astype(dtype) for _ in range(2))
    wide = binary(name)(a.astype(np.float32), b.astype(np.float32)).astype(dtype)
    np.testing.assert_array_equal(run(binary(name), a, b)[0].astype(np.float32), wide.astype(np.float32))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint32, np.int64, np.uint64])
@pytest.mark.parametrize("name", ["Add", "Subtract", "Multiply", "SquaredDifference", "Power"])
def test_integers_wrap(name: str, dtype: type) -> None:
    bounds = np.iinfo(dtype)
    a = [bounds.max, bounds.min, bounds.max, 7, 3]
    b = [1, 1, bounds.max, 9, 5] if name != "Power" else [2, 3, 5, 40, 0]
    exact = {
        "Add": lambda x, y: x + y,
        "Subtract": lambda x, y: x - y,
        "Multiply": lambda x, y: x * y,
        "SquaredDifference": lambda x, y: (x - y) ** 2,
        "Power": lambda x, y: x**y,
    }[name]
    size = 2**bounds.bits
    wrapped = [(exact(x, y) - bounds.min) % size + bounds.min for x, y in zip(a, b, strict=True)]
    np.testing.assert_array_equal(
        run(binary(name), np.array(a, dtype), np.array(b, dtype))[0], np.array(wrapped, dtype)
    )


def test_64_bit_values_keep_all_bits() -> None:
    # The CPU plugin computes i64 in 32 bits and f64 in f32.
    a, b = np.array([2**40, -(2**40), 2**62]), np.array([1, 3, 7])
    np.testing.assert_array_equal(run(binary("Mod"), a, b)[0], [0, -(2**40 % 3), 2**62 % 7])
    np.testing.assert_array_equal(run(binary("FloorMod"), a, b)[0], [0, -(2**40) % 3, 2**62 % 7])
    np.testing.assert_array_equal(run(binary("Divide"), np.array([1e300]), np.array([1e10]))[0], [1e290])


def test_divide_rounds_down_or_toward_zero() -> None:
    a, b = np.array([7, -7, 7, -7, 6], np.int32), np.array([2, 2, -2, -2, 3], np.int32)
    np.testing.assert_array_equal(run(binary("Divide"), a, b)[0], [3, -4, -4, 3, 2])
    np.testing.assert_array_equal(run(binary("Divide"), a, b, m_pythondiv=False)[0], [3, -3, -3, 3, 2])
    out = np.empty_like(a)
    assert binary("Divide")(a, b, m_pythondiv=False, out=out) is out
    np.testing.assert_array_equal(out, [3, -3, -3, 3, 2])


def test_signs_of_mod_and_floor_mod() -> None:
    a, b = np.array([7, -7, 7, -7, 5.5], np.float32), np.array([3, 3, -3, -3, np.inf], np.float32)
    np.testing.assert_array_equal(run(binary("Mod"), a, b)[0], [1, -1, 1, -1, 5.5])
    np.testing.assert_array_equal(run(binary("FloorMod"), a, b)[0], [1, 2, -2, -1, 5.5])


@pytest.mark.filterwarnings("error")
def test_division_by_zero_is_quiet() -> None:
    with np.errstate(all="warn"):
        one, zero = np.array([1, 0, -1], np.float32), np.zeros(3, np.float32)
        np.testing.assert_array_equal(run(binary("Divide"), one, zero)[0], [np.inf, np.nan, -np.inf])
        whole, nothing = np.array([1, -(2**31)], np.int32), np.array([0, -1], np.int32)
        np.testing.assert_array_equal(run(binary("Divide"), whole, nothing)[0], [0, -(2**31)])
        for name in ("Mod", "FloorMod", "Power"):
            run(binary(name), whole, nothing)
            run(binary(name), one, zero)


def test_nan_passes_through_maximum_and_minimum() -> None:
    # In OpenVINO the result depends on the position of NaN (max(1, nan) is 1 in its core); the page does not define it.
    a, b = np.array([np.nan, 1, 2], np.float32), np.array([1, np.nan, 3], np.float32)
    np.testing.assert_array_equal(run(binary("Maximum"), a, b)[0], [np.nan, np.nan, 3])
    np.testing.assert_array_equal(run(binary("Minimum"), a, b)[0], [np.nan, np.nan, 2])


def test_negative_integer_exponents() -> None:
    a, b = np.array([2, -2, 1, -1, -1, 3], np.int32), np.array([-1, -2, -5, -3, -4, 4], np.int32)
    np.testing.assert_array_equal(run(binary("Power"), a, b)[0], [0, 0, 1, -1, 1, 81])
    out = np.empty_like(a)
    np.testing.assert_array_equal(binary("Power")(a, b, out=out), [0, 0, 1, -1, 1, 81])


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 0.5, -1, -0.5])
def test_power_of_one_exponent(exponent: float) -> None:
    x = np.array([0.25, 1.5, 2, 9], np.float32)
    for b in (np.array(exponent, np.float32), np.array([exponent], np.float32)):
        np.testing.assert_allclose(run(binary("Power"), x, b)[0], np.float64(x) ** exponent, rtol=3e-7)
    wide = run(binary("Power"), np.float32(2) * np.ones((), np.float32), np.full((1, 2), exponent, np.float32))[0]
    np.testing.assert_allclose(wide, np.full((1, 2), 2.0**exponent), rtol=3e-7)


@pytest.mark.parametrize(
    ("a", "b"), [((2, 3, 4), (2, 3)), ((2, 3, 4), (2,)), ((2, 3, 4), (2, 3, 1)), ((2, 3, 4), (1,))]
)
def test_pdpd_agrees_with_openvino(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=s).astype(np.float32) for s in (a, b)]
    expected = openvino(binary("Add"), *arrays, auto_broadcast="pdpd")[0]
    np.testing.assert_allclose(run(binary("Add"), *arrays, auto_broadcast="pdpd")[0], expected)


def test_pdpd_starts_at_an_axis_of_a() -> None:
    types = [tensor(F32, "2,3,4"), tensor(F32, "1")]
    attributes = {"auto_broadcast": "pdpd", "auto_broadcast.auto_broadcast_axis": 3}
    assert [b.constraint for b in infer(binary("Add"), types, **attributes)[1]] == ["broadcast"]
    assert not infer(binary("Add"), [tensor(F32, ""), tensor(F32, "")], auto_broadcast="pdpd")[1]


def test_pdpd_along_an_axis() -> None:
    a, b = np.zeros((2, 3, 4, 5), np.float32), np.arange(12, dtype=np.float32).reshape(3, 4)
    found = run(binary("Add"), a, b, auto_broadcast="pdpd", auto_broadcast_axis=1)[0]
    np.testing.assert_array_equal(found, a + b[:, :, None])
    tail = np.arange(20, dtype=np.float32).reshape(4, 5)
    np.testing.assert_array_equal(
        run(binary("Add"), a, tail, auto_broadcast="pdpd", auto_broadcast_axis=-1)[0], a + tail
    )


@pytest.mark.parametrize("mode", ["numpy", "pdpd", "none"])
def test_shapes_that_do_not_fit_are_refused(mode: str) -> None:
    _, breaches = infer(binary("Add"), [tensor(F32, "2,3"), tensor(F32, "2,4")], auto_broadcast=mode)
    assert [b.constraint for b in breaches] == ["broadcast"]
    with pytest.raises(ConstraintError):
        binary("Add")(np.zeros((2, 3)), np.zeros((2, 4)), auto_broadcast=mode)


def test_types_must_agree_and_be_numeric() -> None:
    _, breaches = infer(binary("Add"), [tensor(F32, "2"), tensor(I32, "2")])
    assert [b.code for b in breaches] == ["O003"]
    _, breaches = infer(binary("Add"), [tensor(BOOLEAN, "2"), tensor(BOOLEAN, "2")])
    assert {b.code for b in breaches} == {"O002"}


def test_dynamic_shapes_broadcast() -> None:
    [found], breaches = infer(binary("Multiply"), [tensor(F32, "?,3,1"), tensor(F32, "4,1,2..5")])
    assert not breaches
    assert found.shape == PartialShape([4, 3, Dimension(2, 5)])
    [found], _ = infer(binary("Multiply"), [tensor(F32, "..."), tensor(F32, "4")])
    assert found.shape.rank is None


def test_intervals_pass_through_the_kernel() -> None:
    known = np.array([Dimension(2, 4), 3], object)
    assert list(binary("Multiply").compute(known, np.array([2, 2], object))) == [Dimension(4, 8), 6]
    assert list(binary("Divide").compute(known, np.array([2, 2], object))) == [Dimension(1, 2), 1]
    assert TensorType(I32, PartialShape([2]), partial=known).known == [Dimension(2, 4), 3]


def test_a_scalar_under_pdpd() -> None:
    result = irexec.opset15.subtract(np.ones((2, 3), np.float32), np.float32(1), auto_broadcast="pdpd")
    assert result.tolist() == [[0, 0, 0], [0, 0, 0]]
