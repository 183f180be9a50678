"""The frontend of TensorFlow, which irexec does not have: OpenVINO converts such models to IR."""

from __future__ import annotations

from irexec.api.openvino.exceptions import missing
from irexec.api.openvino.frontend.frontend import ConversionExtension, OpExtension

GraphIterator = missing("GraphIterator", "the conversion of TensorFlow models", "convert the model with OpenVINO")

__all__ = ["ConversionExtension", "GraphIterator", "OpExtension"]
