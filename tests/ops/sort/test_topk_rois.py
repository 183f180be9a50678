"""ExperimentalDetectronTopKROIs-6."""

from __future__ import annotations

import numpy as np
from support.cases import the
from support.detections import assert_same
from support.oracle import openvino, run


def test_top_k_rois() -> None:
    rois = np.arange(12, dtype=np.float32).reshape(3, 4)
    op = the("ExperimentalDetectronTopKROIs", 6)
    probabilities = np.array([0.2, 0.7, 0.7], np.float32)
    assert run(op, rois, probabilities, max_rois=2)[0].tolist() == rois[[1, 2]].tolist()
    assert run(op, rois, probabilities, max_rois=4)[0].tolist() == [*rois[[1, 2, 0]].tolist(), [0] * 4]
    distinct = np.array([0.2, 0.7, 0.5], np.float32)
    assert_same(run(op, rois, distinct, max_rois=2), openvino(op, rois, distinct, max_rois=2))
