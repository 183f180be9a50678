"""GRN-1."""

from __future__ import annotations

import numpy as np
import pytest
from support.cases import the
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32
from irexec.ops.spec.operator import ConstraintError


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4), (2, 3, 4, 5)])
def test_grn_agrees_with_openvino(shape: tuple[int, ...]) -> None:
    theirs = openvino(the("GRN", 1), normal(*shape), bias=0.3)[0]
    np.testing.assert_allclose(run(the("GRN", 1), normal(*shape), bias=0.3)[0], theirs, rtol=1e-4, atol=1e-5)


def test_grn_c1_rank() -> None:
    assert [b.constraint for b in infer(the("GRN", 1), [tensor(F32, "3")], bias=0.1)[1]] == ["C1"]
    with pytest.raises(ConstraintError):
        the("GRN", 1)(normal(1, 2, 1, 1, 1), bias=0.1)
