"""The check of the arguments of public functions: an object of another class is a TypeError that names the function."""

from __future__ import annotations

from typing import Any, TypeVar

T = TypeVar("T")


def expected(given: Any, kind: type[T] | tuple[type[T], ...], function: str) -> T:
    """Return the argument if it is an instance of a class. Otherwise raises a TypeError that names the function."""
    if not isinstance(given, kind):
        names = " or ".join(each.__name__ for each in (kind if isinstance(kind, tuple) else (kind,)))
        raise TypeError(f"{function}: incompatible function arguments: {given!r} is not of type {names}")
    return given
