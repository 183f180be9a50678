"""Decorators for functions that create nodes."""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable
from typing import Any

from irexec.api.openvino.utils.types import as_node
from irexec.model.graph.model import Node, Value

NodeFunction = Callable[..., Any]


def nameable_op(function: NodeFunction) -> NodeFunction:
    """Decorate a function that creates a node: the node gets the name that the caller passes as `name`."""

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        node = function(*arguments, **keywords)
        if keywords.get("name"):
            node.friendly_name = keywords["name"]
        return node

    return call


def unary_op(function: NodeFunction) -> NodeFunction:
    """Decorate a function whose first argument is converted to a node."""

    @functools.wraps(function)
    def call(input_value: Any, *arguments: Any, **keywords: Any) -> Any:
        return nameable_op(function)(as_node(input_value), *arguments, **keywords)

    return call


def binary_op(function: NodeFunction) -> NodeFunction:
    """Decorate a function whose first two arguments are converted to nodes."""

    @functools.wraps(function)
    def call(left: Any, right: Any, *arguments: Any, **keywords: Any) -> Any:
        return nameable_op(function)(as_node(left), as_node(right), *arguments, **keywords)

    return call


def custom_preprocess_function(function: NodeFunction) -> NodeFunction:
    """Decorate a step of a PrePostProcessor that may return a node, whose only output is used."""

    @functools.wraps(function)
    def call(output: Value) -> Value:
        made = function(output)
        found: Value = made.outputs[0] if isinstance(made, Node) else made
        return found

    return call


class MultiMethod:
    """Several functions of one name; a call runs the first whose declared types fit the arguments."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.typemap: dict[tuple[Any, ...], Callable[..., Any]] = {}

    def register(self, kinds: tuple[Any, ...], function: Callable[..., Any]) -> None:
        """Add a function for arguments of these types. Raises TypeError if these types already have a function."""
        if kinds in self.typemap:
            raise TypeError("duplicate registration")
        self.typemap[kinds] = function

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Run the function that accepts the arguments. Raises TypeError if no function accepts them."""
        for kinds, function in self.typemap.items():
            try:
                bound = inspect.signature(function).bind(*arguments, **keywords)
            except TypeError:
                continue
            names = list(inspect.signature(function).parameters)
            wanted = dict(zip(names, kinds, strict=False))
            if all(_is_of(value, wanted.get(name, typing.Any)) for name, value in bound.arguments.items()):
                return function(*arguments, **keywords)
        raise TypeError(f"The necessary overload for {self.name} was not found")


registry: dict[str, MultiMethod] = {}


def overloading(*kinds: Any) -> Callable[[Callable[..., Any]], MultiMethod]:
    """Return a decorator that declares a function, one of several with its name, for arguments of these types."""

    def register(function: Callable[..., Any]) -> MultiMethod:
        method = registry.setdefault(function.__name__, MultiMethod(function.__name__))
        method.register(kinds, function)
        return method

    return register


def _is_of(value: Any, kind: Any) -> bool:
    """Return whether a value is of a type, of one of a union, or of a generic type, whose parameters are ignored."""
    if kind is typing.Any or kind is None:
        return kind is not None or value is None
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        return any(_is_of(value, each) for each in typing.get_args(kind))
    return isinstance(value, origin or kind)
