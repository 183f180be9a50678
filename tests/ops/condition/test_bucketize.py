"""Bucketize-3."""

from __future__ import annotations

import numpy as np
import pytest
from support.cases import broken, data, refuses, the
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32, I64

non_zero, bucketize = the("NonZero", 3), the("Bucketize", 3)


def test_bucketize_page_example() -> None:
    values, boundaries = np.array([[3, 50], [10, -1]]), np.array([0, 5, 10])
    assert run(bucketize, values, boundaries)[0].tolist() == [[1, 3], [2, 0]]
    assert run(bucketize, values, boundaries, with_right_bound="false")[0].tolist() == [[1, 3], [3, 0]]
    (result,) = run(bucketize, values, boundaries[:0], output_type="i32")
    assert (result.tolist(), result.dtype) == ([[0, 0], [0, 0]], np.dtype(np.int32))


@pytest.mark.parametrize("right", ["true", "false"])
@pytest.mark.parametrize(("a", "b"), [("f32", "f32"), ("i32", "f32"), ("f32", "i64"), ("i32", "i32")])
def test_bucketize_agrees_with_openvino(a: str, b: str, right: str) -> None:
    rng = np.random.default_rng(1)
    values, boundaries = data(rng, a, 3, 4), np.unique(data(rng, b, 5))
    attributes = {"with_right_bound": right, "output_type": "i32"}
    ours = run(bucketize, values, boundaries, **attributes)[0]
    np.testing.assert_array_equal(ours, openvino(bucketize, values, boundaries, **attributes)[0])


def test_bucketize_compares_large_integers_exactly() -> None:
    big = 2**53
    assert run(bucketize, np.array([big + 1]), np.array([big, big + 1, big + 2]))[0].tolist() == [1]
    signed, unsigned = np.array([-1, big + 1]), np.array([big, big + 1, 2**64 - 1], np.uint64)
    assert run(bucketize, signed, unsigned)[0].tolist() == [0, 1]
    assert run(bucketize, unsigned, signed)[0].tolist() == [1, 1, 2]
    assert run(bucketize, np.array([-5, 3, 4]), np.array([1, 2, 4], np.uint32))[0].tolist() == [0, 2, 2]
    top, beyond = np.array([2**63 - 1]), np.array([2**63], np.uint64)
    assert run(bucketize, top, beyond, with_right_bound="false")[0].tolist() == [0]
    assert run(bucketize, beyond, top)[0].tolist() == [1]


def test_bucketize_constraints() -> None:
    assert "C1" in broken(bucketize, np.ones(2), np.ones((1, 1)))
    refuses(bucketize, "C2", np.ones(2), np.array([1, 0]))
    refuses(bucketize, "C2", np.ones(2), np.array([1, 1]))
    (out,), _ = infer(bucketize, [tensor(F32, "?,2"), tensor(I64, "?")])
    assert str(out) == "i64[?,2]"
