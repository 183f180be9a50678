"""The address of the page on which OpenVINO documents an operator."""

from __future__ import annotations

import importlib
import re

from irexec.tools.catalog.facts import OperatorFacts

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
    "ExperimentalDetectronTopKROIs": "experimental-detectron-top-krois", "Col2Im": "col2im", "MatMul": "matmul",
    "GroupedMatMul": "grouped-matmul", "MatrixNms": "matrix-non-max-suppression",
    "MulticlassNms": "multiclass-non-max-suppression", "RGBtoNV12": "rgb-to-nv12", "BGRtoNV12": "bgr-to-nv12",
    "I420toBGR": "i420-to-bgr", "I420toRGB": "i420-to-rgb", "NV12toBGR": "nv12-to-bgr", "NV12toRGB": "nv12-to-rgb",
}  # fmt: skip


# Pages in a different folder or with a different number than the operator, or with an irregular name.
_PAGES = {
    "Acosh-4": "arithmetic/acosh-3", "Asinh-4": "arithmetic/asinh-3", "Atanh-4": "arithmetic/atanh-3",
    "Exp-1": "activation/exp-1", "SegmentMax-16": "arithmetic/segment-max-16", "Identity-16": "activation/identity-16",
    "Const-1": "infrastructure/constant-1", "Xor-1": "logical/logical-xor-1", "RNNCell-1": "sequence/rnn-cell-3",
    "NonMaxSuppression-5": "sort/no-max-suppression-5",
    "ScaledDotProductAttention-13": "sequence/scaled-dot-product-attention",
    "SparseFillEmptyRows-16": "sparse/fill-empty-rows-16",
}  # fmt: skip


def page_address(facts: OperatorFacts) -> str | None:
    """Return the page of an operator on docs.openvino.ai; None for an operator that OpenVINO does not have."""
    if not facts.opset.startswith("opset"):
        return None
    if facts.name in _PAGES:
        return f"{_BASE}/{_PAGES[facts.name]}.html"
    name = _NAMES.get(facts.type) or _WORD.sub("-", facts.type).lower()
    return f"{_BASE}/{facts.category}/{name}-{_number(facts)}.html"


def _number(facts: OperatorFacts) -> int:
    """Return the version in the name of the operator's page, which may be older than the version in the operator's
    opset.

    The operator's module names its pages: `Source: operation pages Gather-1, -7 and -8.`
    """
    own = int(facts.opset.removeprefix("opset"))
    source = importlib.import_module(facts.module).__doc__ or ""
    named = re.findall(rf"\b{facts.type}((?:(?:, | and |, and )?-\d+)+)", source)
    numbers = [int(number) for found in named for number in re.findall(r"\d+", found)]
    return max((number for number in numbers if number <= own), default=own)
