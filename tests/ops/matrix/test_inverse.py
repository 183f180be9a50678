"""Inverse: OpenVINO live, constraints, precision."""

from __future__ import annotations

import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32
from irexec.ops.spec.contents import find
from irexec.ops.spec.operator import ConstraintError, Operator


def op() -> Operator:
    found = find("Inverse", "opset14")
    assert found is not None
    return found


@pytest.mark.parametrize("adjoint", [False, True])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (5, 4, 3, 2, 2), (1, 1), (0, 2, 2)])
def test_agrees_with_openvino(shape: tuple[int, ...], adjoint: bool) -> None:
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32) + 3 * np.eye(shape[-1], dtype=np.float32)
    mine = run(op(), x, adjoint=adjoint)[0]
    if x.size:
        np.testing.assert_allclose(mine, openvino(op(), x, adjoint=adjoint)[0], rtol=1e-3, atol=1e-4)


def test_every_type_is_computed_in_f32() -> None:
    x = np.array([[4, 7], [2, 6]])
    single = np.linalg.inv(x.astype(np.float32))
    np.testing.assert_array_equal(run(op(), x.astype(np.float64))[0], single.astype(np.float64))
    np.testing.assert_array_equal(run(op(), x.astype(np.float16))[0], single.astype(np.float16))


def test_c1_singular_matrices_are_refused() -> None:
    with pytest.raises(ConstraintError) as error:
        op()(np.ones((2, 2), np.float32))
    assert error.value.constraint == "C1"


def test_c2_c3_square() -> None:
    assert [b.constraint for b in infer(op(), [tensor(F32, "3")])[1]] == ["C2"]
    assert [b.constraint for b in infer(op(), [tensor(F32, "2,3,4")])[1]] == ["C3"]
    (result,), breaches = infer(op(), [tensor(F32, "?,?,3")])
    assert not breaches and str(result.shape) == "[?,3,3]"
    with pytest.raises(ConstraintError):
        op()(np.ones((2, 3), np.float32))
