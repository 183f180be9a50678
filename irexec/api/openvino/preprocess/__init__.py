"""PrePostProcessor: steps before and after a model, which become its layers."""

from __future__ import annotations

from irexec.api.openvino.preprocess.formats import ColorFormat, PaddingMode, ResizeAlgorithm
from irexec.api.openvino.preprocess.inputs import InputInfo, InputModelInfo, InputTensorInfo
from irexec.api.openvino.preprocess.outputs import OutputInfo, OutputModelInfo, OutputTensorInfo
from irexec.api.openvino.preprocess.processor import PrePostProcessor
from irexec.api.openvino.preprocess.steps import PostProcessSteps, PreProcessSteps
from irexec.version import get_version

__all__ = [
    "ColorFormat", "InputInfo", "InputModelInfo", "InputTensorInfo", "OutputInfo", "OutputModelInfo",
    "OutputTensorInfo", "PaddingMode", "PostProcessSteps", "PrePostProcessor", "PreProcessSteps", "ResizeAlgorithm",
    "get_version",
]  # fmt: skip

# OpenVINO's compiled module also has the members of the enumerations as names of its own.
for _kind in (ColorFormat, PaddingMode, ResizeAlgorithm):
    globals().update(_kind.__members__)
