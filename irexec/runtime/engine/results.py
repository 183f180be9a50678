"""The results of one inference: arrays by position, by tensor name, or by port."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from irexec.core.types import CONTAINERS, Array, ElementType
from irexec.core.types.containers import from_container
from irexec.model.arrays.plain import unicode_array
from irexec.model.graph.model import Value
from irexec.model.graph.order import traversed
from irexec.model.graph.ports import NoSuchPort, find, port_name

Key = int | str | Value


class NoSuchResult(KeyError, IndexError):
    """Raised for a position without a result. (OpenVINO raises KeyError.)"""

    def __str__(self) -> str:
        return str(self.args[0])


class Results(Mapping[Any, Array]):
    """The outputs of one inference: by position, by name, or by port."""

    def __init__(self, ports: Sequence[Value], arrays: Sequence[Array]) -> None:
        self._ports = ports
        self._arrays = [_delivered(array, port.element_type) for array, port in zip(arrays, ports, strict=True)]

    def __getitem__(self, key: Key) -> Any:
        if isinstance(key, Value):
            return self._arrays[self._index(key)]
        if isinstance(key, str):
            return self._arrays[self._named(key)]
        if not isinstance(key, (int, np.integer)):
            raise TypeError(f"Unknown key type: {type(key)}")
        if not -len(self._arrays) <= key < len(self._arrays):
            raise NoSuchResult(f"result {key} does not exist; the number of results is {len(self._arrays)}")
        return self._arrays[key]

    def _named(self, name: str) -> int:
        """Return the position of the result with this tensor name, or with the name that `irexec run` prints."""
        for index, port in enumerate(self._ports):
            if name in port.names:
                return index
        displayed = [port_name(port) or f"output_{index}" for index, port in enumerate(self._ports)]
        known = find(self._ports, name) if name not in displayed else displayed.index(name)
        if known is not None:
            return known
        message = f"Port for tensor name {name!r} is not found. Known names: {', '.join(displayed)}"
        for node in traversed([port.node for port in self._ports]):
            for value in node.outputs:
                if name == node.friendly_name or name in value.names:
                    place = f"({node.friendly_name!r}, {value.index})"
                    message += f"; to get this value too, call model.add_outputs({place}) before compile_model"
                    raise NoSuchPort(message)
        raise NoSuchPort(message)

    def _index(self, port: Value) -> int:
        for index, own in enumerate(self._ports):
            taken = own.node.inputs[0] if own.node.inputs else None
            if own.is_port(port) or (taken is not None and taken.is_port(port)):
                return index
        raise KeyError(f"{port!r} is not an output of this model")

    def __iter__(self) -> Iterator[Value]:
        return iter(self._ports)

    def __len__(self) -> int:
        return len(self._ports)

    def to_dict(self) -> dict[Value, Array]:
        return dict(zip(self._ports, self._arrays, strict=True))

    def names(self) -> tuple[set[str], ...]:
        """Return the tensor names of each output."""
        return tuple(port.names for port in self._ports)

    def to_tuple(self) -> tuple[Array, ...]:
        return tuple(self._arrays)

    def encoded(self) -> Results:
        """Return the same results with strings encoded as UTF-8 bytes."""
        return self.with_arrays(
            [np.char.encode(a.astype(np.str_), "utf-8") if _is_text(a) else a for a in self._arrays]
        )

    def copied(self) -> Results:
        """Return the same results in separate memory."""
        return self.with_arrays([a.copy() if isinstance(a, np.ndarray) else a for a in self._arrays])

    def with_arrays(self, arrays: Sequence[Any]) -> Results:
        """Return results for the same outputs with the given arrays."""
        other = Results((), ())
        other._ports, other._arrays = self._ports, list(arrays)
        return other

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{p!r}: {a!r}" for p, a in zip(self._ports, self._arrays, strict=True)) + "}"


def _is_text(array: Any) -> bool:
    return isinstance(array, np.ndarray) and array.dtype.kind in "UO"


def _delivered(array: Array, kind: ElementType) -> Any:
    """Convert a result to the form that callers get: strings as NumPy's unicode arrays, containers as lists."""
    if kind in CONTAINERS:
        return from_container(array, kind)
    return unicode_array(array) if array.dtype.kind == "T" else array
