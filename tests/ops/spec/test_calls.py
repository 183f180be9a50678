"""The shape rule checks a direct call of an operator, with the message and constraint number of validation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import the

import irexec
from irexec.ops.rules.windows import Windowing
from irexec.ops.spec.constraints import ConstraintError

F = np.float32


def test_a_call_and_an_evaluation_report_the_same() -> None:
    data, indices, updates = np.zeros((2, 3), F), np.array([[0]]), np.zeros((1, 4), F)
    with pytest.raises(ConstraintError) as raised:
        the("ScatterNDUpdate", 15)(data, indices, updates)
    with pytest.raises(irexec.IRError) as caught:
        irexec.opset15.scatter_nd_update(data, indices, updates)
    [finding] = caught.value.report
    assert (finding.constraint, finding.message) == ("ScatterNDUpdate-15 C5", raised.value.message)
    assert (raised.value.constraint, raised.value.port) == ("C5", "updates")


def test_values_are_checked_by_the_rule_too() -> None:
    with pytest.raises(ConstraintError, match=r"\[0, 0\] is not a permutation of the 2 axes of arg"):
        the("Transpose", 1)(np.zeros((2, 3)), np.array([0, 0]))


def test_a_group_may_be_given_whole() -> None:
    x, kernel = np.ones((1, 1, 3), F), np.ones((1, 1, 2), F)
    plain: dict[str, Any] = {"strides": (1,), "pads_begin": (0,), "pads_end": (0,), "dilations": (1,)}
    convolution = the("Convolution", 1)
    whole = convolution(x, kernel, windows=Windowing(**plain))
    assert whole.tolist() == convolution(x, kernel, **plain).tolist() == [[[2, 2]]]
    with pytest.raises(ConstraintError, match="strides has 2 values"):
        convolution(x, kernel, windows=Windowing(**plain | {"strides": (1, 1)}))


def test_element_types_are_checked() -> None:
    with pytest.raises(TypeError, match="b is f64, expected f32 as a is"):
        the("Add", 1)(np.ones(2, F), np.ones(2))


def test_bits_may_be_given_as_bytes() -> None:
    """u1 and u8 have the same dtype in NumPy: the type that the port accepts decides."""
    plain: dict[str, Any] = {"strides": (1, 1), "pads_begin": (0, 0), "pads_end": (0, 0), "dilations": (1, 1)}
    x, kernel = np.ones((1, 1, 1, 1), F), np.ones((1, 1, 1, 1), np.uint8)
    assert the("BinaryConvolution", 1)(x, kernel, **plain, mode="xnor-popcount", pad_value=0.0).item() == 1


def test_an_incomplete_call_is_refused_by_python() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        the("Add", 1)(np.ones(2, F))
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument"):
        the("Concat", 1)(np.ones(2, F))


def test_a_kernel_alone_checks_no_shapes() -> None:
    """The engine runs kernels after inference, which has checked the shapes."""
    with pytest.raises(ValueError, match="dimension"):
        the("Concat", 1).compute(np.ones((2, 3)), np.ones((3, 2)), axis=0)
