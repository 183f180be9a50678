"""The names that programs import from OpenVINO's compiled module.

Its submodules are those of the API (`_pyopenvino.properties` is `properties`: see aliases.py), except `util`.
"""

from __future__ import annotations

from collections.abc import Iterator

from irexec.api.openvino import (
    _offline_transformations,
    experimental,
    frontend,
    layout_helpers,
    op,
    passes,
    preprocess,
    properties,
)
from irexec.api.openvino._pyopenvino import util
from irexec.api.openvino.async_queue import AsyncInferQueue
from irexec.api.openvino.compiled import CompiledModel
from irexec.api.openvino.core import (
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
from irexec.api.openvino.custom.op import Op
from irexec.api.openvino.custom.visitor import AttributeVisitor
from irexec.api.openvino.frontend import (
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
from irexec.api.openvino.infer_request import InferRequest
from irexec.api.openvino.layout import Layout
from irexec.api.openvino.model import Model
from irexec.api.openvino.node import Node
from irexec.api.openvino.ov_any import OVAny
from irexec.api.openvino.ports import ConstOutput, DescriptorTensor, Input, Output
from irexec.api.openvino.profiling import ProfilingInfo
from irexec.api.openvino.remote import RemoteContext, RemoteTensor, VAContext, VASurfaceTensor
from irexec.api.openvino.rt_map import RTMap
from irexec.api.openvino.saving import save_model, serialize
from irexec.api.openvino.shapes import (
    AxisSet,
    AxisVector,
    Coordinate,
    CoordinateDiff,
    PartialShape,
    Shape,
    Strides,
    Symbol,
)
from irexec.api.openvino.tensor import Tensor, TensorVector
from irexec.api.openvino.type_info import DiscreteTypeInfo
from irexec.api.openvino.utils.node_factory import NodeFactory
from irexec.api.openvino.variable_state import VariableState
from irexec.core.types import Dimension
from irexec.core.types.element import Type

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
