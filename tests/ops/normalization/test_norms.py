"""LRN, NormalizeL2 and GRN: OpenVINO live, the pages' formulas, constraints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

from irexec.ops.declare.contents import find
from irexec.ops.declare.operator import ConstraintError, Operator
from irexec.types import F32, I64

LRN = {"alpha": 0.5, "beta": 0.75, "bias": 1.5, "size": 3}


def op(type: str) -> Operator:
    found = find(type, "opset1")
    assert found is not None
    return found


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("size", [1, 3, 5])
@pytest.mark.parametrize("axes", [[1], [2, 3]])
def test_lrn_agrees_with_openvino(axes: list[int], size: int) -> None:
    # OpenVINO's CPU plugin drops the fraction of bias.
    x, places, attributes = normal(2, 6, 4, 5), np.array(axes), LRN | {"size": size, "bias": 2.0}
    theirs = openvino(op("LRN"), x, places, fixed=[1], **attributes)[0]
    np.testing.assert_allclose(run(op("LRN"), x, places, **attributes)[0], theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 9])
def test_lrn_is_the_formula_of_the_page(size: int) -> None:
    """Even sizes included, where OpenVINO's region is smaller."""
    x = normal(2, 6, 3).astype(np.float64)
    squares = np.stack([(x[:, max(0, b - size // 2) : b + size // 2 + 1] ** 2).sum(1) for b in range(6)], 1)
    expected = x / (1.5 + 0.5 / size * squares) ** 0.75
    np.testing.assert_allclose(run(op("LRN"), x, np.array([-2]), **LRN | {"size": size})[0], expected)


def test_lrn_c1_c2_c3() -> None:
    for axes, constraint in [
        (tensor(I64, "1,1"), "C1"),
        (tensor(I64, "1", [3]), "C2"),
        (tensor(I64, "2", [1, -2]), "C3"),
    ]:
        assert [b.constraint for b in infer(op("LRN"), [tensor(F32, "1,2,3"), axes], **LRN)[1]] == [constraint]
    assert op("LRN").parse_attributes(LRN | {"size": "0"})[1]
    with pytest.raises(ConstraintError):
        op("LRN")(normal(2, 3), np.array([2]), **LRN)


@pytest.mark.parametrize("mode", ["add", "max"])
@pytest.mark.parametrize("axes", [[1], [1, 2, 3], [2], [0, 3]])
def test_normalize_l2_agrees_with_openvino(axes: list[int], mode: str) -> None:
    x, places, attributes = normal(2, 3, 4, 5), np.array(axes), {"eps": 5.0, "eps_mode": mode}
    theirs = openvino(op("NormalizeL2"), x, places, fixed=[1], **attributes)[0]
    np.testing.assert_allclose(run(op("NormalizeL2"), x, places, **attributes)[0], theirs, rtol=1e-4, atol=1e-5)


def test_normalize_l2_without_axes_gives_ones() -> None:
    x = np.array([[2, -3, 0]], np.float32)
    attributes = {"eps": 0.1, "eps_mode": "add"}
    assert run(op("NormalizeL2"), x, np.zeros(0, np.int64), **attributes)[0].tolist() == [[1, 1, 0]]
    scalar = run(op("NormalizeL2"), x, np.array(-1), **attributes)[0]
    np.testing.assert_array_equal(scalar, run(op("NormalizeL2"), x, np.array([1]), **attributes)[0])


def test_normalize_l2_c1_c2_c3() -> None:
    attributes = {"eps": 0.1, "eps_mode": "max"}
    for axes, constraint in [
        (tensor(I64, "1,1"), "C1"),
        (tensor(I64, "2", [1, -2]), "C2"),
        (tensor(I64, "1", [-4]), "C3"),
    ]:
        found = infer(op("NormalizeL2"), [tensor(F32, "1,2,3"), axes], **attributes)[1]
        assert [b.constraint for b in found] == [constraint]
    with pytest.raises(ConstraintError):
        op("NormalizeL2")(normal(2, 3), np.array([2]), **attributes)


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4), (2, 3, 4, 5)])
def test_grn_agrees_with_openvino(shape: tuple[int, ...]) -> None:
    theirs = openvino(op("GRN"), normal(*shape), bias=0.3)[0]
    np.testing.assert_allclose(run(op("GRN"), normal(*shape), bias=0.3)[0], theirs, rtol=1e-4, atol=1e-5)


def test_grn_c1_rank() -> None:
    assert [b.constraint for b in infer(op("GRN"), [tensor(F32, "3")], bias=0.1)[1]] == ["C1"]
    with pytest.raises(ConstraintError):
        op("GRN")(normal(1, 2, 1, 1, 1), bias=0.1)


@pytest.mark.parametrize("type", ["LRN", "NormalizeL2", "GRN"])
def test_f16_does_not_overflow_on_the_way(type: str) -> None:
    x = np.full((1, 2), 30000, np.float16)
    given: Any = {
        "LRN": ([np.array([1])], {"alpha": 1.0, "beta": 0.5, "bias": 0.0, "size": 1}),
        "NormalizeL2": ([np.array([1])], {"eps": 1.0, "eps_mode": "add"}),
        "GRN": ([], {"bias": 1.0}),
    }[type]
    expected = 1 if type == "LRN" else np.sqrt(0.5)
    np.testing.assert_allclose(run(op(type), x, *given[0], **given[1])[0].astype(float), expected, rtol=1e-3)
