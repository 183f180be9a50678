"""ROIAlign and ROIAlignRotated: compared with OpenVINO, and edge cases."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.cases import the
from support.oracle import infer, openvino, run, tensor
from support.regions import BATCHES, SETTINGS, boxes, features

import irexec
from irexec.core.types import F32, I64
from irexec.ops.spec.operator import ConstraintError


@pytest.mark.by_hand(3)
@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("aligned", ["asymmetric", "half_pixel_for_nn", "half_pixel"])
def test_align_agrees_with_openvino(mode: str, aligned: str) -> None:
    for seed, (h, w, ratio, scale) in enumerate(SETTINGS):
        attributes: dict[str, Any] = {"pooled_h": h, "pooled_w": w, "sampling_ratio": ratio, "spatial_scale": scale}
        arrays = (features(seed), boxes(seed, scale), BATCHES)
        op = the("ROIAlign", 9)
        attributes |= {"mode": mode, "aligned_mode": aligned}
        ours, theirs = run(op, *arrays, **attributes)[0], openvino(op, *arrays, **attributes)[0]
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_align_3_is_asymmetric() -> None:
    attributes = {"pooled_h": 2, "pooled_w": 3, "sampling_ratio": 2, "spatial_scale": 0.5, "mode": "avg"}
    arrays = (features(), boxes(0), BATCHES)
    one = run(the("ROIAlign", 3), *arrays, **attributes)[0]
    np.testing.assert_array_equal(one, run(the("ROIAlign", 9), *arrays, **attributes)[0])


def test_a_constant_map_stays_constant() -> None:
    attributes = {"pooled_h": 2, "pooled_w": 2, "sampling_ratio": 3, "spatial_scale": 1.0, "mode": "avg"}
    inside = np.array([[1, 1, 5, 6]], np.float32)
    ours = run(the("ROIAlign", 3), np.full((1, 2, 8, 8), 3, np.float32), inside, np.array([0]), **attributes)[0]
    np.testing.assert_allclose(ours, 3, rtol=1e-6)


@pytest.mark.parametrize("clockwise", [False, True])
def test_rotated_agrees_with_openvino(clockwise: bool) -> None:
    for seed, (h, w, ratio, scale) in enumerate(SETTINGS):
        rng = np.random.default_rng(seed)
        rois = np.concatenate([rng.uniform(1, 7, (5, 4)) / scale, rng.uniform(-4, 4, (5, 1))], axis=1)
        arrays = (features(seed), rois.astype(np.float32), BATCHES)
        attributes = {"pooled_h": h, "pooled_w": w, "sampling_ratio": ratio, "spatial_scale": scale}
        op = the("ROIAlignRotated", 15)
        ours = run(op, *arrays, clockwise_mode=clockwise, **attributes)[0]
        theirs = openvino(op, *arrays, clockwise_mode=clockwise, **attributes)[0]
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-4)


def test_rotation_by_nothing_is_a_plain_box() -> None:
    rois = np.array([[4, 4, 3, 2, 0]], np.float32)
    plain = np.array([[2.5, 3, 5.5, 5]], np.float32)
    attributes = {"pooled_h": 2, "pooled_w": 2, "sampling_ratio": 2, "spatial_scale": 1.0}
    turned = run(the("ROIAlignRotated", 15), features(), rois, np.array([0]), **attributes)[0]
    attributes |= {"mode": "avg", "aligned_mode": "half_pixel_for_nn"}
    aligned = run(the("ROIAlign", 9), features(), plain, np.array([0]), **attributes)[0]
    np.testing.assert_allclose(turned, aligned, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_narrow_floats_are_rounded_once(dtype: Any) -> None:
    attributes = {"pooled_h": 2, "pooled_w": 2, "sampling_ratio": 2, "spatial_scale": 1.0, "mode": "avg"}
    arrays = [features().astype(dtype), boxes(0).astype(dtype)]
    ours = run(the("ROIAlign", 3), *arrays, BATCHES, **attributes)[0]
    wide = run(the("ROIAlign", 3), *(a.astype(np.float32) for a in arrays), BATCHES, **attributes)[0]
    np.testing.assert_array_equal(ours.astype(np.float32), wide.astype(dtype).astype(np.float32))


ALIGN = {"pooled_h": 2, "pooled_w": 3, "sampling_ratio": 1, "spatial_scale": 1.0}


@pytest.mark.parametrize(("type", "opset", "numbers"), [("ROIAlign", 9, 4), ("ROIAlignRotated", 15, 5)])
def test_c1_to_c3_of_align(type: str, opset: int, numbers: int) -> None:
    op, attributes = the(type, opset), ALIGN | ({"mode": "avg"} if type == "ROIAlign" else {})

    def found(data: str, rois: str, batches: str, value: Any = None) -> set[str | None]:
        types = [tensor(F32, data), tensor(F32, rois), tensor(I64, batches, value)]
        return {b.constraint for b in infer(op, types, **attributes)[1]}

    assert found("2,3,4,5", f"3,{numbers}", "3", [0, 1, 0]) == set()
    assert found("2,3,4", f"3,{numbers}", "3") == {"C1"}
    assert found("2,3,4,5", f"3,{9 - numbers}", "3") == {"C2"}
    assert found("2,3,4,5", f"3,{numbers}", "4") == {"C3"}
    assert found("2,3,4,5", f"3,{numbers}", "3", [0, 2, 0]) == {"C3"}
    with pytest.raises(ConstraintError):
        op(features(), np.zeros((1, numbers), np.float32), np.array([2]), **attributes)
    types = [tensor(F32, "?,3,?,?"), tensor(F32, f"?,{numbers}"), tensor(I64, "4")]
    assert str(infer(op, types, **attributes)[0][0]) == "f32[4,3,2,3]"


def test_a_scale_that_leaves_no_finite_place_gives_zeros() -> None:
    features, rois = np.ones((1, 1, 4, 4), np.float32), np.float32([[2, 2, 3, 3, 0.5]])
    result = irexec.opset15.roi_align_rotated(features, rois, np.int32([0]), 2, 2, 3, 3e38, clockwise_mode=False)
    assert not result.any()


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


def test_a_bin_of_four_million_samples() -> None:
    features = np.ones((1, 2, 8, 8), np.float32)
    for mode in ("avg", "max"):
        result = irexec.opset15.roi_align(features, np.float32([[1, 1, 6, 6]]), np.int32([0]), 64, 64, 2000, 1.0, mode)
        np.testing.assert_allclose(result, 1, rtol=1e-5)
