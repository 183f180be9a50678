"""Proposal-1 and -4."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import the
from support.detections import assert_same, breaches, distinct, f32
from support.oracle import openvino, run

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
        op, attributes = the("Proposal", opset), RPN | case
        assert_same(run(op, *arrays, **attributes), openvino(op, *arrays, **attributes))


def test_proposal_marks_the_end() -> None:
    rng = np.random.default_rng(2)
    arrays = f32(distinct(rng, 1, 12, 3, 4), np.zeros((1, 24, 3, 4)), [60, 70, 1, 1])
    rois, values = run(the("Proposal", 4), *arrays, **RPN | {"min_size": 1000})
    assert rois[0].tolist() == [-1, 0, 0, 0, 0] and not rois[1:].any() and not values.any()


def test_constraints_of_proposal() -> None:
    op, right = the("Proposal", 4), ["1,12,3,4", "1,24,3,4", "3"]
    assert breaches(op, right, **RPN) == set()
    for port, shape, constraint in [
        (0, "1,12,3", "C1"),
        (1, "1,23,3,4", "C2"),
        (1, "2,24,3,4", "C2"),
        (2, "5", "C3"),
        (0, "1,10,3,4", "C4"),
    ]:
        assert constraint in breaches(op, [*right[:port], shape, *right[port + 1 :]], **RPN)
