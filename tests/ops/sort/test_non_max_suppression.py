"""NonMaxSuppression: compared with OpenVINO and with the page's algorithm, and edge cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F16, F32, I64
from irexec.ops.spec.contents import find
from irexec.ops.spec.operator import Operator


def op_of(opset: int) -> Operator:
    op = find("NonMaxSuppression", f"opset{opset}")
    assert op is not None
    return op


def detections(seed: int, batches: int, classes: int, count: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    corner = rng.uniform(0, 10, (batches, count, 2))
    boxes = np.concatenate([corner, corner + rng.uniform(1, 6, (batches, count, 2))], axis=2).astype(np.float32)
    scores = rng.permutation(np.arange(batches * classes * count)) / (batches * classes * count + 1)
    return boxes, scores.reshape(batches, classes, count).astype(np.float32)


def thresholds(most: int, *values: float) -> list[Any]:
    return [np.array(most, np.int64), *(np.array(v, np.float32) for v in values)]


@pytest.mark.parametrize("opset", [5, 9])
@pytest.mark.parametrize("encoding", ["corner", "center"])
@pytest.mark.parametrize("index", ["i32", "i64"])
def test_agrees_with_openvino(opset: int, encoding: str, index: str) -> None:
    for seed, (most, iou, score) in enumerate([(10, 0.9, 0.1), (2, 0.3, 0.4), (3, 0.5, 0.05), (100, 0.2, 0.2)]):
        arrays = (*detections(seed, 2, 3, 9), *thresholds(most, iou, score, 0))
        attributes = {"box_encoding": encoding, "output_type": index}
        ours = run(op_of(opset), *arrays, **attributes)
        theirs = openvino(op_of(opset), *arrays, **attributes)
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(one, other)


def page(boxes: Any, scores: Any, most: int, iou: float, lowest: float, sigma: float, cut: bool) -> list[Any]:
    """Return the result of the page's steps 1 to 8 for one class, in plain loops."""

    def overlap(a: Any, b: Any) -> float:
        sides = [max(min(a[i + 2], b[i + 2]) - max(a[i], b[i]), 0.0) for i in (0, 1)]
        areas = [(x[2] - x[0]) * (x[3] - x[1]) for x in (a, b)]
        return float(sides[0] * sides[1] / (sum(areas) - sides[0] * sides[1]))

    left = {i: float(s) for i, s in enumerate(scores)}
    kept: list[Any] = []
    while left and len(kept) < most:
        best = max(left, key=lambda i: left[i])
        score = left.pop(best)
        if score < lowest:
            break
        kept.append((best, score))
        for i in list(left):
            v = overlap(boxes[best], boxes[i])
            if (sigma == 0 or cut) and v > iou:
                del left[i]
            elif sigma > 0:
                left[i] *= np.exp(-0.5 * v * v / sigma)
    return kept


@pytest.mark.parametrize("opset", [5, 9])
@pytest.mark.parametrize("sigma", [0.0, 0.3, 2.0])
def test_follows_the_page(opset: int, sigma: float) -> None:
    for seed in range(4):
        boxes, scores = detections(seed, 1, 1, 12)
        indices, values, count = run(op_of(opset), boxes, scores, *thresholds(8, 0.4, 0.1, sigma))
        expected = page(boxes[0], scores[0, 0], 8, 0.4, 0.1, sigma, opset == 5)
        assert indices[:, 2].tolist() == [i for i, _ in expected]
        np.testing.assert_allclose(values[:, 2], [s for _, s in expected], rtol=1e-5)
        assert count.tolist() == [len(expected)]


def test_corners_in_any_order() -> None:
    boxes, scores = detections(0, 1, 2, 6)
    one = run(op_of(9), boxes, scores, *thresholds(5, 0.3))
    other = run(op_of(9), boxes[..., [2, 1, 0, 3]], scores, *thresholds(5, 0.3))
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


def test_equal_scores_go_to_the_lower_index() -> None:
    boxes = np.array([[[0, 0, 1, 1]] * 3], np.float32)
    scores = np.full((1, 2, 3), 0.5, np.float32)
    indices = run(op_of(9), boxes, scores, *thresholds(3, 1.0))[0]
    assert indices.tolist() == [[0, c, i] for c in (0, 1) for i in (0, 1, 2)]


def test_thresholds_themselves_pass() -> None:
    # On the page a score of at least the threshold is selected, and an overlap of at most iou_threshold is kept.
    # OpenVINO does not select a score equal to the threshold.
    boxes = np.array([[[0, 0, 2, 1], [1, 0, 2, 1]]], np.float32)
    scores = np.array([[[0.75, 0.5]]], np.float32)
    assert len(run(op_of(9), boxes, scores, *thresholds(5, 0.5, 0.5))[0]) == 2
    assert len(run(op_of(9), boxes, scores, *thresholds(5, 0.49, 0.5))[0]) == 1
    assert len(run(op_of(9), boxes, scores, *thresholds(5, 0.5, 0.51))[0]) == 1


def test_unsorted_is_by_batch_and_class() -> None:
    arrays = (*detections(1, 2, 2, 5), *thresholds(5, 0.5))
    indices = run(op_of(9), *arrays, sort_result_descending=False)[0]
    assert indices[:, :2].tolist() == sorted(indices[:, :2].tolist())
    sorted_scores = run(op_of(9), *arrays)[1][:, 2]
    assert (np.diff(sorted_scores) <= 0).all()


def test_without_inputs_nothing_is_selected() -> None:
    boxes, scores = detections(0, 1, 1, 4)
    for opset in (1, 3, 4, 5, 9):
        assert run(op_of(opset), boxes, scores)[0].shape == (0, 3)
    _, values, count = run(op_of(9), boxes, scores)
    assert values.dtype == np.float32 and count.tolist() == [0]


def test_scores_have_the_type_of_the_thresholds() -> None:
    boxes, scores = detections(0, 1, 1, 4)
    most, iou = thresholds(4, 0.5)
    values = run(op_of(5), boxes, scores, most, iou.astype(np.float16))[1]
    assert values.dtype == np.float16


def test_older_versions_have_a_fixed_number_of_rows() -> None:
    # As their pages specify; OpenVINO's CPU plugin returns only the selected rows.
    arrays = (*detections(0, 2, 2, 5), *thresholds(3, 0.5, 0.3))
    selected = run(op_of(9), *arrays)[0]
    for opset, rows in [(1, min(5, 3 * 2)), (3, min(5, 3 * 2)), (4, min(5, 3) * 2 * 2)]:
        result = run(op_of(opset), *arrays)[0]
        assert result.shape == (rows, 3)
        np.testing.assert_array_equal(result[: len(selected)], selected[:rows])
        assert (result[len(selected) :] == -1).all()


@pytest.mark.parametrize(
    ("shapes", "constraint"),
    [
        (["1,5", "1,2,5", ""], "C1"),
        (["1,5,5", "1,2,5", ""], "C1"),
        (["1,5,4", "1,2,6", ""], "C2"),
        (["1,5,4", "2,2,5", ""], "C2"),
        (["1,5,4", "1,2,5", "2"], "C3"),
        (["1,5,4", "1,2,5", "1,1"], "C3"),
    ],
)
def test_c1_to_c3(shapes: list[str], constraint: str) -> None:
    types = [tensor(F32, shapes[0]), tensor(F32, shapes[1]), tensor(I64, shapes[2])]
    for opset in (1, 3, 4, 5, 9):
        assert {b.constraint for b in infer(op_of(opset), types)[1]} == {constraint}


def test_c3_one_element_is_a_scalar_from_opset_5_on() -> None:
    types = [tensor(F32, "1,5,4"), tensor(F32, "1,2,5"), tensor(I64, "1")]
    assert not infer(op_of(5), types)[1]
    assert {b.constraint for b in infer(op_of(4), types)[1]} == {"C3"}


def test_inferred_bounds() -> None:
    types = [tensor(F32, "2,5,4"), tensor(F32, "?,3,?"), tensor(I64, "", 3), tensor(F16, "")]
    shapes = [str(t) for t in infer(op_of(9), types)[0]]
    assert shapes == ["i64[..18,3]", "f16[..18,3]", "i64[1]"]
    assert str(infer(op_of(4), types)[0][0]) == "i64[18,3]"
    assert str(infer(op_of(3), types)[0][0]) == "i64[5,3]"
    types[2] = tensor(I64, "")
    assert str(infer(op_of(9), types)[0][0]) == "i64[..30,3]"
