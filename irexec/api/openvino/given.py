"""Arguments for a model's ports: finding the port of a key, and converting the value to the port's tensor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from irexec.api.openvino.checks import not_negative
from irexec.api.openvino.tensor import Tensor, as_tensor
from irexec.core.arguments import expected
from irexec.core.types import CONTAINERS, DYNAMIC, STRING, ElementType
from irexec.model.graph import ports as graph_ports
from irexec.model.graph.model import Value
from irexec.runtime.engine.arguments import fitting
from irexec.runtime.engine.results import Results


def as_arrays(given: Any) -> Any:
    """Return the arguments with tensors and array-like objects replaced by arrays. Raises TypeError for an object that
    cannot be inputs."""
    if isinstance(given, Mapping):
        return {_key(key): _array_of(value) for key, value in given.items()}
    if isinstance(given, (list, tuple)):
        return [_array_of(value) for value in given]
    alone = _array_of(given)
    if alone is not None and not isinstance(alone, (np.ndarray, np.generic, int, float, str, bytes)):
        raise TypeError(f"Incompatible inputs of type: {type(given)}")
    return alone


def _array_of(given: Any) -> Any:
    """Return the array of a tensor or of another library's object; bytes decoded to texts; other objects unchanged."""
    if isinstance(given, Tensor):
        return given.values()
    if not isinstance(given, np.ndarray) and hasattr(given, "__array__"):
        given = np.asarray(given)
    is_bytes = isinstance(given, np.ndarray) and given.dtype.kind == "S"
    if is_bytes or (isinstance(given, list) and given and all(isinstance(item, bytes) for item in given)):
        return np.char.decode(np.asarray(given), "utf-8")
    return given


def _key(key: Any) -> Any:
    """Return a key of inputs. Raises TypeError for an object that cannot be a key."""
    if not isinstance(key, (str, int, np.integer, Value)):
        raise TypeError(f"Incompatible key type for input: {key}")
    return key


def assigned(inputs: Any, ports: Sequence[Value]) -> list[tuple[int, Any]]:
    """Return (position of the port, array) for the inputs of a call: one array, arrays by position, or `{name |
    position | port: array}`.

    Raises RuntimeError for a key without a port, TypeError for an argument that cannot be inputs.
    """
    if inputs is None:
        return []
    if not isinstance(inputs, (Mapping, list, tuple, Tensor)) and hasattr(inputs, "__array__"):
        inputs = np.asarray(inputs)
    if isinstance(inputs, (Tensor, np.ndarray, int, float)) or _is_one_array(inputs, ports):
        if len(ports) != 1:
            raise RuntimeError(f"one array was given; the model has {len(ports)} inputs")
        return [(0, inputs)]
    if not isinstance(inputs, (Mapping, list, tuple)):
        raise TypeError(f"Incompatible inputs of type: {type(inputs)}")
    return by_position(inputs, ports)


def by_position(given: Any, ports: Sequence[Value]) -> list[tuple[int, Any]]:
    """Return (position of the port, tensor) for a list or mapping. Raises RuntimeError for a key without a port."""
    pairs = given.items() if isinstance(given, Mapping) else enumerate(given)
    return [(position(ports, key), value) for key, value in pairs]


def _is_one_array(given: Any, ports: Sequence[Value]) -> bool:
    """Return True for a plain list of numbers or texts, which is one array for the only input."""
    return (
        isinstance(given, list)
        and len(ports) == 1
        and bool(given)
        and all(isinstance(v, (int, float, bool, str, bytes)) for v in given)
    )


def only(ports: Sequence[Value], index: int | None) -> int:
    """Return the given position, or by default that of the only port. Raises RuntimeError if there are several,
    TypeError for an object that is not a position."""
    if index is not None:
        expected(index, (int, np.integer), "a tensor by its position")
        return graph_ports.position(ports, not_negative(index))
    if len(ports) != 1:
        raise RuntimeError(f"there are {len(ports)} ports; select one by its position")
    return 0


def position(ports: Sequence[Value], key: Any) -> int:
    """Return the position of the port that a key refers to: a position, a tensor name or a port. Raises RuntimeError if
    there is no such port, TypeError for an object that is not a key."""
    if isinstance(_key(key), (int, np.integer)):
        return graph_ports.position(ports, not_negative(int(key)))
    found = graph_ports.find(ports, key)
    if found is None:
        raise RuntimeError(f"Port for tensor name {key} was not found.")
    return found


def from_bits(given: Any, port: Value) -> Any:
    """Return the array that an array of bits stands for; anything else unchanged.

    In OpenVINO's tensors bf16 is float16 and an 8-bit float uint8; an array of such a dtype holds the elements' bits.
    """
    kind = port.element_type
    if isinstance(given, np.ndarray) and shows_bits(kind) and not kind.is_packed and given.dtype == kind.to_dtype():
        return np.ascontiguousarray(given).view(kind.dtype)
    return given


def as_openvino(results: Results, ports: Sequence[Value]) -> Results:
    """Return results in the form of a Tensor's data: bf16 as float16, 8-bit floats as uint8, packed types as bytes."""
    if not any(shows_bits(port.element_type) for port in ports):
        return results
    pairs = zip(results.to_tuple(), ports, strict=True)
    return results.with_arrays(
        [sharing(array, port).data if shows_bits(port.element_type) else array for array, port in pairs]
    )


def shows_bits(kind: ElementType) -> bool:
    """Return whether OpenVINO shows the elements of a type as bits, in a dtype other than irexec's."""
    return kind not in (DYNAMIC, STRING, *CONTAINERS) and (kind.is_packed or kind.to_dtype() != kind.dtype)


def as_tensor_for(given: Any, port: Value) -> Tensor:
    """Return an input's argument as a tensor of the port's element type. Raises RuntimeError if it does not fit."""
    kind = port.element_type
    if isinstance(given, Tensor):
        check_type(given, kind)
        tensor = given
    else:
        array = fitting(_array_of(given), port)
        tensor = sharing(array, port)
    if not port.type.shape.accepts(tuple(tensor.shape)):
        raise RuntimeError(
            f"The input tensor size is not equal to the model input type: got {tensor.shape} "
            f"expecting {port.type.shape}."
        )
    return tensor


def check_type(tensor: Tensor, kind: ElementType) -> None:
    """Raise RuntimeError if the element types of a tensor and its port differ: tensors are never converted."""
    if kind is not DYNAMIC and tensor.element_type is not kind:
        raise RuntimeError(
            f"ParameterMismatch: Failed to set tensor for input with precision: {tensor.element_type}, "
            f"since the model input tensor precision is: {kind}"
        )


def sharing(array: np.ndarray[Any, Any], port: Value) -> Tensor:
    """Return a tensor of the port's element type that shares the memory of an array."""
    if array.dtype.kind == "U":
        return Tensor(array)
    return Tensor.of_values(
        array, port.element_type if port.element_type is not DYNAMIC else as_tensor(array).element_type
    )


def blank(port: Value) -> Tensor:
    """Return a tensor of zeros for a port; dynamic dimensions are 0."""
    shape = port.type.shape
    return Tensor(port.element_type, [] if shape.rank is None else [d.value if d.is_static else 0 for d in shape.dims])
