"""Shape rules of ONNX's operators: what they say to shapes and values that an operator cannot take."""

from __future__ import annotations

import numpy as np
import pytest
from support.oracle import infer, tensor

from irexec.ops.declare.operator import ConstraintError, Operator
from irexec.ops.onnx.random import random_normal_1, random_uniform_1
from irexec.ops.onnx.signals import stft_17
from irexec.types import F32, I64


@pytest.mark.parametrize("op", [random_normal_1, random_uniform_1])
@pytest.mark.parametrize(("shape", "value"), [("", -2), ("2", [3, -1])])
def test_random_numbers_of_a_negative_shape(op: Operator, shape: str, value: object) -> None:
    _, breaches = infer(op, [tensor(I64, shape, value)], to="f32")
    assert [(breach.code, breach.constraint) for breach in breaches] == [("O001", "C1")]


def test_a_window_is_a_line() -> None:
    given = [tensor(F32, "1,128,1"), tensor(I64, "", 8), tensor(F32, "")]
    _, breaches = infer(stft_17, given)
    assert [(breach.code, breach.constraint) for breach in breaches] == [("O001", "C2")]
    with pytest.raises(ConstraintError, match="window"):
        stft_17(np.ones((1, 128, 1), np.float32), np.array(8), np.array(1, np.float32))
