"""The dict of results, under the name of OpenVINO's module."""

from __future__ import annotations

from irexec.engine.results import Results as OVDict
from irexec.openvino.core import tensor_from_file
from irexec.openvino.infer_request import InferRequest as _InferRequestWrapper

__all__ = ["OVDict", "_InferRequestWrapper", "tensor_from_file"]
