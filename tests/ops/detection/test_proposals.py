"""Operators that propose regions, and Detectron's: against OpenVINO, their corners and constraints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

from irexec.ops.declare.contents import find
from irexec.ops.declare.operator import ConstraintError, Operator
from irexec.types import F32

SINGLE = "ExperimentalDetectronGenerateProposalsSingleImage"
GRID = "ExperimentalDetectronPriorGridGenerator"
FEATURES = "ExperimentalDetectronROIFeatureExtractor"
DETECTIONS = "ExperimentalDetectronDetectionOutput"


def op_of(type: str, opset: int) -> Operator:
    op = find(type, f"opset{opset}")
    assert op is not None
    return op


def assert_same(ours: list[Any], theirs: list[Any]) -> None:
    for one, other in zip(ours, theirs, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


def breaches(op: Operator, shapes: list[str], **attributes: Any) -> set[str | None]:
    return {b.constraint for b in infer(op, [tensor(F32, s) for s in shapes], **attributes)[1]}


def distinct(rng: Any, *shape: int) -> Any:
    return rng.permutation(np.linspace(0.05, 0.95, int(np.prod(shape)))).reshape(shape)


def anchors(rng: Any, *shape: int) -> Any:
    low = rng.uniform(-5, 30, (*shape, 2))
    return np.concatenate([low, low + rng.uniform(4, 30, (*shape, 2))], axis=-1)


def f32(*arrays: Any) -> list[Any]:
    return [np.asarray(a, np.float32) for a in arrays]


# GenerateProposals

PROPOSE: dict[str, Any] = {"min_size": 0.0, "nms_threshold": 0.6, "pre_nms_count": 100, "post_nms_count": 8}


@pytest.mark.parametrize(
    "case",
    [{}, {"normalized": False}, {"min_size": 9.0}, {"pre_nms_count": 5}, {"post_nms_count": 2}, {"min_size": 100.0}],
)
@pytest.mark.parametrize("numbers", [3, 4])
def test_generate_proposals_agrees_with_openvino(case: dict[str, Any], numbers: int) -> None:
    rng = np.random.default_rng(numbers)
    info = [[40, 50, 1, 2][:numbers], [30, 60, 1.5, 1][:numbers]]
    arrays = f32(info, anchors(rng, 3, 4, 2), rng.normal(size=(2, 8, 3, 4)) * 0.3, distinct(rng, 2, 2, 3, 4))
    op, attributes = op_of("GenerateProposals", 9), PROPOSE | case
    assert_same(run(op, *arrays, **attributes), openvino(op, *arrays, **attributes))


def test_generate_proposals_of_nothing() -> None:
    rng = np.random.default_rng(0)
    arrays = f32([[40, 50, 1]], anchors(rng, 3, 4, 2), np.zeros((1, 8, 3, 4)), distinct(rng, 1, 2, 3, 4))
    rois, scores, counts = run(op_of("GenerateProposals", 9), *arrays, **PROPOSE | {"min_size": 1000.0})
    assert rois.shape == (0, 4) and scores.shape == (0,) and counts.tolist() == [0]


def test_constraints_of_generate_proposals() -> None:
    op, right = op_of("GenerateProposals", 9), ["2,3", "3,4,2,4", "2,8,3,4", "2,2,3,4"]
    assert breaches(op, right, **PROPOSE) == set()
    for port, shape, constraint in [
        (0, "2,5", "C1"),
        (1, "3,4,2,5", "C2"),
        (2, "2,7,3,4", "C3"),
        (2, "2,8,3,5", "C3"),
        (3, "3,2,3,4", "C4"),
    ]:
        assert breaches(op, [*right[:port], shape, *right[port + 1 :]], **PROPOSE) == {constraint}


# ExperimentalDetectronGenerateProposalsSingleImage


@pytest.mark.parametrize("case", [{}, {"nms_threshold": 0.2}, {"pre_nms_count": 5}, {"post_nms_count": 30}])
def test_single_image_agrees_with_openvino(case: dict[str, Any]) -> None:
    rng = np.random.default_rng(1)
    arrays = f32([40, 50, 1], anchors(rng, 24), rng.normal(size=(8, 3, 4)) * 0.3, distinct(rng, 2, 3, 4))
    op, attributes = op_of(SINGLE, 6), PROPOSE | case
    assert_same(run(op, *arrays, **attributes), openvino(op, *arrays, **attributes))


def test_single_image_removes_small_boxes() -> None:
    # By the page; OpenVINO keeps them with the score 0.
    rng = np.random.default_rng(1)
    arrays = f32([40, 50, 1], anchors(rng, 24), np.zeros((8, 3, 4)), distinct(rng, 2, 3, 4))
    rois, scores = run(op_of(SINGLE, 6), *arrays, **PROPOSE | {"min_size": 1000.0})
    assert not rois.any() and not scores.any()


def test_constraints_of_single_image() -> None:
    op, right = op_of(SINGLE, 6), ["3", "24,4", "8,3,4", "2,3,4"]
    assert breaches(op, right, **PROPOSE) == set()
    for port, shape, constraint in [(0, "4", "C1"), (1, "23,4", "C2"), (2, "7,3,4", "C3"), (3, "2,3,4,1", "C4")]:
        assert constraint in breaches(op, [*right[:port], shape, *right[port + 1 :]], **PROPOSE)


# Proposal

RPN: dict[str, Any] = {
    "base_size": 16,
    "pre_nms_topn": 30,
    "post_nms_topn": 6,
    "nms_thresh": 0.6,
    "feat_stride": 16,
    "min_size": 4,
    "ratio": [0.5, 1.0, 2.0],
    "scale": [1.0, 2.0],
}


@pytest.mark.parametrize(
    "case",
    [
        {},
        {"clip_after_nms": True, "clip_before_nms": False},
        {"clip_before_nms": False},
        {"normalize": True},
        {"pre_nms_topn": 8},
        {"framework": "tensorflow", "box_size_scale": 5.0, "box_coordinate_scale": 10.0},
        {"framework": "tensorflow", "normalize": True, "clip_after_nms": True},
    ],
)
def test_proposal_agrees_with_openvino(case: dict[str, Any]) -> None:
    rng = np.random.default_rng(2)
    arrays = f32(distinct(rng, 2, 12, 3, 4), rng.normal(size=(2, 24, 3, 4)) * 0.3, [60, 70, 1])
    for opset in (1, 4):
        op, attributes = op_of("Proposal", opset), RPN | case
        assert_same(run(op, *arrays, **attributes), openvino(op, *arrays, **attributes))


def test_proposal_marks_the_end() -> None:
    rng = np.random.default_rng(2)
    arrays = f32(distinct(rng, 1, 12, 3, 4), np.zeros((1, 24, 3, 4)), [60, 70, 1, 1])
    rois, values = run(op_of("Proposal", 4), *arrays, **RPN | {"min_size": 1000})
    assert rois[0].tolist() == [-1, 0, 0, 0, 0] and not rois[1:].any() and not values.any()


def test_constraints_of_proposal() -> None:
    op, right = op_of("Proposal", 4), ["1,12,3,4", "1,24,3,4", "3"]
    assert breaches(op, right, **RPN) == set()
    for port, shape, constraint in [
        (0, "1,12,3", "C1"),
        (1, "1,23,3,4", "C2"),
        (1, "2,24,3,4", "C2"),
        (2, "5", "C3"),
        (0, "1,10,3,4", "C4"),
    ]:
        assert constraint in breaches(op, [*right[:port], shape, *right[port + 1 :]], **RPN)


# Detectron

GRIDS: list[dict[str, Any]] = [
    {},
    {"flatten": False},
    {"stride_x": 4.0, "stride_y": 8.0},
    {"h": 3, "w": 5, "flatten": False},
]


@pytest.mark.parametrize("attributes", GRIDS)
def test_prior_grid_agrees_with_openvino(attributes: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    arrays = f32(rng.normal(size=(3, 4)), np.zeros((1, 2, 3, 5)), np.zeros((1, 3, 20, 30)))
    op, given = op_of(GRID, 6), {"flatten": True} | attributes
    assert_same(run(op, *arrays, **given), openvino(op, *arrays, **given))


def test_a_smaller_grid_is_followed_by_zeros() -> None:
    arrays = f32(np.ones((1, 4)), np.zeros((1, 2, 3, 5)), np.zeros((1, 2, 20, 30)))
    cells = run(op_of(GRID, 6), *arrays, h=2, w=2)[0]
    assert cells.shape == (15, 4) and cells[:4].all() and not cells[4:].any()


def test_constraints_of_prior_grid() -> None:
    op, right = op_of(GRID, 6), ["3,4", "1,2,3,5", "1,3,20,30"]
    assert breaches(op, right) == set()
    for port, shape, constraint in [(0, "3,5", "C1"), (1, "2,2,3,5", "C2"), (2, "3,20,30", "C3")]:
        assert breaches(op, [*right[:port], shape, *right[port + 1 :]]) == {constraint}
    assert breaches(op, right, h=4) == breaches(op, right, w=6) == {"C4"}
    with pytest.raises(ConstraintError):
        op(*f32(np.ones((1, 4)), np.zeros((1, 2, 3, 5)), np.zeros((1, 2, 20, 30))), h=4)


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("ratio", [0, 2])
def test_features_agree_with_openvino(aligned: bool, ratio: int) -> None:
    rng = np.random.default_rng(ratio)
    low = rng.uniform(0, 60, (6, 2))
    sizes = np.array([[9, 20], [60, 50], [250, 260], [600, 400], [-3, 4], [1, 2]])
    rois = np.concatenate([low, low + sizes], axis=1)
    levels = [rng.normal(size=(1, 3, n, n)) for n in (32, 16, 8)]
    attributes = {"output_size": 2, "sampling_ratio": ratio, "pyramid_scales": [4, 8, 16], "aligned": aligned}
    op, arrays = op_of(FEATURES, 6), f32(rois, *levels)
    assert_same(run(op, *arrays, **attributes), openvino(op, *arrays, **attributes))


def test_constraints_of_features() -> None:
    op, attributes = op_of(FEATURES, 6), {"output_size": 2, "sampling_ratio": 0, "pyramid_scales": [4, 8]}
    assert breaches(op, ["5,4", "1,3,8,8", "1,3,4,4"], **attributes) == set()
    assert breaches(op, ["5,5", "1,3,8,8", "1,3,4,4"], **attributes) == {"C1"}
    assert breaches(op, ["5,4", "1,3,8,8", "1,2,4,4"], **attributes) == {"C2"}
    assert breaches(op, ["5,4", "1,3,8,8", "1,3,4,4", "1,3,2,2"], **attributes) == {"C3"}
    # The page's own example has one scale more than levels.
    assert breaches(op, ["5,4", "1,3,8,8"], **attributes) == set()


DETECT: dict[str, Any] = {
    "score_threshold": 0.1,
    "nms_threshold": 0.4,
    "num_classes": 3,
    "post_nms_count": 4,
    "max_detections_per_image": 12,
    "max_delta_log_wh": 4.0,
    "deltas_weights": [10.0, 10.0, 5.0, 5.0],
}


@pytest.mark.parametrize("case", [{}, {"post_nms_count": 2}, {"score_threshold": 0.6}, {"nms_threshold": 0.1}])
def test_detections_agree_with_openvino(case: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    low = rng.uniform(5, 30, (12, 2))
    rois = np.concatenate([low, low + rng.uniform(5, 20, low.shape)], axis=1)
    arrays = f32(rois, rng.normal(size=(12, 12)), distinct(rng, 12, 3), [[90, 90, 1]])
    op, attributes = op_of(DETECTIONS, 6), DETECT | case
    assert_same(run(op, *arrays, **attributes), openvino(op, *arrays, **attributes))


def test_detections_are_clipped_to_the_image() -> None:
    # By the page; OpenVINO clips at 0 only.
    arrays = f32([[-10, 10, 60, 70]], np.zeros((1, 12)), [[0, 0.9, 0]], [[50, 40, 1]])
    boxes, labels, scores = run(op_of(DETECTIONS, 6), *arrays, **DETECT)
    assert boxes[0].tolist() == [0, 10, 40, 50] and labels[0] == 1 and scores[0] == np.float32(0.9)
    assert not boxes[1:].any() and not labels[1:].any() and not scores[1:].any()


def test_the_best_detections_of_all_classes() -> None:
    rois = np.array([[20 * i, 0, 20 * i + 9, 9] for i in range(4)])
    arrays = f32(rois, np.zeros((4, 12)), [[0, 0.5, 0.6]] * 2 + [[0, 0.7, 0.2]] * 2, [[90, 90, 1]])
    _, labels, scores = run(op_of(DETECTIONS, 6), *arrays, **DETECT | {"max_detections_per_image": 4})
    np.testing.assert_allclose(scores, [0.7, 0.7, 0.6, 0.6])
    assert labels.tolist() == [1, 1, 2, 2]


def test_constraints_of_detections() -> None:
    op, right = op_of(DETECTIONS, 6), ["5,4", "5,12", "5,3", "1,3"]
    assert breaches(op, right, **DETECT) == set()
    for port, shape, constraint in [(0, "5,5", "C1"), (1, "5,8", "C2"), (2, "4,3", "C3"), (3, "1,4", "C4")]:
        assert constraint in breaches(op, [*right[:port], shape, *right[port + 1 :]], **DETECT)
    assert breaches(op, right, **DETECT | {"deltas_weights": [1.0]}) == {"C5"}
