"""Extensions of the frontend of ONNX, which irexec does not offer: an operator is a function or a class."""

from __future__ import annotations

from irexec.api.openvino.frontend.frontend import ConversionExtension, OpExtension

__all__ = ["ConversionExtension", "OpExtension"]
