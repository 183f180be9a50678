"""Decorators for functions that create nodes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from irexec.graph.model import Node, Value
from irexec.openvino.utils.types import as_node

NodeFunction = Callable[..., Any]


def nameable_op(function: NodeFunction) -> NodeFunction:
    """Let the node that the function creates get the name passed as `name`."""

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        node = function(*arguments, **keywords)
        if keywords.get("name"):
            node.friendly_name = keywords["name"]
        return node

    return call


def unary_op(function: NodeFunction) -> NodeFunction:
    """Convert the first argument to a node."""

    @functools.wraps(function)
    def call(input_value: Any, *arguments: Any, **keywords: Any) -> Any:
        return nameable_op(function)(as_node(input_value), *arguments, **keywords)

    return call


def binary_op(function: NodeFunction) -> NodeFunction:
    """Convert the first two arguments to nodes."""

    @functools.wraps(function)
    def call(left: Any, right: Any, *arguments: Any, **keywords: Any) -> Any:
        return nameable_op(function)(as_node(left), as_node(right), *arguments, **keywords)

    return call


def custom_preprocess_function(function: NodeFunction) -> NodeFunction:
    """Let a step of a PrePostProcessor return a node, whose only output is used."""

    @functools.wraps(function)
    def call(output: Value) -> Value:
        made = function(output)
        found: Value = made.outputs[0] if isinstance(made, Node) else made
        return found

    return call
