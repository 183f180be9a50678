"""The experimental Detectron operators: prior grid, features, detections."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import the
from support.detections import assert_same, breaches, distinct, f32
from support.oracle import openvino, run

from irexec.ops.spec.operator import ConstraintError

GRID = "ExperimentalDetectronPriorGridGenerator"

FEATURES = "ExperimentalDetectronROIFeatureExtractor"

DETECTIONS = "ExperimentalDetectronDetectionOutput"

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
    op, given = the(GRID, 6), {"flatten": True} | attributes
    assert_same(run(op, *arrays, **given), openvino(op, *arrays, **given))


def test_a_smaller_grid_is_followed_by_zeros() -> None:
    arrays = f32(np.ones((1, 4)), np.zeros((1, 2, 3, 5)), np.zeros((1, 2, 20, 30)))
    cells = run(the(GRID, 6), *arrays, h=2, w=2)[0]
    assert cells.shape == (15, 4) and cells[:4].all() and not cells[4:].any()


def test_constraints_of_prior_grid() -> None:
    op, right = the(GRID, 6), ["3,4", "1,2,3,5", "1,3,20,30"]
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
    op, arrays = the(FEATURES, 6), f32(rois, *levels)
    assert_same(run(op, *arrays, **attributes), openvino(op, *arrays, **attributes))


def test_constraints_of_features() -> None:
    op, attributes = the(FEATURES, 6), {"output_size": 2, "sampling_ratio": 0, "pyramid_scales": [4, 8]}
    assert breaches(op, ["5,4", "1,3,8,8", "1,3,4,4"], **attributes) == set()
    assert breaches(op, ["5,5", "1,3,8,8", "1,3,4,4"], **attributes) == {"C1"}
    assert breaches(op, ["5,4", "1,3,8,8", "1,2,4,4"], **attributes) == {"C2"}
    assert breaches(op, ["5,4", "1,3,8,8", "1,3,4,4", "1,3,2,2"], **attributes) == {"C3"}
    # The page's own example has one more scale than levels.
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
    op, attributes = the(DETECTIONS, 6), DETECT | case
    assert_same(run(op, *arrays, **attributes), openvino(op, *arrays, **attributes))


def test_detections_are_clipped_to_the_image() -> None:
    # As the page specifies; OpenVINO clips at 0 only.
    arrays = f32([[-10, 10, 60, 70]], np.zeros((1, 12)), [[0, 0.9, 0]], [[50, 40, 1]])
    boxes, labels, scores = run(the(DETECTIONS, 6), *arrays, **DETECT)
    assert boxes[0].tolist() == [0, 10, 40, 50] and labels[0] == 1 and scores[0] == np.float32(0.9)
    assert not boxes[1:].any() and not labels[1:].any() and not scores[1:].any()


def test_the_best_detections_of_all_classes() -> None:
    rois = np.array([[20 * i, 0, 20 * i + 9, 9] for i in range(4)])
    arrays = f32(rois, np.zeros((4, 12)), [[0, 0.5, 0.6]] * 2 + [[0, 0.7, 0.2]] * 2, [[90, 90, 1]])
    _, labels, scores = run(the(DETECTIONS, 6), *arrays, **DETECT | {"max_detections_per_image": 4})
    np.testing.assert_allclose(scores, [0.7, 0.7, 0.6, 0.6])
    assert labels.tolist() == [1, 1, 2, 2]


def test_constraints_of_detections() -> None:
    op, right = the(DETECTIONS, 6), ["5,4", "5,12", "5,3", "1,3"]
    assert breaches(op, right, **DETECT) == set()
    for port, shape, constraint in [(0, "5,5", "C1"), (1, "5,8", "C2"), (2, "4,3", "C3"), (3, "1,4", "C4")]:
        assert constraint in breaches(op, [*right[:port], shape, *right[port + 1 :]], **DETECT)
    assert breaches(op, right, **DETECT | {"deltas_weights": [1.0]}) == {"C5"}
