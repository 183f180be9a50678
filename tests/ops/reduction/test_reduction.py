"""Reductions: compared with OpenVINO, NumPy and exact integers; constraints; edge cases."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from support.oracle import infer, run, tensor

from irexec.core.types import BOOLEAN, F8E4M3, F8E5M2, F32, I64, Dimension, ElementType, PartialShape
from irexec.ops.spec.contents import find
from irexec.ops.spec.operator import ConstraintError, Operator

NUMERIC = ["ReduceSum", "ReduceMean", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2"]
LOGICAL = ["ReduceLogicalAnd", "ReduceLogicalOr"]
CASES = [
    ((3, 4), [1]),
    ((2, 3, 4), [0, -1]),
    ((2, 2, 3, 2, 2), [-3]),
    ((2, 3, 4), [0, 1, 2]),
    ((5,), [0]),
    ((2, 3), []),
]


def get(name: str) -> Operator:
    found = find(name, "opset4")
    assert found is not None
    return found


@pytest.mark.parametrize("name", NUMERIC)
@pytest.mark.parametrize("index", [0, 1, 3])
def test_agrees_with_the_core(name: str, index: int) -> None:
    shape, axes = CASES[(index + len(name)) % len(CASES)]
    x = np.random.default_rng(index).normal(size=shape).astype(np.float32)
    found = run(get(name), x, np.array(axes, np.int64), keep_dims=bool(index % 2))[0]
    expected = reduced_by_core(name, x, axes, bool(index % 2))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def reduced_by_core(name: str, x: np.ndarray, axes: list[int], keep_dims: bool) -> np.ndarray:
    """Return the result of OpenVINO's core, with constant axes, so that the core knows the shape of its result."""
    import openvino as ov
    import openvino.utils.node_factory as factory

    data = ov.opset15.parameter(list(x.shape), x.dtype)
    constant = ov.opset15.constant(np.array(axes, np.int64))
    node = factory.NodeFactory("opset4").create(name, [data.output(0), constant.output(0)], {"keep_dims": keep_dims})
    out = ov.Tensor(node.get_output_element_type(0), ov.Shape(list(node.get_output_shape(0))))
    assert node.evaluate([out], [ov.Tensor(x), ov.Tensor(np.array(axes, np.int64))])
    return np.array(out.data)


@pytest.mark.parametrize("name", ["ReduceSum", "ReduceMean", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceL1"])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_integers_agree_with_the_core(name: str, dtype: type) -> None:
    x = np.array([[1, 2, 4], [-1, -2, -5], [100, 100, 100]], dtype)
    np.testing.assert_array_equal(run(get(name), x, np.array([1]))[0], reduced_by_core(name, x, [1], False))


@pytest.mark.parametrize("name", LOGICAL)
@pytest.mark.parametrize(("shape", "axes"), CASES)
def test_logical(name: str, shape: tuple[int, ...], axes: list[int]) -> None:
    x = np.random.default_rng(0).integers(0, 2, shape).astype(bool)
    function = np.logical_and if name == "ReduceLogicalAnd" else np.logical_or
    for keep in (False, True):
        expected = function.reduce(x, axis=tuple(axes), keepdims=keep)
        np.testing.assert_array_equal(run(get(name), x, np.array(axes, np.int64), keep_dims=keep)[0], expected)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("name", NUMERIC)
def test_narrow_floats_round_once(name: str, dtype: type) -> None:
    x = np.random.default_rng(0).uniform(0.9, 1.1, size=(3, 3000)).astype(dtype)
    axes = np.array([1], np.int32)
    wide = get(name)(x.astype(np.float32), axes).astype(dtype)
    np.testing.assert_array_equal(run(get(name), x, axes)[0].astype(np.float32), wide.astype(np.float32))


def test_integers_wrap_but_a_mean_does_not() -> None:
    x, axes = np.array([[100, 100], [-100, -100]], np.int8), np.array([1])
    expected = {"ReduceSum": [-56, 56], "ReduceProd": [16, 16], "ReduceMean": [100, -100], "ReduceL1": [-56, -56]}
    for name, values in expected.items():
        np.testing.assert_array_equal(run(get(name), x, axes)[0], np.array(values, np.int8))
    highest = np.array([[2**64 - 1, 2**63]], np.uint64)
    np.testing.assert_array_equal(run(get("ReduceMax"), highest, axes)[0], np.array([2**64 - 1], np.uint64))


def test_l2_of_integers_is_rounded() -> None:
    np.testing.assert_array_equal(run(get("ReduceL2"), np.array([[3, 4], [1, 1], [2, 2]]), np.array([1]))[0], [5, 1, 3])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", NUMERIC)
def test_of_nothing(name: str) -> None:
    with np.errstate(all="warn"):
        found = run(get(name), np.zeros((2, 0, 3), np.float32), np.array([1]))[0]
        whole = run(get(name), np.zeros((2, 0, 3), np.int32), np.array([1]), keep_dims=True)[0]
    lowest = np.finfo(np.float32).min
    real = {"ReduceProd": 1, "ReduceMax": lowest, "ReduceMin": np.inf}.get(name, 0)
    integer = {"ReduceProd": 1, "ReduceMax": -(2**31), "ReduceMin": 2**31 - 1}.get(name, 0)
    np.testing.assert_array_equal(found, np.full((2, 3), real, np.float32))
    np.testing.assert_array_equal(whole, np.full((2, 1, 3), integer, np.int32))
    if name != "ReduceL2":
        np.testing.assert_array_equal(found, reduced_by_core(name, np.zeros((2, 0, 3), np.float32), [1], False))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", NUMERIC)
def test_nan_passes(name: str) -> None:
    x = np.array([[1, np.nan, -3], [np.nan, 1, np.inf]], np.float32)
    with np.errstate(all="warn"):
        assert np.isnan(run(get(name), x, np.array([1]))[0]).all()


@pytest.mark.parametrize("name", NUMERIC)
def test_empty_axes_reduce_nothing(name: str) -> None:
    x = np.array([[1.5, -2], [0, -3]], np.float32)
    expected = np.abs(x) if name in ("ReduceL1", "ReduceL2") else x
    for keep in (False, True):
        np.testing.assert_array_equal(run(get(name), x, np.array([], np.int64), keep_dims=keep)[0], expected)


@pytest.mark.parametrize("name", NUMERIC)
def test_out_scalar_axes_and_scalar_data(name: str) -> None:
    x = np.random.default_rng(0).uniform(0.5, 1.5, (3, 4)).astype(np.float32)
    out = np.empty(4, np.float32)
    assert get(name)(x, np.array(0), out=out) is out
    np.testing.assert_array_equal(out, run(get(name), x, np.array([0], np.uint8))[0])
    np.testing.assert_array_equal(run(get(name), x[0, 0] * np.ones((), np.float32), np.array([0]))[0], x[0, 0])


def test_large_sums_keep_their_precision() -> None:
    x = np.full((4, 100_000), 0.1, np.float32)
    np.testing.assert_allclose(run(get("ReduceSum"), x, np.array([1]))[0], 10_000, rtol=1e-6)
    np.testing.assert_allclose(run(get("ReduceMean"), x, np.array([0, 1]))[0], 0.1, rtol=1e-6)


def test_c1_axes_are_a_scalar_or_1d() -> None:
    _, breaches = infer(get("ReduceSum"), [tensor(F32, "2,3"), tensor(I64, "1,1", [[0]])])
    assert [b.constraint for b in breaches] == ["C1"]
    with pytest.raises(ConstraintError):
        get("ReduceSum")(np.ones((2, 3)), np.array([[0]]))


@pytest.mark.parametrize("axes", [[1, 1], [0, -2]])
def test_c2_axes_are_unique(axes: list[int]) -> None:
    _, breaches = infer(get("ReduceSum"), [tensor(F32, "2,3"), tensor(I64, "2", axes)])
    assert [b.constraint for b in breaches] == ["C2"]
    with pytest.raises(ConstraintError):
        get("ReduceSum")(np.ones((2, 3)), np.array(axes))


@pytest.mark.parametrize("axis", [2, -3])
def test_c3_axes_lie_in_the_rank(axis: int) -> None:
    _, breaches = infer(get("ReduceMax"), [tensor(F32, "2,3"), tensor(I64, "1", [axis])])
    assert [b.constraint for b in breaches] == ["C3"]
    with pytest.raises(ConstraintError):
        get("ReduceMax")(np.ones((2, 3)), np.array([axis]))


@pytest.mark.parametrize(
    ("data", "axes", "keep", "expected"),
    [
        ("2,?,4", tensor(I64, "1", [1]), False, "2,4"),
        ("2,?,4", tensor(I64, "1", [1]), True, "2,1,4"),
        ("2,?,4", tensor(I64, "2"), False, "?"),
        ("2,?,4", tensor(I64, "?"), True, "1..2,?,1..4"),
        ("2,?,4", tensor(I64, ""), False, "?,?"),
        ("2,?,4", tensor(I64, "?"), False, "..."),
        ("...", tensor(I64, "1", [1]), True, "..."),
    ],
)
def test_inference(data: str, axes: object, keep: bool, expected: str) -> None:
    [found], breaches = infer(get("ReduceMean"), [tensor(F32, data), axes], keep_dims=keep)
    assert not breaches
    assert found.shape == PartialShape.parse(expected)


def test_types() -> None:
    assert [b.code for b in infer(get("ReduceMax"), [tensor(BOOLEAN, "2"), tensor(I64, "1", [0])])[1]] == ["O002"]
    assert [b.code for b in infer(get("ReduceLogicalOr"), [tensor(F32, "2"), tensor(I64, "1", [0])])[1]] == ["O002"]
    assert [b.code for b in infer(get("ReduceMax"), [tensor(F32, "2"), tensor(F32, "1", [0])])[1]] == ["O002"]


def test_intervals_pass_through_sum_and_product() -> None:
    known = np.array([2, Dimension(3, 5), 4], object)
    for name, expected in (("ReduceProd", Dimension(24, 40)), ("ReduceSum", Dimension(9, 11))):
        assert get(name).kernel(known, np.array([0])).item() == expected
        assert list(get(name).kernel(known, np.array([0]), keep_dims=True)) == [expected]


@pytest.mark.parametrize("kind", [F8E4M3, F8E5M2])
def test_the_extremes_of_8_bit_floats(kind: ElementType) -> None:
    data = np.array([[1, -2, 0.5], [4, np.nan, 8]], kind.dtype)
    greatest, least = (get(name)(data, np.array([1])) for name in ("ReduceMax", "ReduceMin"))
    assert greatest.dtype == least.dtype == kind.dtype
    np.testing.assert_array_equal(greatest.astype(np.float32), [1, np.nan])
    np.testing.assert_array_equal(least.astype(np.float32), [-2, np.nan])
    assert [b.code for b in infer(get("ReduceSum"), [tensor(kind, "2"), tensor(I64, "1", [0])])[1]] == ["O002"]
