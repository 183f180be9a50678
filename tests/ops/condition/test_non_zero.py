"""NonZero-3."""

from __future__ import annotations

import numpy as np
import pytest
from support.cases import KINDS, data, the
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32

non_zero, bucketize = the("NonZero", 3), the("Bucketize", 3)


@pytest.mark.parametrize("kind", [k for k in KINDS if k != "string"])
def test_non_zero_of_every_type(kind: str) -> None:
    table = data(np.random.default_rng(0), kind, 3, 4)
    (result,) = run(non_zero, table)
    np.testing.assert_array_equal(result, np.nonzero(table.astype(np.float64)))


def test_non_zero() -> None:
    assert run(non_zero, np.array([[1, 0], [1, 1]]))[0].tolist() == [[0, 1, 1], [0, 0, 1]]
    (result,) = run(non_zero, np.array([np.nan, -0.0, 1e-45, 0], np.float32), output_type="i32")
    assert (result.tolist(), result.dtype) == ([[0, 2]], np.dtype(np.int32))
    assert run(non_zero, np.zeros((2, 0, 3)))[0].shape == (3, 0)
    assert run(non_zero, np.array(["a", ""], np.dtypes.StringDType()))[0].tolist() == [[0]]
    (out,), _ = infer(non_zero, [tensor(F32, "2,3")])
    assert str(out) == "i64[2,..6]"
    (out,), _ = infer(non_zero, [tensor(F32, "...")], output_type="i32")
    assert str(out) == "i32[?,?]"


def test_non_zero_of_a_scalar_is_that_of_one_element() -> None:
    for value in (3.0, 0.0):
        table = np.array(value, np.float32)
        np.testing.assert_array_equal(run(non_zero, table)[0], openvino(non_zero, table)[0])
        assert run(non_zero, table)[0].shape == (1, int(value != 0))
