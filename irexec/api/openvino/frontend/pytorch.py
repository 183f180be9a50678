"""The frontend of PyTorch, which irexec does not have: export the model to ONNX, or convert it with OpenVINO."""

from __future__ import annotations

from typing import Any

from irexec.api.openvino.exceptions import NotOffered, missing
from irexec.api.openvino.frontend.frontend import ConversionExtension, OpExtension

_WHAT, _NEAREST = "the conversion of PyTorch models", "export the model to ONNX, or convert it with OpenVINO"

Decoder = missing("Decoder", _WHAT, _NEAREST)
DecoderType = missing("DecoderType", _WHAT, _NEAREST)
ModuleExtension = missing("ModuleExtension", _WHAT, _NEAREST)


def inlined_extension(*arguments: Any, **keywords: Any) -> Any:
    """Raise NotOffered: irexec converts no PyTorch models."""
    raise NotOffered(_WHAT, _NEAREST)


__all__ = ["ConversionExtension", "Decoder", "DecoderType", "ModuleExtension", "OpExtension", "inlined_extension"]
