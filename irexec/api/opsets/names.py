"""The names of operators in Python (`ScatterNDUpdate` is `scatter_nd_update`), and the operators of each opset."""

from __future__ import annotations

import re
from functools import cache

from irexec.ops.spec import contents
from irexec.ops.spec.operator import REGISTRY

# Names that OpenVINO's Python API does not split at capitals.
_NAMES = {
    "BGRtoNV12": "bgr_to_nv12", "Col2Im": "col2im", "Const": "constant", "ErfInv": "erfinv", "HSigmoid": "hsigmoid",
    "ExperimentalDetectronTopKROIs": "experimental_detectron_topk_rois", "HSwish": "hswish", "I420toBGR": "i420_to_bgr",
    "GroupedMatMul": "grouped_matmul", "I420toRGB": "i420_to_rgb", "If": "if_op", "IsNaN": "is_nan", "MatMul": "matmul",
    "NV12toBGR": "nv12_to_bgr", "NV12toRGB": "nv12_to_rgb", "PReLU": "prelu", "RGBtoNV12": "rgb_to_nv12",
    "ReLU": "relu", "SoftMax": "softmax", "SoftPlus": "softplus", "SoftSign": "softsign", "TopK": "topk",
}  # fmt: skip

# Second names that OpenVINO's Python API gives an operator.
_ALIASES = {"absolute": "Abs", "ceil": "Ceiling", "cumsum": "CumSum"}


def python_name(type: str) -> str:
    """Return the name of an operator in OpenVINO's opset modules: `ScatterNDUpdate` → `scatter_nd_update`."""
    if type in _NAMES:
        return _NAMES[type]
    return "_".join(re.findall(r"[A-Z]+[0-9]*(?![a-z])|[A-Z][a-z0-9]*|[a-z0-9]+", type)).lower()


def types_of(opset: str) -> dict[str, str]:
    """Return a dict, Python name → type, of all operators in the opset."""
    return _types(opset, len(REGISTRY))


@cache
def _types(opset: str, registered: int) -> dict[str, str]:
    number = opset.removeprefix("opset")
    own = [type for type, version in REGISTRY if version == opset]
    if opset in contents.ONNX_OPSETS:
        own += [type for type, version in REGISTRY if version in contents.ONNX_OPSETS and contents.find(type, opset)]
    if number != opset and number.isdigit():
        own += [type for type in contents.CONTENTS if contents.introduced(type, int(number)) is not None]
    names = {python_name(type): type for type in own}
    return names | {alias: type for alias, type in _ALIASES.items() if type in names.values()}


CREATED = frozenset(
    [
        *("BGRtoNV12", "Interpolate", "Proposal", "RGBtoNV12", "RNNCell", "Range-4", "ReorgYolo", "Reverse"),
        *("ShuffleChannels-1", "TopK-1", "Xor"),
    ]
)
"""The types whose functions in OpenVINO lack an attribute, change one, or do not exist."""
UNNAMED = frozenset(["DFT", "GRN", "GridSample", "HSigmoid", "IDFT", "ROIAlign", "SoftSign", "Unsqueeze"])
"""The types whose functions in OpenVINO ignore the name."""
