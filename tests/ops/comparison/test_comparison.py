"""Comparisons: compared with OpenVINO; strings, 64-bit values, NaN."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import BOOLEAN, F32, I32
from irexec.ops.spec.contents import find
from irexec.ops.spec.operator import Operator

NAMES = {
    "Equal": np.equal,
    "NotEqual": np.not_equal,
    "Greater": np.greater,
    "GreaterEqual": np.greater_equal,
    "Less": np.less,
    "LessEqual": np.less_equal,
}


def get(name: str) -> Operator:
    found = find(name, "opset1")
    assert found is not None
    return found


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint8])
def test_agrees_with_openvino(name: str, dtype: type) -> None:
    rng = np.random.default_rng(len(name))
    a, b = rng.integers(0, 3, (2, 1, 5)).astype(dtype), rng.integers(0, 3, (1, 4, 5)).astype(dtype)
    np.testing.assert_array_equal(run(get(name), a, b)[0], openvino(get(name), a, b)[0])


@pytest.mark.parametrize("name", NAMES)
def test_every_bit_counts(name: str) -> None:
    # The CPU plugin compares f64 as f32, i64 as i32 and u32 as i32.
    for values in (np.array([2**40, 2**40 + 1]), np.array([1.0, 1 + 1e-12]), np.array([1, 2**31 + 1], np.uint32)):
        a, b = values, values[::-1].copy()
        np.testing.assert_array_equal(run(get(name), a, b)[0], NAMES[name]([0, 1], [1, 0]))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_nan_is_unequal_to_everything(name: str, dtype: type) -> None:
    a = np.array([np.nan, np.nan, 1, np.inf, -0.0]).astype(dtype)
    b = np.array([np.nan, 1, np.nan, np.inf, 0.0]).astype(dtype)
    same = name in ("Equal", "GreaterEqual", "LessEqual")
    with np.errstate(all="warn"):
        found = run(get(name), a, b)[0]
    np.testing.assert_array_equal(found, [name == "NotEqual"] * 3 + [same, same])


@pytest.mark.parametrize("name", NAMES)
def test_strings(name: str) -> None:
    a = np.array([["a", "bc", ""], ["ünï", "日本", "x"]], np.dtypes.StringDType())
    b = np.array(["a", "bd", "x"], np.dtypes.StringDType())
    first, second = ([[str(v) for v in row] for row in np.broadcast_arrays(a, b)[k]] for k in (0, 1))
    by_hand: dict[str, Any] = {
        "Equal": str.__eq__,
        "NotEqual": str.__ne__,
        "Greater": str.__gt__,
        "GreaterEqual": str.__ge__,
        "Less": str.__lt__,
        "LessEqual": str.__le__,
    }
    pairs = zip(first, second, strict=True)
    expected = [[by_hand[name](x, y) for x, y in zip(p, q, strict=True)] for p, q in pairs]
    np.testing.assert_array_equal(run(get(name), a, b)[0], expected)
    np.testing.assert_array_equal(get(name)(a.astype("T").astype(object).astype(str), b), expected)


def test_equality_of_strings_agrees_with_the_core() -> None:
    a, b = (np.array(v, np.dtypes.StringDType()) for v in (["a", "bc", "ünï"], ["a", "bd", "ünï"]))
    np.testing.assert_array_equal(run(get("Equal"), a, b)[0], [True, False, True])


@pytest.mark.parametrize("dtype", [np.bool_, ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.float8_e4m3fn])
def test_any_type(dtype: type) -> None:
    a, b = np.array([0, 1, 1]).astype(dtype), np.array([0, 0, 1]).astype(dtype)
    np.testing.assert_array_equal(run(get("Equal"), a, b)[0], [True, False, True])
    np.testing.assert_array_equal(run(get("Less"), b, a)[0], [False, True, False])


def test_out_and_inference() -> None:
    out = np.empty((2, 3), np.bool_)
    assert get("Less")(np.zeros((2, 3)), np.ones(3), out=out) is out
    assert out.all()
    [found], breaches = infer(get("Less"), [tensor(F32, "?,3"), tensor(F32, "2,1")])
    assert not breaches
    assert (found.element_type, str(found.shape)) == (BOOLEAN, "[2,3]")
    assert [b.code for b in infer(get("Less"), [tensor(F32, "2"), tensor(I32, "2")])[1]] == ["O003"]
    assert [b.constraint for b in infer(get("Less"), [tensor(F32, "2"), tensor(F32, "3")])[1]] == ["broadcast"]
