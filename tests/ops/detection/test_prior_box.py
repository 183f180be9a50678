"""PriorBox and PriorBoxClustered: compared with OpenVINO, and edge cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

import irexec
from irexec.core.types import I64
from irexec.ops.spec.contents import find
from irexec.ops.spec.operator import ConstraintError, Operator


def op_of(type: str, opset: int) -> Operator:
    op = find(type, f"opset{opset}")
    assert op is not None
    return op


GRID, IMAGE = np.array([2, 3], np.int64), np.array([40, 50], np.int64)
BASE: dict[str, Any] = {"offset": 0.5, "variance": [0.1, 0.1, 0.2, 0.2]}
CASES: list[dict[str, Any]] = [
    {"min_size": [16.0], "max_size": [38.5], "aspect_ratio": [2.0], "flip": True, "step": 16.0},
    {"min_size": [16.0, 20.0], "max_size": [38.5], "aspect_ratio": [2.0, 3.0, 2.0], "clip": True},
    {"min_size": [16.0], "aspect_ratio": [2.0, 0.5], "flip": True, "variance": [0.3]},
    {"min_size": [0.25, 0.5], "aspect_ratio": [2.0], "scale_all_sizes": False, "step": 0.1},
    {"min_size": [0.25], "scale_all_sizes": False, "step": -1.0, "variance": []},
    {"fixed_size": [16.0, 9.7], "density": [2.0, 1.0], "aspect_ratio": [2.0], "flip": True},
    {"fixed_size": [16.0], "density": [2.0], "fixed_ratio": [2.0]},
]


@pytest.mark.parametrize("attributes", CASES)
@pytest.mark.parametrize("opset", [1, 8])
def test_agrees_with_openvino(attributes: dict[str, Any], opset: int) -> None:
    op, attributes = op_of("PriorBox", opset), BASE | attributes
    ours, theirs = run(op, GRID, IMAGE, **attributes)[0], openvino(op, GRID, IMAGE, **attributes)[0]
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("order", [False, True])
def test_order_of_opset_8(order: bool) -> None:
    attributes = BASE | CASES[0] | {"min_max_aspect_ratios_order": order}
    op = op_of("PriorBox", 8)
    theirs = openvino(op, GRID, IMAGE, constants=True, **attributes)[0]
    np.testing.assert_allclose(run(op, GRID, IMAGE, **attributes)[0], theirs, rtol=1e-5, atol=1e-6)


def test_max_size_is_ignored_without_scale_all_sizes() -> None:
    # As the page specifies; OpenVINO also writes these boxes, over its other results.
    attributes = BASE | {"min_size": [0.25], "scale_all_sizes": False, "aspect_ratio": [2.0]}
    op = op_of("PriorBox", 8)
    one, other = run(op, GRID, IMAGE, **attributes), run(op, GRID, IMAGE, **attributes, max_size=[0.5])
    np.testing.assert_array_equal(one, other)


def test_boxes_that_are_fewer_than_declared_are_followed_by_zeros() -> None:
    attributes = BASE | {"fixed_size": [16.0], "density": [2.0], "fixed_ratio": [2.0], "aspect_ratio": [3.0]}
    boxes = run(op_of("PriorBox", 8), GRID, IMAGE, **attributes)[0][0]
    present = boxes.reshape(-1, 4).any(axis=1)
    assert present.tolist() == [True] * (6 * 4) + [False] * 6


@pytest.mark.parametrize(
    "attributes",
    [
        {"step": 16.0, "step_w": 8.0, "step_h": 12.0},
        {"step": 16.0, "clip": False},
        {"variance": [0.3]},
        {"variance": [], "offset": 0.0},
    ],
)
def test_clustered_agrees_with_openvino(attributes: dict[str, Any]) -> None:
    op = op_of("PriorBoxClustered", 1)
    attributes = BASE | {"width": [86.0, 13.0, 57.0], "height": [44.0, 10.0, 30.0]} | attributes
    ours, theirs = run(op, GRID, IMAGE, **attributes)[0], openvino(op, GRID, IMAGE, **attributes)[0]
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_clustered_defaults() -> None:
    op = op_of("PriorBoxClustered", 1)
    one = run(op, GRID, offset=0.5)[0]
    np.testing.assert_array_equal(one, run(op, GRID, GRID, offset=0.5, width=[1.0], height=[1.0])[0])


@pytest.mark.parametrize("type", ["PriorBox", "PriorBoxClustered"])
def test_c1_c2_sizes(type: str) -> None:
    op = op_of(type, 1)
    for types, constraint in [
        ([tensor(I64, "3"), tensor(I64, "2")], "C1"),
        ([tensor(I64, "2"), tensor(I64, "1,2")], "C1"),
        ([tensor(I64, "2", [-1, 2]), tensor(I64, "2")], "C2"),
        ([tensor(I64, "2"), tensor(I64, "2", [0, 2])], "C2"),
    ]:
        assert {b.constraint for b in infer(op, types, offset=0.5)[1]} == {constraint}
    with pytest.raises(ConstraintError):
        op(GRID, np.array([0, 1]), offset=0.5)


@pytest.mark.parametrize("type", ["PriorBox", "PriorBoxClustered"])
def test_c3_variance(type: str) -> None:
    types = [tensor(I64, "2"), tensor(I64, "2")]
    found = infer(op_of(type, 1), types, offset=0.5, variance=[0.1, 0.2])[1]
    assert {b.constraint for b in found} == {"C3"}


def test_c4() -> None:
    types = [tensor(I64, "2"), tensor(I64, "2")]
    for attributes in ({"fixed_size": [1.0, 2.0], "density": [1.0]}, {"fixed_size": [1.0], "density": [0.5]}):
        assert {b.constraint for b in infer(op_of("PriorBox", 8), types, offset=0.5, **attributes)[1]} == {"C4"}
    found = infer(op_of("PriorBoxClustered", 1), types, offset=0.5, width=[1.0, 2.0])[1]
    assert {b.constraint for b in found} == {"C4"}


def test_inferred_shape() -> None:
    types = [tensor(I64, "2", [3, 4]), tensor(I64, "2")]
    attributes: dict[str, Any] = {"offset": 0.0, "min_size": [1.0, 2.0], "max_size": [3.0]}
    assert str(infer(op_of("PriorBox", 8), types, **attributes)[0][0]) == "f32[2,144]"
    assert str(infer(op_of("PriorBox", 8), [tensor(I64, "2")] * 2, **attributes)[0][0]) == "f32[2,?]"


@pytest.mark.parametrize("name", ["min_size", "max_size", "density", "fixed_size", "fixed_ratio", "aspect_ratio"])
def test_an_infinite_size_is_a_finding_about_the_attribute(name: str) -> None:
    call: Any = irexec.opset8.prior_box
    with pytest.raises(irexec.IRError, match=f"{name}: input should be less") as refused:
        call(np.int64([2, 2]), np.int64([8, 8]), offset=0.5, **{name: [np.inf]})
    assert {finding.code for finding in refused.value.report} == {"D005"}
