"""LRN-1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import the
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32, I64
from irexec.ops.spec.operator import ConstraintError

LRN = {"alpha": 0.5, "beta": 0.75, "bias": 1.5, "size": 3}


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("size", [1, 3, 5])
@pytest.mark.parametrize("axes", [[1], [2, 3]])
def test_lrn_agrees_with_openvino(axes: list[int], size: int) -> None:
    # OpenVINO's CPU plugin drops the fraction of bias.
    x, places, attributes = normal(2, 6, 4, 5), np.array(axes), LRN | {"size": size, "bias": 2.0}
    theirs = openvino(the("LRN", 1), x, places, fixed=[1], **attributes)[0]
    np.testing.assert_allclose(run(the("LRN", 1), x, places, **attributes)[0], theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 9])
def test_lrn_is_the_formula_of_the_page(size: int) -> None:
    """The formula is also followed for even sizes, for which OpenVINO's region is smaller."""
    x = normal(2, 6, 3).astype(np.float64)
    squares = np.stack([(x[:, max(0, b - size // 2) : b + size // 2 + 1] ** 2).sum(1) for b in range(6)], 1)
    expected = x / (1.5 + 0.5 / size * squares) ** 0.75
    np.testing.assert_allclose(run(the("LRN", 1), x, np.array([-2]), **LRN | {"size": size})[0], expected)


def test_lrn_c1_c2_c3() -> None:
    for axes, constraint in [
        (tensor(I64, "1,1"), "C1"),
        (tensor(I64, "1", [3]), "C2"),
        (tensor(I64, "2", [1, -2]), "C3"),
        (tensor(I64, "4"), "C3"),
    ]:
        assert [b.constraint for b in infer(the("LRN", 1), [tensor(F32, "1,2,3"), axes], **LRN)[1]] == [constraint]
    assert the("LRN", 1).parse_attributes(LRN | {"size": "0"})[1]
    with pytest.raises(ConstraintError):
        the("LRN", 1)(normal(2, 3), np.array([2]), **LRN)


@pytest.mark.parametrize("type", ["LRN", "NormalizeL2", "GRN"])
def test_f16_does_not_overflow_on_the_way(type: str) -> None:
    x = np.full((1, 2), 30000, np.float16)
    given: Any = {
        "LRN": ([np.array([1])], {"alpha": 1.0, "beta": 0.5, "bias": 0.0, "size": 1}),
        "NormalizeL2": ([np.array([1])], {"eps": 1.0, "eps_mode": "add"}),
        "GRN": ([], {"bias": 1.0}),
    }[type]
    expected = 1 if type == "LRN" else np.sqrt(0.5)
    np.testing.assert_allclose(run(the(type, 1), x, *given[0], **given[1])[0].astype(float), expected, rtol=1e-3)
