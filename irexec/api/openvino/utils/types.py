"""Element types, NumPy dtypes and shapes of a caller's objects."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from irexec.api.openvino.exceptions import OVTypeError
from irexec.api.openvino.node import Node
from irexec.api.opsets import nodes
from irexec.api.opsets.computed import value_of
from irexec.api.opsets.element_types import element_type_of
from irexec.core.types import BF16, ElementType
from irexec.core.types.element import Type
from irexec.model.graph.model import Value

log = logging.getLogger(__name__)

TensorShape = list[int]
NumericData = int | float | np.ndarray
NumericType = type | np.dtype
ScalarData = int | float
NodeInput = Value | Node | NumericData

openvino_to_numpy_types_map = [
    (kind, kind.dtype.type)
    for kind in ElementType.by_name.values()
    if kind.dtype is not None and not kind.is_packed and kind.name not in ("string", "nf4")
]
openvino_to_numpy_types_str_map = [(kind.name, dtype) for kind, dtype in openvino_to_numpy_types_map]


def get_element_type(data_type: Any, bitwidth: int | None = None) -> ElementType:
    """Return the element type of a NumPy or Python type: int is i32 and float f32 unless a bitwidth is given.

    Raises OVTypeError.
    """
    if data_type is int:
        data_type = {8: np.int8, 16: np.int16, 64: np.int64}.get(bitwidth or 32, np.int32)
    elif data_type is float:
        data_type = {16: np.float16, 64: np.float64}.get(bitwidth or 32, np.float32)
    try:
        return element_type_of(data_type)
    except TypeError as error:
        raise OVTypeError(f"Unidentified data type {data_type}") from error


def get_element_type_str(data_type: Any, bitwidth: int | None = None) -> str:
    """Return the name of the element type that `get_element_type` returns. Raises OVTypeError."""
    return get_element_type(data_type, bitwidth).name


def get_dtype(openvino_type: Any, bitwidth: int | None = None) -> np.dtype[Any]:
    """Return the NumPy dtype of an element type or of its name; for bf16 that of its bits. Raises OVTypeError."""
    kind = get_element_type(openvino_type, bitwidth)
    if kind.dtype is None:
        raise OVTypeError(f"Unidentified data type {openvino_type}")
    if kind is BF16:
        return np.dtype(np.uint16)
    return np.dtype(np.int8 if kind.name == "i4" else np.uint8) if kind.is_packed else kind.dtype


def get_numpy_ctype(openvino_type: Any) -> type:
    """Return the NumPy scalar type of an element type. Raises OVTypeError."""
    found: type = get_dtype(openvino_type).type
    return found


def get_shape(data: Any) -> list[int]:
    """Return the shape of an array, a number or a list."""
    return list(np.asarray(data).shape) if not isinstance(data, np.ndarray) else list(data.shape)


def get_ndarray(data: Any) -> np.ndarray[Any, Any]:
    """Return an array from a number or a list; an array is returned unchanged."""
    return data if isinstance(data, np.ndarray) else np.array(data)


def make_constant_node(value: Any, dtype: Any = None, *, name: str | None = None) -> Node:
    """Return a Constant of a value."""
    return nodes.constant_node(Node, value, dtype, name or "")


def as_node(input_value: Any, name: str | None = None) -> Any:
    """Return a node or output unchanged; anything else as a Constant."""
    if value_of(input_value) is not None:
        return input_value
    return make_constant_node(input_value, name=name)


def as_nodes(*input_values: Any, name: str | None = None) -> list[Any]:
    """Apply `as_node` to several values."""
    return [as_node(value, name) for value in input_values]


__all__ = ["Type", "get_dtype", "get_element_type", "get_shape"]
