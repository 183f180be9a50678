"""Where OpenVINO documents an operator: the address of its page."""

from __future__ import annotations

import re

from irexec.catalog.facts import OperatorFacts

_BASE = "https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs"
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# Pages whose name is not the type's words with hyphens between them.
_NAMES = {
    "CumSum": "cumsum", "DetectionOutput": "detectionoutput", "ErfInv": "erfinv", "FloorMod": "floormod",
    "HSigmoid": "hsigmoid", "HSwish": "hswish", "IsFinite": "isfinite", "IsInf": "isinf", "IsNaN": "isnan",
    "LessEqual": "lessequal", "LogSoftmax": "log-soft-max", "NonZero": "nonzero", "NotEqual": "notequal",
    "PReLU": "prelu", "ReLU": "relu", "SoftMax": "softmax", "SoftPlus": "softplus", "SoftSign": "softsign",
    "DeformablePSROIPooling": "deformable-psroi-pooling",
    "ExperimentalDetectronROIFeatureExtractor": "experimental-detectron-roi-feature-extractor",
}  # fmt: skip


def page_address(facts: OperatorFacts) -> str | None:
    """The page of an operator on docs.openvino.ai; None for an operator that OpenVINO does not have."""
    if not facts.opset.startswith("opset"):
        return None
    name = _NAMES.get(facts.type) or _WORD.sub("-", facts.type).lower()
    return f"{_BASE}/{facts.category}/{name}-{facts.opset.removeprefix('opset')}.html"
