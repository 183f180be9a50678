"""Small helpers of OpenVINO's package that programs import."""

from __future__ import annotations

import functools
import importlib
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

    def __init__(self, func: Callable[[Any], Any]) -> None:
        self._getter = func

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self._getter(owner)


def deprecatedclassproperty(name: str | None = None, version: str = "", message: str = "", stacklevel: int = 2) -> Any:
    """Return a decorator: reading the property of the class then warns that it will be removed."""

    def decorate(getter: Callable[[Any], Any]) -> classproperty:
        return classproperty(deprecated(name, version, message, stacklevel + 1)(getter))

    return decorate


def get_cmake_path() -> str:
    """Return an empty text: irexec has no compiled libraries to link."""
    return ""


class LazyLoader:
    """A module that is imported when the first of its names is used."""

    def __init__(self, module_name: str) -> None:
        self._module_name, self._module = module_name, None

    def _load(self) -> Any:
        if self._module is None:
            self._module = importlib.import_module(self._module_name)  # type: ignore[assignment]
        return self._module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._load(), name)

    def __dir__(self) -> list[str]:
        return dir(self._load())

    def __repr__(self) -> str:
        return f"<LazyLoader: {self._module_name!r}>"
