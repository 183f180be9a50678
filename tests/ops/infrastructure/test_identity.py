"""Identity: the result equals the input."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32, Dimension
from irexec.ops.infrastructure.identity import identity_16


@pytest.mark.parametrize(
    "dtype", [np.float32, np.bool_, np.int64, ml_dtypes.bfloat16, ml_dtypes.int4, np.dtypes.StringDType()]
)
def test_the_same_array(dtype: object) -> None:
    x = np.array([[1, 0, 1]]).astype(dtype)
    assert identity_16(x) is x
    assert run(identity_16, x)[0] is x


def test_agrees_with_openvino() -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(openvino(identity_16, x)[0], x)


def test_shape_and_known_values_pass() -> None:
    [found], breaches = infer(identity_16, [tensor(F32, "?,2..3")])
    assert not breaches
    assert str(found.shape) == "[?,2..3]"
    partial = np.array([Dimension(1, 2), 3], object)
    assert identity_16(partial) is partial
