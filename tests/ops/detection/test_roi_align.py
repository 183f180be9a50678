"""ROIAlign: many samples of a bin are not taken one by one."""

from __future__ import annotations

import numpy as np
import pytest

import irexec


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("ratio", [9, 20])
def test_many_samples_are_not_taken_one_by_one(mode: str, ratio: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mean is computed axis by axis, the maximum from the samples next to pixels: the results are the same."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((2, 3, 9, 7)).astype(np.float32)
    features[1, 1, 4, 4] = np.inf
    rois = np.float32([[0.3, 0.2, 6, 6], [-40, -3, 50, 4], [1, 1, 1.5, 1.5], [3, 3, 2, 2], [100, 100, 101, 101]])
    arguments = (features, rois, np.int32([0, 1, 0, 1, 0]), 3, 2, ratio, 1.0, mode)
    quick = irexec.opset15.roi_align(*arguments)
    monkeypatch.setattr("irexec.ops.detection.roi_align._FEW_SAMPLES", 1 << 40)
    monkeypatch.setattr("irexec.ops.detection.roi_align._SAMPLES_AT_ONCE", 1)
    with np.errstate(invalid="ignore"):
        one_by_one = irexec.opset15.roi_align(*arguments)
    np.testing.assert_allclose(quick, one_by_one, rtol=1e-4, atol=1e-5)
