"""GenerateProposals-9 and the experimental operator for a single image."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import the
from support.detections import assert_same, breaches, distinct, f32
from support.oracle import openvino, run

SINGLE = "ExperimentalDetectronGenerateProposalsSingleImage"


def anchors(rng: Any, *shape: int) -> Any:
    low = rng.uniform(-5, 30, (*shape, 2))
    return np.concatenate([low, low + rng.uniform(4, 30, (*shape, 2))], axis=-1)


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
    op, attributes = the("GenerateProposals", 9), PROPOSE | case
    assert_same(run(op, *arrays, **attributes), openvino(op, *arrays, **attributes))


def test_generate_proposals_of_nothing() -> None:
    rng = np.random.default_rng(0)
    arrays = f32([[40, 50, 1]], anchors(rng, 3, 4, 2), np.zeros((1, 8, 3, 4)), distinct(rng, 1, 2, 3, 4))
    rois, scores, counts = run(the("GenerateProposals", 9), *arrays, **PROPOSE | {"min_size": 1000.0})
    assert rois.shape == (0, 4) and scores.shape == (0,) and counts.tolist() == [0]


def test_constraints_of_generate_proposals() -> None:
    op, right = the("GenerateProposals", 9), ["2,3", "3,4,2,4", "2,8,3,4", "2,2,3,4"]
    assert breaches(op, right, **PROPOSE) == set()
    for port, shape, constraint in [
        (0, "2,5", "C1"),
        (1, "3,4,2,5", "C2"),
        (2, "2,7,3,4", "C3"),
        (2, "2,8,3,5", "C3"),
        (3, "3,2,3,4", "C4"),
    ]:
        assert breaches(op, [*right[:port], shape, *right[port + 1 :]], **PROPOSE) == {constraint}


@pytest.mark.parametrize("case", [{}, {"nms_threshold": 0.2}, {"pre_nms_count": 5}, {"post_nms_count": 30}])
def test_single_image_agrees_with_openvino(case: dict[str, Any]) -> None:
    rng = np.random.default_rng(1)
    arrays = f32([40, 50, 1], anchors(rng, 24), rng.normal(size=(8, 3, 4)) * 0.3, distinct(rng, 2, 3, 4))
    op, attributes = the(SINGLE, 6), PROPOSE | case
    assert_same(run(op, *arrays, **attributes), openvino(op, *arrays, **attributes))


def test_single_image_removes_small_boxes() -> None:
    # As the page specifies; OpenVINO keeps them with the score 0.
    rng = np.random.default_rng(1)
    arrays = f32([40, 50, 1], anchors(rng, 24), np.zeros((8, 3, 4)), distinct(rng, 2, 3, 4))
    rois, scores = run(the(SINGLE, 6), *arrays, **PROPOSE | {"min_size": 1000.0})
    assert not rois.any() and not scores.any()


def test_constraints_of_single_image() -> None:
    op, right = the(SINGLE, 6), ["3", "24,4", "8,3,4", "2,3,4"]
    assert breaches(op, right, **PROPOSE) == set()
    for port, shape, constraint in [(0, "4", "C1"), (1, "23,4", "C2"), (2, "7,3,4", "C3"), (3, "2,3,4,1", "C4")]:
        assert constraint in breaches(op, [*right[:port], shape, *right[port + 1 :]], **PROPOSE)
