"""Looking up a port by its position or by one of its tensor names."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Protocol, TypeVar

from irexec.core.structure import RESULT
from irexec.ir.text import result_name
from irexec.model.graph.model import Value


class HasNames(Protocol):
    """The part of a port's interface that the look-up needs."""

    names: set[str]


P = TypeVar("P", bound=HasNames)


class NoSuchPort(KeyError, RuntimeError):
    """Raised for a name that no port has. (OpenVINO raises RuntimeError for it.)"""

    def __str__(self) -> str:
        return str(self.args[0])


class NoSuchPosition(IndexError, RuntimeError):
    """Raised for a position without a port. (OpenVINO raises RuntimeError for it.)"""


def position(ports: Sequence[object], index: int) -> int:
    """Return the position of a port; a negative index counts from the end. Raises NoSuchPosition, and TypeError for an
    object that is no position.
    """
    index = operator.index(index)
    if not -len(ports) <= index < len(ports):
        raise NoSuchPosition(f"port {index} does not exist; the number of ports is {len(ports)}")
    return index % len(ports)


def find(ports: Sequence[Value], key: object) -> int | None:
    """Return the position of the port that a tensor name, a node's name or a port refers to; None if there is no such
    port.
    """
    for index, port in enumerate(ports):
        if isinstance(key, str):
            if key in port.names or key == port.node.friendly_name:
                return index
        elif isinstance(key, Value) and (port.is_port(key) or _is_result_of(port, key)):
            return index
    return None


def _is_result_of(port: Value, value: Value) -> bool:
    """Return whether a port is the Result that takes a value."""
    taken = port.node.inputs[0] if port.node.type == RESULT else None
    return taken is not None and taken.is_port(value)


def port_of(ports: Sequence[P], key: int | str, what: str = "Port") -> P:
    """Return a port by its position or by one of its tensor names. Raises NoSuchPosition or NoSuchPort.

    `what`: "Input" or "Output", for the error.
    """
    if isinstance(key, int):
        return ports[position(ports, key)]
    for port in ports:
        if key in port.names:
            return port
    known = ", ".join(sorted(n for p in ports for n in p.names))
    raise NoSuchPort(f"{what} for tensor name {key!r} is not found. Known names: {known or 'none'}")


def output_name(value: Value) -> str:
    """Return the name of a layer's output: the layer's own, with the number of the output if there are several."""
    name = value.node.friendly_name
    return name if len(value.node.outputs) == 1 else f"{name}.{value.index}"


def port_name(port: Value) -> str:
    """Return the name of a port for display: a tensor name, or the layer's name; for a Result, its producer's name.

    A generated name of a Result is not used.
    """
    source = port.node.inputs[0] if port.node.type == RESULT and port.node.inputs else None
    if source is None:
        return min(port.names) if port.names else port.node.given_name
    producer = source.node.given_name
    invented = {port.node.name, *(result_name(producer, source.index, count) for count in (1, 2))}
    names = port.names - invented if producer else port.names
    return min(names) if names else producer
