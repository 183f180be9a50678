"""MulticlassNms-8 and -9: OpenVINO live, the page's algorithm, constraints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import the
from support.detections import assert_same, detections, overlap
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32, I64
from irexec.ops.spec.operator import ConstraintError

MULTICLASS: list[dict[str, Any]] = [
    {},
    {"iou_threshold": 0.1, "nms_top_k": 3},
    {"keep_top_k": 4},
    {"background_class": 0, "score_threshold": 0.3},
    {"normalized": False},
    {"sort_result_across_batch": True},
    {"sort_result_type": "classid"},
    {"output_type": "i32", "sort_result_across_batch": True, "sort_result_type": "classid"},
    {"score_threshold": 2.0},
]


@pytest.mark.parametrize("case", MULTICLASS)
@pytest.mark.parametrize("opset", [8, 9])
def test_multiclass_agrees_with_openvino(case: dict[str, Any], opset: int) -> None:
    attributes = {"sort_result_type": "score", "iou_threshold": 0.3} | case
    arrays = detections(len(str(case)))
    op = the("MulticlassNms", opset)
    assert_same(run(op, *arrays, **attributes), openvino(op, *arrays, **attributes))


def test_multiclass_with_boxes_of_each_class_agrees_with_openvino() -> None:
    boxes, scores = detections(0, batches=3)
    arrays = [boxes, scores[:, 0], np.array([3, 0, 5], np.int64)]
    attributes = {"sort_result_type": "score", "iou_threshold": 0.3}
    op = the("MulticlassNms", 9)
    assert_same(run(op, *arrays, **attributes), openvino(op, *arrays, **attributes))


def test_the_threshold_sinks_as_the_page_specifies() -> None:
    # OpenVINO compares a box with all selected boxes by the latest threshold; on the page, each selected box suppresses
    # others by the threshold at the time of its selection.
    boxes, scores = detections(5, 1, 1, 30)
    boxes[0, :, 2:] += 6
    threshold, left, kept = 0.9, list(np.argsort(-scores[0, 0])), []
    while left:
        best = left.pop(0)
        kept.append(best)
        if threshold > 0.5:
            threshold *= 0.8
        left = [i for i in left if overlap(boxes[0, best], boxes[0, i]) <= threshold]
    ours = run(the("MulticlassNms", 9), boxes, scores, iou_threshold=0.9, nms_eta=0.8)[1]
    assert ours[:, 0].tolist() == kept


def test_an_overlap_equal_to_the_threshold_stays() -> None:
    boxes = np.array([[[0, 0, 1, 2], [0, 0, 1, 1]]], np.float32)
    scores = np.array([[[0.9, 0.8]]], np.float32)
    assert len(run(the("MulticlassNms", 8), boxes, scores, iou_threshold=0.5)[0]) == 2


def test_both_names_of_the_order() -> None:
    arrays = detections(1, 1)
    for type in ("MatrixNms", "MulticlassNms"):
        by_page = run(the(type, 8), *arrays, sort_result="class")
        for one, other in zip(by_page, run(the(type, 8), *arrays, sort_result_type="classid"), strict=True):
            np.testing.assert_array_equal(one, other)
        assert len(by_page[0]) and (np.diff(by_page[0][:, 0]) >= 0).all()


def test_c1_to_c4_with_roisnum() -> None:
    def found(boxes: str, scores: str, counts: Any) -> set[str | None]:
        types = [tensor(F32, boxes), tensor(F32, scores), tensor(I64, "2", counts)]
        return {b.constraint for b in infer(the("MulticlassNms", 9), types)[1]}

    assert found("3,5,4", "3,5", [2, 3]) == set()
    assert found("3,5,3", "3,5", [2, 3]) == {"C1"}
    assert found("3,5,4", "2,5", [2, 3]) == {"C2"}
    assert found("3,5,4", "3,5", [2, 2]) == found("3,5,4", "3,5", [7, -2]) == {"C4"}
    with pytest.raises(ConstraintError):
        the("MulticlassNms", 9)(np.zeros((1, 2, 4)), np.zeros((1, 2)), np.array([1]))


def test_images_without_boxes_have_nothing() -> None:
    """A hundred thousand images without boxes, between two images with boxes."""
    rng = np.random.default_rng(0)
    corners = np.sort(rng.random((3, 5, 2, 2), np.float32), axis=2).reshape(3, 5, 4)
    scores, between = rng.random((3, 5), np.float32), 100_000
    close = the("MulticlassNms", 9)(corners, scores, np.array([3, 2]))
    far = the("MulticlassNms", 9)(corners, scores, np.array([3, *[0] * between, 2]))
    assert len(close[0]) > 5
    assert all(np.array_equal(one, other) for one, other in zip(close[:2], far[:2], strict=True))
    assert far[2].tolist() == [close[2][0], *[0] * between, close[2][1]]
