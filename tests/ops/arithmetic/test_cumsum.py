"""CumSum: the page's examples, its constraints, and OpenVINO."""

from __future__ import annotations

import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32, I64, U8
from irexec.ops.arithmetic.cumsum import cumsum_3
from irexec.ops.spec.operator import ConstraintError


@pytest.mark.parametrize(
    ("exclusive", "reverse", "expected"),
    [
        (False, False, [1, 3, 6, 10, 15]),
        (True, False, [0, 1, 3, 6, 10]),
        (False, True, [15, 14, 12, 9, 5]),
        (True, True, [14, 12, 9, 5, 0]),
    ],
)
def test_page_examples(exclusive: bool, reverse: bool, expected: list[float]) -> None:
    x = np.array([1, 2, 3, 4, 5], np.float32)
    found = run(cumsum_3, x, np.array(0), exclusive=exclusive, reverse=reverse)[0]
    np.testing.assert_array_equal(found, np.array(expected, np.float32))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_agrees_with_openvino(axis: int) -> None:
    x = np.random.default_rng(axis + 1).normal(size=(3, 4, 5)).astype(np.float32)
    arguments = {"exclusive": axis == 1, "reverse": axis == -1}
    expected = openvino(cumsum_3, x, np.array(axis), **arguments)[0]
    np.testing.assert_allclose(run(cumsum_3, x, np.array(axis), **arguments)[0], expected, rtol=1e-5, atol=1e-6)


def test_axis_is_0_when_left_out() -> None:
    x = np.arange(6, dtype=np.int32).reshape(2, 3)
    np.testing.assert_array_equal(run(cumsum_3, x, None)[0], [[0, 1, 2], [3, 5, 7]])


def test_integers_wrap_and_f16_rounds_at_the_end() -> None:
    np.testing.assert_array_equal(run(cumsum_3, np.array([100, 100, 100], np.int8), None)[0], [100, -56, 44])
    x = np.full(3000, 1, np.float16)
    assert run(cumsum_3, x, None)[0][-1] == 3000


def test_empty_tensor_and_out() -> None:
    assert run(cumsum_3, np.zeros((0, 3), np.float32), np.array(0))[0].shape == (0, 3)
    out = np.empty(3, np.float32)
    assert cumsum_3(np.ones(3, np.float32), np.array(0), exclusive=True, out=out) is out
    np.testing.assert_array_equal(out, [0, 1, 2])


def test_c1_a_scalar_has_no_axis() -> None:
    _, breaches = infer(cumsum_3, [tensor(F32, ""), tensor(I64, "", 0)])
    assert [b.constraint for b in breaches] == ["C1"]
    with pytest.raises(ConstraintError):
        cumsum_3(np.float32(1) * np.ones(()), None)


def test_axis_is_i32_or_i64() -> None:
    assert [b.code for b in infer(cumsum_3, [tensor(F32, "2,3"), tensor(U8, "")])[1]] == ["O002"]


def test_c2_axis_is_a_scalar() -> None:
    _, breaches = infer(cumsum_3, [tensor(F32, "2,3"), tensor(I64, "2", [0, 1])])
    assert [b.constraint for b in breaches] == ["C2"]


def test_c3_axis_lies_in_the_rank() -> None:
    _, breaches = infer(cumsum_3, [tensor(F32, "2,3"), tensor(I64, "", -3)])
    assert [b.constraint for b in breaches] == ["C3"]
    with pytest.raises(ConstraintError):
        cumsum_3(np.ones((2, 3)), np.array(2))
