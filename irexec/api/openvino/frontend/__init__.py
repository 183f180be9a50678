"""Frontends: IR and ONNX are read; other formats are converted to IR by OpenVINO."""

from __future__ import annotations

from irexec.api.openvino.core import get_version
from irexec.api.openvino.frontend.frontend import (
    ConversionExtension,
    ConversionExtensionBase,
    DecoderTransformationExtension,
    FrontEnd,
    FrontEndManager,
    GeneralFailure,
    InitializationFailure,
    InputModel,
    NodeContext,
    NoSuchFrontEnd,
    NotImplementedFailure,
    OpConversionFailure,
    OpExtension,
    OpValidationFailure,
    Place,
    ProgressReporterExtension,
    TelemetryExtension,
    convert_model,
)
from irexec.api.openvino.model import Model

__version__ = get_version()

__all__ = [
    "ConversionExtension", "ConversionExtensionBase", "DecoderTransformationExtension", "FrontEnd", "FrontEndManager",
    "GeneralFailure", "InitializationFailure", "InputModel", "Model", "NoSuchFrontEnd", "NodeContext",
    "NotImplementedFailure", "OpConversionFailure", "OpExtension", "OpValidationFailure", "Place",
    "ProgressReporterExtension", "TelemetryExtension", "convert_model", "get_version",
]  # fmt: skip
