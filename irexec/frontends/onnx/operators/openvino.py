"""Translators of org.openvinotoolkit: operators of IR that OpenVINO, NNCF and exporters write into ONNX models.

Source: OpenVINO's front end for ONNX. An attribute that a node omits has OpenVINO's default value.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import Any

from irexec.frontends.onnx.op import Op
from irexec.frontends.onnx.operators.convolution import auto_pad, window_lists
from irexec.frontends.onnx.registry import OPENVINO, Translator, translates
from irexec.model.graph.model import Value


def openvino(*operators: str) -> Callable[[Translator], Translator]:
    """Return a decorator that registers a translator for operators of OpenVINO's domain."""
    return translates(*operators, since=(1,), domain=OPENVINO)


def _read(op: Op, defaults: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes that a node has or omits; a default value shows the attribute's type."""
    readers: dict[type, Callable[[str, Any], Any]] = {
        bool: op.flag,
        int: op.integer,
        float: op.number,
        list: lambda name, default: op.numbers(name) or default,
    }
    return {name: readers[type(default)](name, default) for name, default in defaults.items()}


# Operator → IR's opset and the default values of its attributes.
_PROPOSALS = {"min_size": 0.0, "nms_threshold": 0.7, "pre_nms_count": 1000, "post_nms_count": 1000}
_DETECTRON: dict[str, dict[str, Any]] = {
    "ExperimentalDetectronGenerateProposalsSingleImage": _PROPOSALS,
    "ExperimentalDetectronPriorGridGenerator": {
        "flatten": True, "h": 0, "w": 0, "stride_x": 0.0, "stride_y": 0.0,
    },
    "ExperimentalDetectronTopKROIs": {"max_rois": 1000},
    "ExperimentalDetectronDetectionOutput": {
        "score_threshold": 0.05, "nms_threshold": 0.5, "max_delta_log_wh": log(1000 / 16), "num_classes": 81,
        "post_nms_count": 2000, "max_detections_per_image": 100, "class_agnostic_box_regression": False,
        "deltas_weights": [10.0, 10.0, 5.0, 5.0],
    },
}  # fmt: skip


@openvino(*_DETECTRON)
def _detectron(op: Op) -> list[Value]:
    made = op.make_node(op.type, *(op[i] for i in range(len(op))), opset=6, **_read(op, _DETECTRON[op.type]))
    return list(made.outputs)


@openvino("ExperimentalDetectronROIFeatureExtractor")
def _feature_extractor(op: Op) -> list[Value]:
    options = _read(op, {"output_size": 7, "sampling_ratio": 2, "aligned": False})
    options["pyramid_scales"] = op.integers("pyramid_scales") or [4, 8, 16, 32, 64]
    return list(op.make_node(op.type, *(op[i] for i in range(len(op))), opset=6, **options).outputs)


@openvino("GenerateProposals")
def _proposals(op: Op) -> list[Value]:
    scores, deltas, sizes, anchors = (op[i] for i in range(4))
    options = {
        "min_size": op.number("min_size", 1.0),
        "nms_threshold": op.number("nms_thresh", 0.7),
        "pre_nms_count": op.integer("pre_nms_topN", 6000),
        "post_nms_count": op.integer("post_nms_topN", 300),
        "normalized": not op.flag("legacy_plus_one", True),
    }
    shape = op.make("Concat", op.extent(scores, [2, 3]), op.shape_of(anchors), axis=0)
    anchors = op.make("Broadcast", anchors, shape, opset=3)
    return list(op.make_node("GenerateProposals", sizes, anchors, deltas, scores, opset=9, **options).outputs)


@openvino("FakeQuantize")
def _fake_quantize(op: Op) -> Value:
    return op.make("FakeQuantize", *(op[i] for i in range(5)), levels=op.integer("levels"))


@openvino("Swish")
def _swish(op: Op) -> Value:
    beta = op.get(1)
    return op.make("Swish", op[0], op.like(1.0) if beta is None else op.reshape(beta, []), opset=4)


@openvino("GroupNorm")
def _group_norm(op: Op) -> Value:
    options = {"num_groups": op.integer("num_groups"), "epsilon": op.number("eps", 1e-6)}
    scale, bias = (op[i] if op.rank(i) == 1 else op.reshape(op[i], [-1]) for i in (1, 2))
    return op.make("GroupNormalization", op[0], scale, bias, opset=12, **options)


@openvino("Normalize")
def _normalize(op: Op) -> Value:
    axes = op.axes_from(1) if op.flag("across_spatial") else [1]
    weights = op[1] if op.flag("channel_shared") else op.along_channels(op[1], op[0])
    normal = op.make("NormalizeL2", op[0], axes, eps=op.number("eps"), eps_mode="add")
    return op.make("Multiply", normal, weights)


@openvino("DeformableConv2D")
def _deformable(op: Op) -> Value:
    options = window_lists(op, 2) | {"auto_pad": auto_pad(op)}
    options |= {"group": op.integer("group", 1), "deformable_group": op.integer("deformable_groups", 1)}
    return op.make("DeformableConvolution", op[0], op[1], op[2], op.get(3), opset=8, **options)


_DETECTION = {
    "background_label_id": 0, "top_k": -1, "variance_encoded_in_target": False, "keep_top_k": 1,
    "share_location": True, "nms_threshold": 0.0, "confidence_threshold": 0.0, "clip_after_nms": False,
    "clip_before_nms": False, "decrease_label_id": False, "normalized": True, "input_width": 1, "input_height": 1,
    "objectness_score": 0.0,
}  # fmt: skip
_CODE = "caffe.PriorBoxParameter."


@openvino("DetectionOutput")
def _detection_output(op: Op) -> Value:
    options = _read(op, _DETECTION)
    op.integer("num_classes")  # The inputs tell it; older versions of the operator have the attribute.
    code = op.text("code_type", f"{_CODE}CORNER").removeprefix(_CODE)
    options |= {"keep_top_k": [options["keep_top_k"]], "code_type": _CODE + code}
    return op.make("DetectionOutput", *(op.get(i) for i in range(5)), opset=8, **options)


_PRIORS: dict[str, tuple[int, dict[str, Any]]] = {
    "PriorBox": (8, {
        "min_size": [], "max_size": [], "aspect_ratio": [], "flip": False, "clip": False, "step": 0.0, "offset": 0.0,
        "variance": [], "scale_all_sizes": True, "fixed_ratio": [], "fixed_size": [], "density": [],
        "min_max_aspect_ratios_order": True,
    }),
    "PriorBoxClustered": (1, {
        "width": [], "height": [], "clip": False, "variance": [0.1], "step_h": 0.0, "step_w": 0.0, "offset": 0.0,
    }),
}  # fmt: skip


@openvino(*_PRIORS)
def _prior_boxes(op: Op) -> Value:
    """Return the boxes for a feature map (input 0) and an image (input 1), of which only the extents count."""
    opset, defaults = _PRIORS[op.type]
    sizes = (op.extent(op[i], [2, 3]) for i in (0, 1))
    return op.make("Unsqueeze", op.make(op.type, *sizes, opset=opset, **_read(op, defaults)), [0])
