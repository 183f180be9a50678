"""Where OpenVINO documents an operator: the address of its page."""

from __future__ import annotations

import importlib
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
    return f"{_BASE}/{facts.category}/{name}-{_number(facts)}.html"


def _number(facts: OperatorFacts) -> int:
    """The version that the page's name has: some pages are named for an earlier opset than the one with the operator.

    The operator's module names its pages: `Source: operation pages Gather-1, -7 and -8.`
    """
    own = int(facts.opset.removeprefix("opset"))
    source = importlib.import_module(facts.module).__doc__ or ""
    named = re.findall(rf"\b{facts.type}((?:(?:, | and |, and )?-\d+)+)", source)
    numbers = [int(number) for found in named for number in re.findall(r"\d+", found)]
    return max((number for number in numbers if number <= own), default=own)
