"""Inputs and results of requests: the dict of results, and the conversion of arguments."""

from __future__ import annotations

from irexec.api.openvino.core import tensor_from_file
from irexec.api.openvino.infer_request import InferRequest as _InferRequestWrapper
from irexec.api.openvino.utils.data_helpers.data_dispatcher import _data_dispatch
from irexec.api.openvino.utils.data_helpers.wrappers import OVDict

__all__ = ["OVDict", "_InferRequestWrapper", "_data_dispatch", "tensor_from_file"]
