"""MediaPipe's trained TFLite networks, converted by OpenVINO: irexec computes the same from the IR as OpenVINO.

The package is not imported: its wheel (0.10.14 on PyPI, in the folder `modules`) contains the files. OpenVINO's
frontend rejects those with MediaPipe's own operators (selfie_segmentation, face_landmark_with_attention).
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import irexec

openvino = pytest.importorskip("openvino")
pytestmark = pytest.mark.models

NETWORKS = [
    "face_detection/face_detection_short_range",
    "face_detection/face_detection_full_range_sparse",
    "face_landmark/face_landmark",
    "hand_landmark/hand_landmark_full",
    "hand_landmark/hand_landmark_lite",
    "holistic_landmark/hand_recrop",
    "iris_landmark/iris_landmark",
    "palm_detection/palm_detection_full",
    "palm_detection/palm_detection_lite",
    "pose_detection/pose_detection",
    "pose_landmark/pose_landmark_full",
]


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_computes_the_same(name: str, tmp_path: Path) -> None:
    spec = importlib.util.find_spec("mediapipe")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("the package mediapipe is not installed")
    file = Path(next(iter(spec.submodule_search_locations)), "modules", f"{name}.tflite")
    if not file.exists():
        pytest.skip(f"this release of mediapipe has no {name}")
    model = openvino.Core().read_model(file)
    openvino.save_model(model, tmp_path / "m.xml", compress_to_fp16=False)
    rng = np.random.default_rng(0)
    shape = list(model.input().shape)
    image = np.sin(np.linspace(0, 40, int(np.prod(shape)))).reshape(shape) / 2 + rng.normal(size=shape) / 20
    given = image.astype(np.float32)
    theirs = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})([given])
    mine = irexec.compile_model(tmp_path / "m.xml")([given])
    assert len(mine) == len(theirs) > 0
    for index in range(len(theirs)):
        one, other = mine[index], theirs[index]
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        scale = float(np.abs(other).max(initial=1e-3))
        np.testing.assert_allclose(one / scale, other / scale, rtol=1e-3, atol=1e-3)
