"""OpenVINO's experimental functions, as far as they change a graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from irexec.api.openvino.editing import set_type
from irexec.api.openvino.ports import DescriptorTensor
from irexec.api.openvino.shapes import partial_shape
from irexec.api.openvino.tensor import Tensor
from irexec.core.arguments import expected
from irexec.core.types import Dimension, ElementType, TensorType
from irexec.model.graph.model import Value


def set_element_type(output: Value | DescriptorTensor, element_type: ElementType) -> None:
    """Set the element type of a value. Inference overwrites it when the model is validated."""
    value = _value(output)
    set_type(value, TensorType(element_type, value.type.shape))


def set_tensor_type(output: Value | DescriptorTensor, element_type: ElementType, shape: Any) -> None:
    """Set the type of a value. Inference overwrites it when the model is validated."""
    set_type(_value(output), TensorType(element_type, partial_shape(shape)))


def _value(output: Value | DescriptorTensor) -> Value:
    return output.described if isinstance(output, DescriptorTensor) else expected(output, Value, "a tensor")


def evaluate_as_partial_shape(output: Value, shape: Any) -> bool:
    """Store in `shape` the known values of a tensor that describes a shape; return False if none are known."""
    known = _value(output).type.known
    if known is None:
        return False
    shape._dims = type(shape)(list(known))._dims
    return True


def evaluate_both_bounds(output: Value) -> tuple[Tensor, Tensor]:
    """Return the least and the largest value of every element of an output; an extent without bound is 2 ** 63 - 1.

    Raises RuntimeError if nothing is known about the values.
    """
    kind, known = _value(output).element_type, output.type.known
    if output.type.value is not None:
        return Tensor.of_values(output.type.value, kind), Tensor.of_values(output.type.value, kind)
    if known is None:
        raise RuntimeError(f"the values of {output!r} have no known bounds")
    low = [item.min if isinstance(item, Dimension) else item for item in known]
    high = [(2**63 - 1 if item.max is None else item.max) if isinstance(item, Dimension) else item for item in known]
    most = np.iinfo(kind.dtype).max if kind.dtype is not None else 2**63 - 1
    shape = tuple(output.type.shape.to_shape())
    arrays = (np.array([min(item, most) for item in each], kind.dtype).reshape(shape) for each in (low, high))
    least, largest = (Tensor.of_values(array, kind) for array in arrays)
    return least, largest
