"""Arrange a caller's arrays in the order and element types of the model's inputs; reject arrays that do not fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from irexec.core.diagnostics import IRError
from irexec.core.types import BOOLEAN, CONTAINERS, DYNAMIC, OPTIONALS, Array, ElementType
from irexec.core.types.containers import to_container
from irexec.model.arrays.accept import as_plain_array
from irexec.model.arrays.brief import plural, shown_shape
from irexec.model.graph.model import Value
from irexec.model.graph.ports import find
from irexec.runtime.engine.errors import wrong_input

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Inputs: TypeAlias = (
    "Mapping[str, ArrayLike] | Mapping[int, ArrayLike] | Mapping[Value, ArrayLike] | Sequence[ArrayLike] | ArrayLike"
)
"""The arrays of a model's inputs: by name, position or port, in order, or the array of the only input."""


def arrange(given: Any, ports: list[Value]) -> list[Array]:
    """Return the caller's arrays in the order of the inputs, converted to each port's element type. Raises IRError."""
    if given is None:
        given = []
    if isinstance(given, np.ndarray) or np.isscalar(given) or (isinstance(given, list) and _is_nested(given, ports)):
        given = [given]
    if isinstance(given, Mapping):
        arrays: list[Any] = [None] * len(ports)
        for key, array in given.items():
            arrays[_position(key, ports)] = array
        needed = [p for p, a in zip(ports, arrays, strict=True) if a is None and p.element_type not in OPTIONALS]
        if needed:
            raise IRError(wrong_input(f"no array was given for {', '.join(map(_label, needed))}"))
    else:
        arrays = list(given)
        if len(arrays) != len(ports):
            names = ", ".join(map(_label, ports))
            message = f"expected {plural(len(ports), 'array')}, one for each input ({names}), got {len(arrays)}"
            raise IRError(wrong_input(message))
    return [fitting(array, port) for array, port in zip(arrays, ports, strict=True)]


def _is_nested(given: list[Any], ports: list[Value]) -> bool:
    """Return True for a plain list of numbers, which is the array of the only input."""
    return len(ports) == 1 and bool(given) and all(isinstance(v, (int, float, bool, str)) for v in given)


def _position(key: Any, ports: list[Value]) -> int:
    if isinstance(key, int) and 0 <= key < len(ports):
        return key
    if (found := find(ports, key)) is not None:
        return found
    raise IRError(wrong_input(f"no input is named {key!r}; known inputs: {', '.join(map(_label, ports)) or 'none'}"))


def _label(port: Value) -> str:
    return repr(min(port.names) if port.names else port.node.friendly_name)


def fitting(given: Any, port: Value) -> Array:
    """Return a caller's value as an array of the port's dtype; a conversion is lossless, or stays within one kind of
    dtype, such as floats. A scalar becomes an array of one element if the port has axes. Raises IRError.
    """
    kind: ElementType = port.element_type
    layer = port.node.ref
    try:
        array = to_container(given, kind) if kind in CONTAINERS else as_plain_array(given)
    except (ValueError, TypeError) as error:
        raise IRError(
            wrong_input(f"the value for input {_label(port)} is not an array: {error}", layer=layer)
        ) from error
    if kind is not DYNAMIC and array.dtype != kind.dtype:
        found = str(array.dtype)
        if (array.dtype.kind in "UTO" and kind.name == "string") or _castable(array, kind):
            array = array.astype(kind.dtype)
        else:
            message = f"the array for input {_label(port)} is {found}, expected {kind}"
            raise IRError(wrong_input(message, layer=layer, found=found, allowed=str(kind)))
    shape = port.type.shape
    if not shape.accepts(array.shape):
        if not array.shape and shape.accepts(one := (1,) * len(shape.dims)):
            return array.reshape(one)
        found, allowed = shown_shape(array.shape), str(shape)
        message = (
            f"the array for input {_label(port)} has shape {found}, which does not match the model's shape {allowed}"
        )
        raise IRError(wrong_input(message, layer=layer, found=found, allowed=allowed))
    return array


def _castable(array: Array, kind: ElementType) -> bool:
    if kind.dtype is None:
        return False
    if np.can_cast(array.dtype, kind.dtype, "same_kind"):
        return kind is not BOOLEAN or array.dtype == np.bool_
    # Python integers arrive as int64: accept them, and floats that are integers, for any type that represents them.
    if array.dtype.kind in "iuf" and array.size <= _MAX_COMPARED and kind is not BOOLEAN:
        with np.errstate(invalid="ignore"):
            return bool((array.astype(kind.dtype).astype(array.dtype) == array).all())
    return False


_MAX_COMPARED = 1 << 20
"""The maximum size of an array that is searched for values that the element type cannot represent."""
