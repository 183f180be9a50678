"""MatrixNms-8: OpenVINO live, the page's algorithm, constraints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import the
from support.detections import assert_same, detections, overlap
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32

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
    op = the("MatrixNms", 8)
    assert_same(run(op, *arrays, **attributes), openvino(op, *arrays, **attributes))


def test_matrix_without_detections() -> None:
    # The page specifies empty outputs; OpenVINO's kernel fails.
    rows, indices, counts = run(the("MatrixNms", 8), *detections(0), score_threshold=2.0)
    assert rows.shape == (0, 6) and indices.shape == (0, 1) and counts.tolist() == [0, 0]


def test_matrix_sorts_by_class_within_an_image() -> None:
    # As the page specifies; OpenVINO's kernel keeps the order of the scores.
    rows, _, counts = run(the("MatrixNms", 8), *detections(0), sort_result_type="classid")
    for image in np.split(rows, np.cumsum(counts)[:-1]):
        assert (np.diff(image[:, 0]) >= 0).all()


def test_matrix_decays_by_the_page() -> None:
    boxes, scores = detections(2, 1, 1, 6)
    order = np.argsort(-scores[0, 0])
    x = np.zeros((6, 6))
    for a, b in zip(*np.triu_indices(6, 1), strict=True):
        x[a, b] = overlap(boxes[0, order[a]], boxes[0, order[b]])
    most = x.max(axis=0)[:, None]
    factors = np.where(np.triu(np.ones_like(x), 1) > 0, (1 - x) / (1 - most), 1)
    expected = np.sort(factors.min(axis=0) * scores[0, 0, order])[::-1]
    np.testing.assert_allclose(run(the("MatrixNms", 8), boxes, scores)[0][:, 1], expected, rtol=1e-5)


@pytest.mark.parametrize("type", ["MatrixNms", "MulticlassNms"])
def test_c1_to_c3(type: str) -> None:
    def found(boxes: str, scores: str, **attributes: Any) -> set[str | None]:
        return {b.constraint for b in infer(the(type, 8), [tensor(F32, boxes), tensor(F32, scores)], **attributes)[1]}

    assert found("2,5,4", "2,3,5") == set()
    assert found("2,5,5", "2,3,5") == {"C1"}
    assert found("2,5,4", "2,3,6") == found("2,5,4", "2,3") == {"C2"}
    assert found("2,5,4", "2,3,5", background_class=-2) == {"C3"}


def test_inferred_bounds() -> None:
    types = [tensor(F32, "?,5,4"), tensor(F32, "2,3,?")]
    shapes = [str(t) for t in infer(the("MatrixNms", 8), types, nms_top_k=4)[0]]
    assert shapes == ["f32[..24,6]", "i64[..24,1]", "i64[2]"]
    shapes = [str(t) for t in infer(the("MulticlassNms", 8), types, keep_top_k=4, output_type="i32")[0]]
    assert shapes == ["f32[..8,6]", "i32[..8,1]", "i32[2]"]


@pytest.mark.parametrize(("type", "opset"), [("MatrixNms", 8), ("MulticlassNms", 8), ("MulticlassNms", 9)])
@pytest.mark.parametrize("name", ["nms_top_k", "keep_top_k"])
def test_how_many_boxes_to_keep(type: str, opset: int, name: str) -> None:
    assert [p.code for p in the(type, opset).parse_attributes({name: "-2"})[1]] == ["D007"]
    assert not the(type, opset).parse_attributes({name: "-1"})[1]
