"""Conversion of a caller's arguments to tensors of a request, as OpenVINO's `infer` does it.

Shared arguments become tensors on the caller's memory, others are copied to the tensors of the request.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from typing import Any

import numpy as np

from irexec.api.openvino.given import by_position
from irexec.api.openvino.infer_request import InferRequest
from irexec.api.openvino.tensor import Tensor
from irexec.core.types import Array

ValidKeys = str | int | Any
ScalarTypes = np.number | int | float
ContainerTypes = dict[Any, Any] | list[Any] | tuple[Any, ...]


def is_list_simple_type(input_list: list[Any]) -> bool:
    """Return whether a list contains only numbers, strings, bytes and lists."""
    return all(isinstance(item, (str, float, int, bytes, list)) for item in input_list)


def get_request_tensor(request: InferRequest, key: Any = None) -> Tensor:
    """Return the tensor of an input by its position, name or port; by default that of the only input.

    Raises TypeError for an object that is not a key, RuntimeError if there is no such input.
    """
    if key is None:
        return request.get_input_tensor()
    [(index, _)] = by_position({key: None}, request.model_inputs)
    return request.get_input_tensor(index)


def to_c_style(value: Any, is_shared: bool = False) -> Array:
    """Return an array in C order; for another object, the array that it provides."""
    array = value if isinstance(value, np.ndarray) else np.asarray(value)
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


@singledispatch
def normalize_arrays(inputs: Any, is_shared: bool = False) -> Any:
    """Return arrays in C order, in a dict or list or alone, as they were given; tensors are returned unchanged."""
    return inputs if isinstance(inputs, Tensor) else to_c_style(inputs, is_shared)


@normalize_arrays.register(dict)
def _(inputs: dict[Any, Any], is_shared: bool = False) -> dict[Any, Any]:
    return {key: normalize_arrays(value, is_shared) for key, value in inputs.items()}


@normalize_arrays.register(list)
@normalize_arrays.register(tuple)
def _(inputs: Any, is_shared: bool = False) -> dict[int, Any]:
    return {index: normalize_arrays(value, is_shared) for index, value in enumerate(inputs)}


def value_to_tensor(
    value: Any, request: InferRequest | None = None, is_shared: bool = False, key: Any = None
) -> Tensor:
    """Return a value as a tensor: in the element type of the request's input, on the same memory if it is shared."""
    if isinstance(value, Tensor):
        return value
    array = to_c_style(value)
    if request is not None:
        kind = get_request_tensor(request, key).element_type
        if array.dtype.kind not in "USTO" and kind.name != "string" and array.dtype != kind.to_dtype():
            array = array.astype(kind.to_dtype())
        if kind.name == "bf16":
            return Tensor(array, array.shape, kind)
    return Tensor(array, shared_memory=is_shared and array.dtype.kind not in "USTO")


def set_request_tensor(request: InferRequest, tensor: Tensor, key: Any = None) -> None:
    """Set the tensor of an input by its position, name or port; by default that of the only input."""
    if key is None:
        request.set_input_tensor(tensor)
    else:
        request.set_input_tensors({key: tensor})


def update_tensor(inputs: Any, request: InferRequest, key: Any = None) -> None:
    """Copy a value to the tensor of an input, which gets its shape."""
    if isinstance(inputs, Tensor):
        set_request_tensor(request, inputs, key)
        return
    tensor = get_request_tensor(request, key)
    given = value_to_tensor(inputs, request, key=key)
    tensor.copy_from(given)


def update_inputs(inputs: dict[Any, Any], request: InferRequest) -> dict[Any, Tensor]:
    """Copy the values of a dict to the tensors of a request; return those that are tensors already."""
    for key, value in inputs.items():
        if not isinstance(value, Tensor):
            update_tensor(value, request, key)
    return {key: value for key, value in inputs.items() if isinstance(value, Tensor)}


def create_shared(inputs: Any, request: InferRequest) -> Any:
    """Return the tensors of shared arguments: one for a single value, else a dict."""
    if isinstance(inputs, (Mapping, list, tuple)):
        pairs = inputs.items() if isinstance(inputs, Mapping) else enumerate(inputs)
        return {key: value_to_tensor(value, request, is_shared=True, key=key) for key, value in pairs}
    return value_to_tensor(inputs, request, is_shared=True)


def create_copied(inputs: Any, request: InferRequest) -> Any:
    """Copy arguments to the tensors of a request; return those that are tensors already."""
    if isinstance(inputs, (Mapping, list, tuple)):
        return update_inputs(dict(inputs.items() if isinstance(inputs, Mapping) else enumerate(inputs)), request)
    if isinstance(inputs, Tensor):
        return inputs
    update_tensor(inputs, request)
    return {}


def _data_dispatch(request: InferRequest, inputs: Any = None, is_shared: bool = False) -> Any:
    """Return a caller's inputs in the form that `infer` of OpenVINO's compiled module takes."""
    if inputs is None:
        return {}
    if isinstance(inputs, list) and inputs and is_list_simple_type(inputs) and len(request.model_inputs) == 1:
        inputs = np.array(inputs)
    return create_shared(inputs, request) if is_shared else create_copied(inputs, request)
