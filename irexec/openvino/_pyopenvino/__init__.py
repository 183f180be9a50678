"""The names that programs import from OpenVINO's compiled module.

Its submodules are those of the API (`_pyopenvino.properties` is `properties`: see aliases.py), except `util`.
"""

from __future__ import annotations

from collections.abc import Iterator

from irexec.openvino import (
    _offline_transformations,
    experimental,
    frontend,
    layout_helpers,
    op,
    passes,
    preprocess,
    properties,
)
from irexec.openvino._pyopenvino import util
from irexec.openvino.async_queue import AsyncInferQueue
from irexec.openvino.compiled import CompiledModel
from irexec.openvino.core import (
    Core,
    Extension,
    OpExtension,
    Version,
    compile_model,
    get_batch,
    get_version,
    set_batch,
    shutdown,
    tensor_from_file,
)
from irexec.openvino.custom.op import Op
from irexec.openvino.custom.visitor import AttributeVisitor
from irexec.openvino.frontend import (
    ConversionExtension,
    ConversionExtensionBase,
    DecoderTransformationExtension,
    FrontEnd,
    FrontEndManager,
    GeneralFailure,
    InitializationFailure,
    InputModel,
    NodeContext,
    NotImplementedFailure,
    OpConversionFailure,
    OpValidationFailure,
    Place,
    ProgressReporterExtension,
    TelemetryExtension,
)
from irexec.openvino.infer_request import InferRequest
from irexec.openvino.layout import Layout
from irexec.openvino.model import Model
from irexec.openvino.node import Node
from irexec.openvino.ov_any import OVAny
from irexec.openvino.ports import ConstOutput, DescriptorTensor, Input, Output
from irexec.openvino.profiling import ProfilingInfo
from irexec.openvino.remote import RemoteContext, RemoteTensor, VAContext, VASurfaceTensor
from irexec.openvino.rt_map import RTMap
from irexec.openvino.saving import save_model, serialize
from irexec.openvino.shapes import (
    AxisSet,
    AxisVector,
    Coordinate,
    CoordinateDiff,
    PartialShape,
    Shape,
    Strides,
    Symbol,
)
from irexec.openvino.tensor import Tensor, TensorVector
from irexec.openvino.type_info import DiscreteTypeInfo
from irexec.openvino.utils.node_factory import NodeFactory
from irexec.openvino.variable_state import VariableState
from irexec.types import Dimension
from irexec.types.element import Type

__all__ = [
    "AsyncInferQueue", "AttributeVisitor", "AxisSet", "AxisVector", "CompiledModel", "ConstOutput",
    "ConversionExtension", "ConversionExtensionBase", "Coordinate", "CoordinateDiff", "Core",
    "DecoderTransformationExtension", "DescriptorTensor", "Dimension", "DiscreteTypeInfo", "Extension", "FrontEnd",
    "FrontEndManager", "GeneralFailure", "InferRequest", "InitializationFailure", "Input", "InputModel", "Iterator",
    "Layout", "Model", "Node", "NodeContext", "NodeFactory", "NotImplementedFailure", "OVAny", "Op",
    "OpConversionFailure", "OpExtension", "OpValidationFailure", "Output", "PartialShape", "Place", "ProfilingInfo",
    "ProgressReporterExtension", "RTMap", "RemoteContext", "RemoteTensor", "Shape", "Strides", "Symbol",
    "TelemetryExtension", "Tensor", "TensorVector", "Type", "VAContext", "VASurfaceTensor", "VariableState",
    "Version", "_offline_transformations", "compile_model", "experimental", "frontend", "get_batch", "get_version",
    "layout_helpers", "op", "passes", "preprocess", "properties", "save_model", "serialize", "set_batch", "shutdown",
    "tensor_from_file", "util",
]  # fmt: skip
