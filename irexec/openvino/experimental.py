"""OpenVINO's experimental functions, as far as they change a graph."""

from __future__ import annotations

from typing import Any

from irexec.graph.model import Value
from irexec.openvino.editing import set_type
from irexec.openvino.ports import DescriptorTensor
from irexec.openvino.shapes import partial_shape
from irexec.types import ElementType, TensorType


def set_element_type(output: Value | DescriptorTensor, element_type: ElementType) -> None:
    """Set the element type of a value. Inference overwrites it when the model is validated."""
    value = _value(output)
    set_type(value, TensorType(element_type, value.type.shape))


def set_tensor_type(output: Value | DescriptorTensor, element_type: ElementType, shape: Any) -> None:
    """Set the type of a value. Inference overwrites it when the model is validated."""
    set_type(_value(output), TensorType(element_type, partial_shape(shape)))


def _value(output: Value | DescriptorTensor) -> Value:
    return output.described if isinstance(output, DescriptorTensor) else output


def evaluate_as_partial_shape(output: Value, shape: Any) -> bool:
    """Store in `shape` the known values of a tensor that describes a shape; return False if none are known."""
    known = output.type.known
    if known is None:
        return False
    shape._dims = type(shape)(list(known))._dims
    return True
