"""IsFinite, IsInf, IsNaN: compared with OpenVINO and with expected values."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import BOOLEAN, F32, I32
from irexec.ops.comparison.classify import is_finite_10, is_inf_10, is_nan_10
from irexec.ops.spec.operator import Operator

VALUES = np.array([[0.0, -0.0, 1.5], [np.inf, -np.inf, np.nan]], np.float32)


@pytest.mark.parametrize("op", [is_finite_10, is_inf_10, is_nan_10])
def test_agrees_with_openvino(op: Operator) -> None:
    np.testing.assert_array_equal(run(op, VALUES)[0], openvino(op, VALUES)[0])


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_every_float_type(dtype: type) -> None:
    x = VALUES.astype(dtype)
    np.testing.assert_array_equal(run(is_finite_10, x)[0], [[True] * 3, [False] * 3])
    np.testing.assert_array_equal(run(is_inf_10, x)[0], [[False] * 3, [True, True, False]])
    np.testing.assert_array_equal(run(is_nan_10, x)[0], [[False] * 3, [False, False, True]])


@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("positive", [False, True])
def test_is_inf_detects_the_signs_it_is_asked_for(negative: bool, positive: bool) -> None:
    attributes = {"detect_negative": negative, "detect_positive": positive}
    expected = [[False] * 3, [positive, negative, False]]
    np.testing.assert_array_equal(run(is_inf_10, VALUES, **attributes)[0], expected)
    out = np.ones((2, 3), np.bool_)
    assert is_inf_10(VALUES, out=out, **attributes) is out
    np.testing.assert_array_equal(out, expected)


def test_numbers_beyond_f32_are_finite() -> None:
    # The CPU plugin computes f64 in f32, where 1e300 is infinite, and treats denormal numbers as infinite.
    assert run(is_finite_10, np.array([1e300]))[0].all()
    assert run(is_finite_10, np.array([1e-40], np.float32))[0].all()


@pytest.mark.parametrize("op", [is_finite_10, is_inf_10, is_nan_10])
def test_inference(op: Operator) -> None:
    [found], breaches = infer(op, [tensor(F32, "?,3")])
    assert not breaches
    assert (found.element_type, str(found.shape)) == (BOOLEAN, "[?,3]")
    assert [b.code for b in infer(op, [tensor(I32, "3")])[1]] == ["O002"]
