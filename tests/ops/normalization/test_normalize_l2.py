"""NormalizeL2-1."""

from __future__ import annotations

import numpy as np
import pytest
from support.cases import the
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32, I64
from irexec.ops.spec.operator import ConstraintError


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("mode", ["add", "max"])
@pytest.mark.parametrize("axes", [[1], [1, 2, 3], [2], [0, 3]])
def test_normalize_l2_agrees_with_openvino(axes: list[int], mode: str) -> None:
    x, places, attributes = normal(2, 3, 4, 5), np.array(axes), {"eps": 5.0, "eps_mode": mode}
    theirs = openvino(the("NormalizeL2", 1), x, places, fixed=[1], **attributes)[0]
    np.testing.assert_allclose(run(the("NormalizeL2", 1), x, places, **attributes)[0], theirs, rtol=1e-4, atol=1e-5)


def test_normalize_l2_without_axes_gives_ones() -> None:
    x = np.array([[2, -3, 0]], np.float32)
    attributes = {"eps": 0.1, "eps_mode": "add"}
    assert run(the("NormalizeL2", 1), x, np.zeros(0, np.int64), **attributes)[0].tolist() == [[1, 1, 0]]
    scalar = run(the("NormalizeL2", 1), x, np.array(-1), **attributes)[0]
    np.testing.assert_array_equal(scalar, run(the("NormalizeL2", 1), x, np.array([1]), **attributes)[0])


def test_normalize_l2_c1_c2_c3() -> None:
    attributes = {"eps": 0.1, "eps_mode": "max"}
    for axes, constraint in [
        (tensor(I64, "1,1"), "C1"),
        (tensor(I64, "2", [1, -2]), "C2"),
        (tensor(I64, "1", [-4]), "C3"),
    ]:
        found = infer(the("NormalizeL2", 1), [tensor(F32, "1,2,3"), axes], **attributes)[1]
        assert [b.constraint for b in found] == [constraint]
    with pytest.raises(ConstraintError):
        the("NormalizeL2", 1)(normal(2, 3), np.array([2]), **attributes)
