"""The dict of results, under the name of OpenVINO's module."""

from __future__ import annotations

from irexec.api.openvino.core import tensor_from_file
from irexec.api.openvino.infer_request import InferRequest as _InferRequestWrapper
from irexec.runtime.engine.results import Results as OVDict

__all__ = ["OVDict", "_InferRequestWrapper", "tensor_from_file"]
