"""The converter of models: it reads IR and ONNX."""

from __future__ import annotations

from irexec.api.openvino.core import get_version as get_rt_version
from irexec.api.openvino.frontend import convert_model

__all__ = ["convert_model", "get_rt_version"]
