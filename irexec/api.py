"""The public names: exactly those of `import irexec`, which imports each one when it is first used."""

from __future__ import annotations

from irexec.debug.sensitivity.analysis import sensitivity
from irexec.diagnostics import Diagnostic, IRError, Report, Severity
from irexec.diagnostics.deadline import time_limit
from irexec.fixes.files import validate
from irexec.functions.debugging import Comparison, Differences, Reduction, compare, diff, reduce
from irexec.functions.files import CheckedPages, Fixed, ModelReport, doctest, fix, report
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
    read_model,
    set_batch,
    shutdown,
    tensor_from_file,
)
from irexec.openvino.custom import Op
from irexec.openvino.frontend import convert_model
from irexec.openvino.infer_request import InferRequest
from irexec.openvino.layout import Layout
from irexec.openvino.model import Model
from irexec.openvino.node import Node
from irexec.openvino.ov_any import OVAny
from irexec.openvino.ports import ConstOutput, Input, Output, Value
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
from irexec.ops.declare.operator import operator
from irexec.sizes.answer import Shapes
from irexec.sizes.ask import shapes
from irexec.types.dimension import Dimension
from irexec.types.element import ElementType, Type

__all__ = [
    "AsyncInferQueue",
    "AxisSet",
    "AxisVector",
    "CheckedPages",
    "Comparison",
    "CompiledModel",
    "ConstOutput",
    "Coordinate",
    "CoordinateDiff",
    "Core",
    "Diagnostic",
    "Differences",
    "Dimension",
    "DiscreteTypeInfo",
    "ElementType",
    "Extension",
    "Fixed",
    "IRError",
    "InferRequest",
    "Input",
    "Layout",
    "Model",
    "ModelReport",
    "Node",
    "OVAny",
    "Op",
    "OpExtension",
    "Output",
    "PartialShape",
    "ProfilingInfo",
    "RTMap",
    "Reduction",
    "RemoteContext",
    "RemoteTensor",
    "Report",
    "Severity",
    "Shape",
    "Shapes",
    "Strides",
    "Symbol",
    "Tensor",
    "TensorVector",
    "Type",
    "VAContext",
    "VASurfaceTensor",
    "Value",
    "Version",
    "compare",
    "compile_model",
    "convert_model",
    "diff",
    "doctest",
    "fix",
    "get_batch",
    "get_version",
    "operator",
    "read_model",
    "reduce",
    "report",
    "save_model",
    "sensitivity",
    "serialize",
    "set_batch",
    "shapes",
    "shutdown",
    "tensor_from_file",
    "time_limit",
    "validate",
]
