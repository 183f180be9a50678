"""Checks of the classes of arguments: OpenVINO's compiled functions raise TypeError for objects of any other class."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from irexec.core.arguments import expected
from irexec.model.graph import model as graph
from irexec.model.graph.model import Value


def node_or_value(given: Any, function: str) -> graph.Node | Value:
    """Return the argument if it is a node or an output. Raises TypeError."""
    if not isinstance(given, (graph.Node, Value)):
        raise TypeError(f"{function}: incompatible function arguments: {given!r} is not a node or output")
    return given


def node_of_type(given: Any, type: str, function: str) -> graph.Node:
    """Return the argument if it is a node of a type. Raises TypeError."""
    node = expected(given, graph.Node, function)
    if node.type != type:
        raise TypeError(f"{function}: incompatible function arguments: {node!r} is not of type {type}")
    return node.outputs[0].node  # The node itself, also where an array is a proxy for it.


def nodes_of_type(given: Iterable[Any], type: str, function: str) -> list[graph.Node]:
    """Return the arguments if all of them are nodes of a type. Raises TypeError."""
    return [node_of_type(item, type, function) for item in given]


def sink_of(given: Any) -> graph.Node:
    """Return a sink, given as a node or as its output. Raises TypeError."""
    node = given.node if isinstance(given, Value) else given
    if not isinstance(node, graph.Node):
        raise TypeError("Incorrect argument type. Sink node is expected as argument.")
    return node


def names_of(given: Any, function: str) -> set[str]:
    """Return tensor names, given as a collection of texts. Raises TypeError for a text alone and for other objects."""
    names = None if isinstance(given, (str, bytes)) or not isinstance(given, Iterable) else list(given)
    if names is None or not all(isinstance(name, str) for name in names):
        raise TypeError(f"{function}: incompatible function arguments: {given!r} is not a set of names")
    return set(names)


class NegativePosition(TypeError, RuntimeError):
    """Raised for a negative position. (OpenVINO raises TypeError for an argument, RuntimeError for a key of a dict.)"""


def not_negative(index: int) -> int:
    """Return a position. Raises NegativePosition for a negative number."""
    if index < 0:
        raise NegativePosition(f"incompatible function arguments: {index} is not a position of a port")
    return index
