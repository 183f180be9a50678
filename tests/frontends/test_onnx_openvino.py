"""The domain org.openvinotoolkit: the operators of IR that OpenVINO reads in ONNX models, beside OpenVINO."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.instructions import skip_unless_computed

import irexec

onnx = pytest.importorskip("onnx")
openvino = pytest.importorskip("openvino")
from onnx import TensorProto, helper

DOMAIN = "org.openvinotoolkit"
RNG = np.random.default_rng(3)


def f(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


IMAGE, ONE = f(2, 4, 5, 5), np.ones(1, np.float32)
MAPS = {"map": f(1, 2, 3, 3), "image": f(1, 3, 30, 30)}
VARIANCE = [0.1, 0.1, 0.2, 0.2]
ANCHORS = np.array([[-8, -8, 8, 8], [-4, -8, 4, 8], [-8, -4, 8, 4]], np.float32)
BOXES = (np.abs(f(6, 4)) * 5 + np.array([0, 0, 30, 30])).astype(np.float32)
PRIORS = np.array(
    [[[0.1, 0.1, 0.4, 0.4, 0.2, 0.2, 0.6, 0.7, 0.5, 0.5, 0.9, 0.8], [0.1, 0.1, 0.2, 0.2] * 3]], np.float32
)
SSD = {"b": np.abs(f(1, 12)) * np.float32(0.1), "c": np.abs(f(1, 9)), "p": PRIORS}
SCORES, DELTAS, SIZE = np.abs(f(1, 3, 4, 4)), f(1, 12, 4, 4) * np.float32(0.1), np.array([[64, 64, 1]], np.float32)
LEVELS = {f"map{level}": f(1, 3, 64 >> level, 64 >> level) for level in range(4)}

# Operator, its inputs, attributes, and number of outputs.
NODES: list[tuple[str, dict[str, np.ndarray], dict[str, Any], int]] = [
    ("FakeQuantize", {"x": IMAGE, "a": -ONE, "b": ONE, "c": -ONE, "d": 2 * ONE}, {"levels": 16}, 1),
    ("Swish", {"x": IMAGE}, {}, 1),
    ("Swish", {"x": IMAGE, "beta": 2 * ONE}, {}, 1),
    ("GroupNorm", {"x": IMAGE, "s": f(4), "b": f(4)}, {"num_groups": 2, "eps": 1e-5}, 1),
    ("GroupNorm", {"x": IMAGE, "s": f(1, 4, 1, 1), "b": f(1, 4, 1, 1)}, {"num_groups": 2}, 1),
    ("Normalize", {"x": IMAGE, "w": f(4)}, {"eps": 1e-5}, 1),
    ("Normalize", {"x": IMAGE, "w": f(4)}, {"eps": 1e-5, "across_spatial": 1}, 1),
    ("PriorBox", MAPS, {"min_size": [10.0], "max_size": [20.0], "aspect_ratio": [2.0], "variance": VARIANCE}, 1),
    ("PriorBoxClustered", MAPS, {"width": [10.0, 5.0], "height": [20.0, 4.0], "variance": VARIANCE}, 1),
    ("DeformableConv2D", {"x": f(1, 2, 5, 5), "o": f(1, 18, 3, 3), "w": f(3, 2, 3, 3)}, {}, 1),
    ("DetectionOutput", SSD, {"keep_top_k": 5, "code_type": "CENTER_SIZE", "nms_threshold": 0.45, "top_k": 10}, 1),
    ("GenerateProposals", {"s": SCORES, "d": DELTAS, "i": SIZE, "a": ANCHORS}, {"post_nms_topN": 5}, 3),
    ("ExperimentalDetectronPriorGridGenerator", {"p": f(3, 4), "m": f(1, 8, 4, 5), "i": f(1, 3, 32, 40)}, {}, 1),
    ("ExperimentalDetectronTopKROIs", {"r": f(10, 4), "p": f(10)}, {"max_rois": 3}, 1),
    ("ExperimentalDetectronROIFeatureExtractor", {"r": BOXES, **LEVELS}, {}, 2),
    (
        "ExperimentalDetectronGenerateProposalsSingleImage",
        {"i": SIZE[0], "a": np.tile(ANCHORS, (16, 1)), "d": DELTAS[0], "s": SCORES[0]},
        {"post_nms_count": 5},
        2,
    ),
    (
        "ExperimentalDetectronDetectionOutput",
        {"r": BOXES, "d": f(6, 12) * np.float32(0.1), "s": np.abs(f(6, 3)), "i": SIZE},
        {"num_classes": 3, "max_detections_per_image": 5},
        3,
    ),
]  # fmt: skip


def saved(path: Path, type: str, inputs: dict[str, np.ndarray], attributes: dict[str, Any], count: int) -> None:
    """Write a model of one node, which imports the domain if it has attributes."""
    node = helper.make_node(type, list(inputs), [f"y{n}" for n in range(count)], domain=DOMAIN, **attributes)
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, array.shape) for name, array in inputs.items()]
    graph = helper.make_graph([node], "g", values, [onnx.ValueInfoProto(name=name) for name in node.output])
    opsets = [helper.make_opsetid("", 13)] + ([helper.make_opsetid(DOMAIN, 1)] if attributes else [])
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)


@pytest.mark.parametrize("number", range(len(NODES)))
def test_beside_openvino(tmp_path: Path, number: int) -> None:
    type, inputs, attributes, count = NODES[number]
    saved(tmp_path / "model.onnx", type, inputs, attributes, count)
    for node in irexec.read_model(tmp_path / "model.onnx").get_ops():
        skip_unless_computed(str(node.operator))
    options = {"INFERENCE_PRECISION_HINT": "f32"}
    theirs = openvino.Core().compile_model(tmp_path / "model.onnx", "CPU", options)(list(inputs.values()))
    mine = irexec.compile_model(tmp_path / "model.onnx")(inputs)
    for index in range(count):
        assert mine[index].shape == theirs[index].shape
        np.testing.assert_allclose(mine[index], theirs[index], rtol=1e-4, atol=1e-4)


def test_another_operator_of_the_domain_is_refused(tmp_path: Path) -> None:
    saved(tmp_path / "model.onnx", "FakeQuantise", {"x": IMAGE}, {}, 1)
    (finding,) = irexec.validate(tmp_path / "model.onnx").errors
    assert finding.code == "F003" and finding.hint is not None and "FakeQuantize" in finding.hint
