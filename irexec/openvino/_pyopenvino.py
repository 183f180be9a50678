"""The names that programs import from OpenVINO's compiled module."""

from __future__ import annotations

from irexec.openvino import layout_helpers, op, passes, preprocess, properties
from irexec.openvino.async_queue import AsyncInferQueue
from irexec.openvino.compiled import CompiledModel
from irexec.openvino.core import Core, Extension, OpExtension, Version, get_batch, get_version, set_batch
from irexec.openvino.infer_request import InferRequest
from irexec.openvino.layout import Layout
from irexec.openvino.model import Model
from irexec.openvino.node import Node
from irexec.openvino.op import util
from irexec.openvino.ov_any import OVAny
from irexec.openvino.ports import ConstOutput, DescriptorTensor, Input, Output
from irexec.openvino.profiling import ProfilingInfo
from irexec.openvino.remote import RemoteContext, RemoteTensor
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
    "AsyncInferQueue", "AxisSet", "AxisVector", "CompiledModel", "ConstOutput", "Coordinate", "CoordinateDiff", "Core",
    "DescriptorTensor", "Dimension", "DiscreteTypeInfo", "Extension", "InferRequest", "Input", "Layout", "Model",
    "Node", "NodeFactory", "OVAny", "OpExtension", "Output", "PartialShape", "ProfilingInfo", "RTMap", "RemoteContext",
    "RemoteTensor", "Shape", "Strides", "Symbol", "Tensor", "TensorVector", "Type", "VariableState", "Version",
    "get_batch", "get_version", "layout_helpers", "op", "passes", "preprocess", "properties", "save_model",
    "serialize", "set_batch", "util",
]  # fmt: skip
