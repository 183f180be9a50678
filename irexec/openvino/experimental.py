"""OpenVINO's experimental functions, as far as they change a graph."""

from __future__ import annotations

from typing import Any

from irexec.graph.model import Value
from irexec.openvino.shapes import partial_shape
from irexec.types import ElementType, TensorType


def set_element_type(output: Value, element_type: ElementType) -> None:
    """Say the element type of a value. Inference says it anew when the model is validated."""
    output.type = TensorType(element_type, output.type.shape)


def set_tensor_type(output: Value, element_type: ElementType, shape: Any) -> None:
    """Say the type of a value. Inference says it anew when the model is validated."""
    output.type = TensorType(element_type, partial_shape(shape))


def evaluate_as_partial_shape(output: Value, shape: Any) -> bool:
    """Put into `shape` what is known of the values of a tensor that describes a shape; False when nothing is."""
    known = output.type.known
    if known is None:
        return False
    shape._dims = type(shape)(list(known))._dims
    return True
