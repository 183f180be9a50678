"""MatrixNms, MulticlassNms, NMSRotated and TopKROIs: against OpenVINO, the pages' algorithms, and their constraints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

from irexec.ops.declare.contents import find
from irexec.ops.declare.operator import ConstraintError, Operator
from irexec.ops.sort.nms_rotated import corners_of, intersections
from irexec.types import F32, I64


def op_of(type: str, opset: int) -> Operator:
    op = find(type, f"opset{opset}")
    assert op is not None
    return op


def detections(seed: int, batches: int = 2, classes: int = 3, count: int = 8) -> list[Any]:
    rng = np.random.default_rng(seed)
    corner = rng.uniform(0, 6, (batches, count, 2))
    boxes = np.concatenate([corner, corner + rng.uniform(1, 6, (batches, count, 2))], axis=2)
    scores = rng.permutation(np.linspace(0.05, 0.95, batches * classes * count)).reshape(batches, classes, count)
    return [boxes.astype(np.float32), scores.astype(np.float32)]


def assert_same(ours: list[Any], theirs: list[Any]) -> None:
    for one, other in zip(ours, theirs, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


MATRIX: list[dict[str, Any]] = [
    {},
    {"decay_function": "gaussian", "gaussian_sigma": 1.5},
    {"nms_top_k": 3},
    {"keep_top_k": 4},
    {"background_class": 1, "score_threshold": 0.3},
    {"post_threshold": 0.3},
    {"normalized": False},
    {"sort_result_across_batch": True},
    {"output_type": "i32", "sort_result_across_batch": True, "sort_result_type": "classid"},
]


@pytest.mark.parametrize("case", MATRIX)
def test_matrix_agrees_with_openvino(case: dict[str, Any]) -> None:
    attributes = {"sort_result_type": "score"} | case
    arrays = detections(len(str(case)))
    op = op_of("MatrixNms", 8)
    assert_same(run(op, *arrays, **attributes), openvino(op, *arrays, **attributes))


def test_matrix_without_detections() -> None:
    # OpenVINO's kernel fails here; the page has empty outputs.
    rows, indices, counts = run(op_of("MatrixNms", 8), *detections(0), score_threshold=2.0)
    assert rows.shape == (0, 6) and indices.shape == (0, 1) and counts.tolist() == [0, 0]


def test_matrix_sorts_by_class_within_an_image() -> None:
    # By the page; OpenVINO's kernel leaves the order of the scores.
    rows, _, counts = run(op_of("MatrixNms", 8), *detections(0), sort_result_type="classid")
    for image in np.split(rows, np.cumsum(counts)[:-1]):
        assert (np.diff(image[:, 0]) >= 0).all()


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
    op = op_of("MulticlassNms", opset)
    assert_same(run(op, *arrays, **attributes), openvino(op, *arrays, **attributes))


def test_multiclass_with_boxes_of_each_class_agrees_with_openvino() -> None:
    boxes, scores = detections(0, batches=3)
    arrays = [boxes, scores[:, 0], np.array([3, 0, 5], np.int64)]
    attributes = {"sort_result_type": "score", "iou_threshold": 0.3}
    op = op_of("MulticlassNms", 9)
    assert_same(run(op, *arrays, **attributes), openvino(op, *arrays, **attributes))


def overlap(a: Any, b: Any) -> float:
    sides = [max(min(a[i + 2], b[i + 2]) - max(a[i], b[i]), 0.0) for i in (0, 1)]
    areas = [(x[2] - x[0]) * (x[3] - x[1]) for x in (a, b)]
    return float(sides[0] * sides[1] / (sum(areas) - sides[0] * sides[1]))


def test_the_threshold_sinks_as_the_page_says() -> None:
    # OpenVINO judges a box by the threshold of the moment when its turn comes; the page by that of each box kept.
    boxes, scores = detections(5, 1, 1, 30)
    boxes[0, :, 2:] += 6
    threshold, left, kept = 0.9, list(np.argsort(-scores[0, 0])), []
    while left:
        best = left.pop(0)
        kept.append(best)
        if threshold > 0.5:
            threshold *= 0.8
        left = [i for i in left if overlap(boxes[0, best], boxes[0, i]) <= threshold]
    ours = run(op_of("MulticlassNms", 9), boxes, scores, iou_threshold=0.9, nms_eta=0.8)[1]
    assert ours[:, 0].tolist() == kept


def test_an_overlap_equal_to_the_threshold_stays() -> None:
    boxes = np.array([[[0, 0, 1, 2], [0, 0, 1, 1]]], np.float32)
    scores = np.array([[[0.9, 0.8]]], np.float32)
    assert len(run(op_of("MulticlassNms", 8), boxes, scores, iou_threshold=0.5)[0]) == 2


def test_both_names_of_the_order() -> None:
    arrays = detections(1, 1)
    for type in ("MatrixNms", "MulticlassNms"):
        by_page = run(op_of(type, 8), *arrays, sort_result="class")
        for one, other in zip(by_page, run(op_of(type, 8), *arrays, sort_result_type="classid"), strict=True):
            np.testing.assert_array_equal(one, other)
        assert len(by_page[0]) and (np.diff(by_page[0][:, 0]) >= 0).all()


def test_matrix_decays_by_the_page() -> None:
    boxes, scores = detections(2, 1, 1, 6)
    order = np.argsort(-scores[0, 0])
    x = np.zeros((6, 6))
    for a, b in zip(*np.triu_indices(6, 1), strict=True):
        x[a, b] = overlap(boxes[0, order[a]], boxes[0, order[b]])
    most = x.max(axis=0)[:, None]
    factors = np.where(np.triu(np.ones_like(x), 1) > 0, (1 - x) / (1 - most), 1)
    expected = np.sort(factors.min(axis=0) * scores[0, 0, order])[::-1]
    np.testing.assert_allclose(run(op_of("MatrixNms", 8), boxes, scores)[0][:, 1], expected, rtol=1e-5)


def rotated(seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    boxes = np.concatenate([rng.uniform(2, 8, (1, 9, 4)), rng.uniform(-4, 4, (1, 9, 1))], axis=2)
    scores = rng.permutation(np.linspace(0.1, 0.9, 18)).reshape(1, 2, 9)
    return [boxes.astype(np.float32), scores.astype(np.float32)]


@pytest.mark.parametrize("clockwise", [False, True])
@pytest.mark.parametrize("index", ["i32", "i64"])
def test_rotated_agrees_with_openvino(clockwise: bool, index: str) -> None:
    op = op_of("NMSRotated", 13)
    for seed in range(4):
        arrays = [*rotated(seed), np.array(5, np.int64), np.array(0.2, np.float32), np.array(0.25, np.float32)]
        attributes = {"clockwise": clockwise, "output_type": index}
        assert_same(run(op, *arrays, **attributes), openvino(op, *arrays, **attributes))


def test_common_area_of_turned_rectangles() -> None:
    turned = [[0, 0, 2, 2, angle] for angle in (0, np.pi / 4, np.pi / 2)]
    boxes = np.array([*turned, [9, 9, 1, 1, 0], [1, 0, 2, 2, 0]])
    corners = corners_of(boxes, True)
    octagon = 8 * (np.sqrt(2) - 1)
    np.testing.assert_allclose(intersections(corners[0], corners), [4, octagon, 4, 0, 2], atol=1e-9)


def test_a_positive_angle_is_clockwise_on_the_screen() -> None:
    # y points down: the right end of a flat rectangle goes down.
    flat = np.array([[0, 0, 4, 0, np.pi / 4]])
    assert corners_of(flat, True)[0, 2, 1] > 0 > corners_of(flat, False)[0, 2, 1]


def test_top_k_rois() -> None:
    rois = np.arange(12, dtype=np.float32).reshape(3, 4)
    op = op_of("ExperimentalDetectronTopKROIs", 6)
    probabilities = np.array([0.2, 0.7, 0.7], np.float32)
    assert run(op, rois, probabilities, max_rois=2)[0].tolist() == rois[[1, 2]].tolist()
    assert run(op, rois, probabilities, max_rois=4)[0].tolist() == [*rois[[1, 2, 0]].tolist(), [0] * 4]
    distinct = np.array([0.2, 0.7, 0.5], np.float32)
    assert_same(run(op, rois, distinct, max_rois=2), openvino(op, rois, distinct, max_rois=2))


@pytest.mark.parametrize("type", ["MatrixNms", "MulticlassNms"])
def test_c1_to_c3(type: str) -> None:
    def found(boxes: str, scores: str, **attributes: Any) -> set[str | None]:
        return {b.constraint for b in infer(op_of(type, 8), [tensor(F32, boxes), tensor(F32, scores)], **attributes)[1]}

    assert found("2,5,4", "2,3,5") == set()
    assert found("2,5,5", "2,3,5") == {"C1"}
    assert found("2,5,4", "2,3,6") == found("2,5,4", "2,3") == {"C2"}
    assert found("2,5,4", "2,3,5", background_class=-2) == {"C3"}


def test_c1_to_c4_with_roisnum() -> None:
    def found(boxes: str, scores: str, counts: Any) -> set[str | None]:
        types = [tensor(F32, boxes), tensor(F32, scores), tensor(I64, "2", counts)]
        return {b.constraint for b in infer(op_of("MulticlassNms", 9), types)[1]}

    assert found("3,5,4", "3,5", [2, 3]) == set()
    assert found("3,5,3", "3,5", [2, 3]) == {"C1"}
    assert found("3,5,4", "2,5", [2, 3]) == {"C2"}
    assert found("3,5,4", "3,5", [2, 2]) == found("3,5,4", "3,5", [7, -2]) == {"C4"}
    with pytest.raises(ConstraintError):
        op_of("MulticlassNms", 9)(np.zeros((1, 2, 4)), np.zeros((1, 2)), np.array([1]))


def test_constraints_of_rotated_and_top_k() -> None:
    def found(boxes: str, scores: str, most: str) -> set[str | None]:
        one = tensor(F32, "")
        types = [tensor(F32, boxes), tensor(F32, scores), tensor(I64, most), one, one]
        return {b.constraint for b in infer(op_of("NMSRotated", 13), types)[1]}

    assert found("1,5,5", "1,2,5", "1") == set()
    assert found("1,5,4", "1,2,5", "") == {"C1"}
    assert found("1,5,5", "1,2,4", "") == {"C2"}
    assert found("1,5,5", "1,2,5", "2") == {"C3"}
    top = op_of("ExperimentalDetectronTopKROIs", 6)
    assert {b.constraint for b in infer(top, [tensor(F32, "3,5"), tensor(F32, "3")])[1]} == {"C1"}
    assert {b.constraint for b in infer(top, [tensor(F32, "3,4"), tensor(F32, "4")])[1]} == {"C2"}


def test_inferred_bounds() -> None:
    types = [tensor(F32, "?,5,4"), tensor(F32, "2,3,?")]
    shapes = [str(t) for t in infer(op_of("MatrixNms", 8), types, nms_top_k=4)[0]]
    assert shapes == ["f32[..24,6]", "i64[..24,1]", "i64[2]"]
    shapes = [str(t) for t in infer(op_of("MulticlassNms", 8), types, keep_top_k=4, output_type="i32")[0]]
    assert shapes == ["f32[..8,6]", "i32[..8,1]", "i32[2]"]


@pytest.mark.parametrize(("type", "opset"), [("MatrixNms", 8), ("MulticlassNms", 8), ("MulticlassNms", 9)])
@pytest.mark.parametrize("name", ["nms_top_k", "keep_top_k"])
def test_how_many_boxes_to_keep(type: str, opset: int, name: str) -> None:
    assert [p.code for p in op_of(type, opset).parse_attributes({name: "-2"})[1]] == ["D007"]
    assert not op_of(type, opset).parse_attributes({name: "-1"})[1]
