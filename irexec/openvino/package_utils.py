"""Small helpers of OpenVINO's package that programs import."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any


def deprecated(name: str | None = None, version: str = "", message: str = "", stacklevel: int = 2) -> Any:
    """Return a decorator: calling the function then warns that it will be removed."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*arguments: Any, **keywords: Any) -> Any:
            until = f" It will be removed in version {version}." if version else ""
            warnings.warn(
                f"{name or function.__name__} is deprecated.{until} {message}", DeprecationWarning, stacklevel
            )
            return function(*arguments, **keywords)

        return call

    return decorate


class classproperty:
    """A property of a class."""

    def __init__(self, getter: Callable[[Any], Any]) -> None:
        self._getter = getter

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self._getter(owner)
