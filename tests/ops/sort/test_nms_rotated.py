"""NMSRotated-13: OpenVINO, overlaps of rotated rectangles, constraints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.amounts import amount
from support.cases import the
from support.detections import assert_same
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32, I64
from irexec.ops.sort.nms_rotated import corners_of, intersections


def rotated(seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    boxes = np.concatenate([rng.uniform(2, 8, (1, 9, 4)), rng.uniform(-4, 4, (1, 9, 1))], axis=2)
    scores = rng.permutation(np.linspace(0.1, 0.9, 18)).reshape(1, 2, 9)
    return [boxes.astype(np.float32), scores.astype(np.float32)]


@pytest.mark.parametrize("clockwise", [False, True])
@pytest.mark.parametrize("index", ["i32", "i64"])
def test_rotated_agrees_with_openvino(clockwise: bool, index: str) -> None:
    op = the("NMSRotated", 13)
    for seed in range(amount(4, 2)):
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
    # y points down: the right end of a flat rectangle moves down.
    flat = np.array([[0, 0, 4, 0, np.pi / 4]])
    assert corners_of(flat, True)[0, 2, 1] > 0 > corners_of(flat, False)[0, 2, 1]


def test_constraints_of_rotated_and_top_k() -> None:
    def found(boxes: str, scores: str, most: str) -> set[str | None]:
        one = tensor(F32, "")
        types = [tensor(F32, boxes), tensor(F32, scores), tensor(I64, most), one, one]
        return {b.constraint for b in infer(the("NMSRotated", 13), types)[1]}

    assert found("1,5,5", "1,2,5", "1") == set()
    assert found("1,5,4", "1,2,5", "") == {"C1"}
    assert found("1,5,5", "1,2,4", "") == {"C2"}
    assert found("1,5,5", "1,2,5", "2") == {"C3"}
    top = the("ExperimentalDetectronTopKROIs", 6)
    assert {b.constraint for b in infer(top, [tensor(F32, "3,5"), tensor(F32, "3")])[1]} == {"C1"}
    assert {b.constraint for b in infer(top, [tensor(F32, "3,4"), tensor(F32, "4")])[1]} == {"C2"}
