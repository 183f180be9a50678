"""Random inputs of detection operators: boxes with positive sizes, thresholds that some boxes exceed."""

from __future__ import annotations

import numpy as np
import pytest

from irexec.core.types import F16, F32, Array, PartialShape, TensorType
from irexec.model.arrays.draw import draw_for
from irexec.ops.spec.contents import find
from irexec.ops.spec.operator import Operator


def drawn(operator: Operator, name: str, shape: tuple[int, ...], attributes: dict[str, object] | None = None) -> Array:
    array = draw_for(
        np.random.default_rng(1), operator, name, {name: TensorType(F32, PartialShape(shape))}, attributes or {}
    )
    assert array is not None and array.shape == shape
    assert array.dtype == np.float32
    return array


def operator_of(type: str, opset: str) -> Operator:
    found = find(type, opset)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("type", "opset", "name"),
    [
        ("NonMaxSuppression", "opset9", "boxes"),
        ("MatrixNms", "opset8", "boxes"),
        ("MulticlassNms", "opset9", "boxes"),
        ("ROIAlign", "opset9", "rois"),
        ("ExperimentalDetectronTopKROIs", "opset6", "rois"),
        ("GenerateProposals", "opset9", "anchors"),
    ],
)
def test_the_second_corner_of_a_box_has_the_larger_coordinates(type: str, opset: str, name: str) -> None:
    boxes = drawn(operator_of(type, opset), name, (2, 30, 4) if name == "boxes" else (60, 4)).reshape(-1, 4)
    assert (boxes[:, 2:] > boxes[:, :2]).all()


def test_rotated_boxes_have_positive_sizes() -> None:
    boxes = drawn(operator_of("NMSRotated", "opset13"), "boxes", (2, 30, 5))
    assert (boxes[..., 2:4] > 0).all() and (boxes[..., 4] < 0).any()


def test_prior_boxes_lie_within_the_image() -> None:
    settings = {"normalized": False, "input_width": 20, "input_height": 10, "keep_top_k": (5,), "nms_threshold": 0.5}
    priors = drawn(operator_of("DetectionOutput", "opset8"), "proposals", (1, 2, 6 * 5), settings)
    boxes = priors[0, 0].reshape(6, 5)[:, 1:]
    assert (boxes[:, 2:] > boxes[:, :2]).all() and (boxes <= [20, 10, 20, 10]).all() and (priors[0, 1] > 0).all()


def test_some_random_boxes_are_suppressed_and_some_are_selected() -> None:
    suppression = operator_of("NonMaxSuppression", "opset9")
    shapes = {"boxes": (1, 50, 4), "scores": (1, 1, 50), "iou_threshold": (), "score_threshold": ()}
    boxes, scores, overlap, score = (drawn(suppression, name, shape) for name, shape in shapes.items())
    selected = suppression.compute(boxes, scores, np.array(50), overlap, score)[0]
    assert 1 < len(selected) < (scores >= score).sum()


def test_an_f16_input_gets_f16_values() -> None:
    array = draw_for(
        np.random.default_rng(1),
        operator_of("ROIAlign", "opset9"),
        "rois",
        {"rois": TensorType(F16, PartialShape([3, 4]))},
        {},
    )
    assert array is not None and array.dtype == np.float16
