"""A port by its position or by one of its tensor names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar


class HasNames(Protocol):
    """A port, as far as it matters here."""

    names: set[str]


P = TypeVar("P", bound=HasNames)


class NoSuchPort(KeyError, RuntimeError):
    """A name that no port has. (OpenVINO raises RuntimeError for it.)"""

    def __str__(self) -> str:
        return str(self.args[0])


class NoSuchPosition(IndexError, RuntimeError):
    """A position at which there is no port. (OpenVINO raises RuntimeError for it.)"""


def position(ports: Sequence[object], index: int) -> int:
    """The position of a port, counted from the end where it is negative. Raises NoSuchPosition."""
    if not -len(ports) <= index < len(ports):
        raise NoSuchPosition(f"there is no port {index}: there are {len(ports)}")
    return index % len(ports)


def port_of(ports: Sequence[P], key: int | str) -> P:
    """A port by its position or by one of its tensor names. Raises NoSuchPosition or NoSuchPort."""
    if isinstance(key, int):
        return ports[position(ports, key)]
    for port in ports:
        if key in port.names:
            return port
    known = ", ".join(sorted(n for p in ports for n in p.names))
    raise NoSuchPort(f"no port is named {key!r}; there are {known or 'no names'}")
