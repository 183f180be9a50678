"""GroupNormalization: OpenVINO live, constraints, threads."""

from __future__ import annotations

import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32
from irexec.ops.spec.contents import find
from irexec.ops.spec.operator import ConstraintError, Operator


def op() -> Operator:
    found = find("GroupNormalization", "opset12")
    assert found is not None
    return found


def inputs(*shape: int) -> list[np.ndarray]:
    rng = np.random.default_rng(len(shape))
    return [rng.normal(1, 2, s).astype(np.float32) for s in (shape, shape[1], shape[1])]


@pytest.mark.parametrize(("shape", "groups"), [((2, 6, 3, 4), 3), ((1, 4, 5), 4), ((3, 6), 2), ((2, 64, 40, 40), 8)])
def test_agrees_with_openvino(shape: tuple[int, ...], groups: int) -> None:
    arrays = inputs(*shape)
    attributes = {"num_groups": groups, "epsilon": 1e-3}
    theirs = openvino(op(), *arrays, **attributes)[0]
    np.testing.assert_allclose(run(op(), *arrays, **attributes)[0], theirs, rtol=1e-3, atol=1e-4)


def breach(data: str, scale: str, bias: str, groups: int) -> list[str | None]:
    known = [tensor(F32, s) for s in (data, scale, bias)]
    return [b.constraint for b in infer(op(), known, num_groups=groups, epsilon=0.1)[1]]


def test_shape_of_the_page() -> None:
    assert breach("3,12,100,100", "12", "12", 4) == []


def test_c1_groups() -> None:
    assert breach("3,12,10", "12", "12", 5) == ["C1"]
    assert breach("3,12,10", "12", "12", 24) == ["C1"]
    with pytest.raises(ConstraintError):
        op()(*inputs(1, 4, 2), num_groups=3, epsilon=0.1)


def test_c2_rank() -> None:
    assert breach("3", "3", "3", 1) == ["C2"]


def test_c3_c4_scale_and_bias() -> None:
    assert breach("3,12,10", "6", "12", 4) == ["C3"]
    assert breach("3,12,10", "12", "12,1", 4) == ["C4"]


def test_empty() -> None:
    assert run(op(), *inputs(0, 4, 3), num_groups=2, epsilon=0.1)[0].shape == (0, 4, 3)
