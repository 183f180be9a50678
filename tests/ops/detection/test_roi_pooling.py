"""ROIPooling: compared with OpenVINO, and edge cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import the
from support.oracle import infer, openvino, run, tensor
from support.regions import BATCHES, SETTINGS, boxes, features

from irexec.core.types import F32
from irexec.ops.spec.operator import ConstraintError


@pytest.mark.parametrize("method", ["max", "bilinear"])
def test_pooling_agrees_with_openvino(method: str) -> None:
    op = the("ROIPooling", 2)
    for seed, (h, w, _, scale) in enumerate(SETTINGS):
        corners = boxes(seed, scale) if method == "max" else np.clip(boxes(seed) / 12, 0, 1)
        rois = np.concatenate([BATCHES[:, None], corners], axis=1).astype(np.float32)
        attributes = {"pooled_h": h, "pooled_w": w, "spatial_scale": scale, "method": method}
        ours = run(op, features(seed), rois, **attributes)[0]
        theirs = openvino(op, features(seed), rois, **attributes)[0]
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_pooling_takes_the_maximum_of_each_bin() -> None:
    data = np.arange(16.0, dtype=np.float32).reshape(1, 1, 4, 4)
    attributes = {"pooled_h": 2, "pooled_w": 2, "spatial_scale": 1.0}
    ours = run(the("ROIPooling", 2), data, np.array([[0, 0, 0, 3, 3]], np.float32), **attributes)[0]
    assert ours.ravel().tolist() == [5, 7, 13, 15]
    outside = run(the("ROIPooling", 2), data, np.array([[0, 9, 9, 12, 12]], np.float32), **attributes)[0]
    assert not outside.any()


@pytest.mark.parametrize(
    ("changes", "constraint"),
    [({"spatial_scale": "inf"}, "C4"), ({"output_roi": "2"}, "C5"), ({"output_size": "2,3,4"}, "C5")],
)
def test_c4_c5_of_pooling(changes: dict[str, str], constraint: str) -> None:
    attributes = {"pooled_h": 2, "pooled_w": 3, "spatial_scale": 1.0} | changes
    breaches = infer(the("ROIPooling", 2), [tensor(F32, "2,3,4,5"), tensor(F32, "1,5")], **attributes)[1]
    assert [b.constraint for b in breaches] == [constraint]


def test_c1_to_c3_of_pooling() -> None:
    op, attributes = the("ROIPooling", 2), {"pooled_h": 2, "pooled_w": 3, "spatial_scale": 1.0}

    def found(data: str, rois: str, value: Any = None) -> set[str | None]:
        return {b.constraint for b in infer(op, [tensor(F32, data), tensor(F32, rois, value)], **attributes)[1]}

    assert found("2,3,4,5", "1,5", [[1, 0, 0, 1, 1]]) == set()
    assert found("2,3,4", "1,5") == {"C1"}
    assert found("2,3,4,5", "1,4") == {"C2"}
    assert found("2,3,4,5", "1,5", [[2, 0, 0, 1, 1]]) == {"C3"}
    with pytest.raises(ConstraintError):
        op(features(), np.array([[-1, 0, 0, 1, 1]], np.float32), **attributes)
