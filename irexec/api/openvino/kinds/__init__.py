"""Kinds of nodes: the methods that nodes of one type have in addition to those of every node."""

from __future__ import annotations

from typing import Any

from irexec.api.openvino.kinds.bodies import If, Loop, TensorIterator
from irexec.api.openvino.kinds.constants import Assign, Constant, ReadValue
from irexec.api.openvino.kinds.kind import KindOfNode
from irexec.model.graph import model as graph

_BY_TYPE = {kind.type_name: kind for kind in (Assign, Constant, If, Loop, ReadValue, TensorIterator)}


def member(node: graph.Node, name: str) -> Any:
    """Return the attribute that the kind of a node adds, by name. Raises AttributeError."""
    kind = _BY_TYPE.get(node.type, KindOfNode)
    found = next((vars(c)[name] for c in kind.__mro__ if name in vars(c)), None)
    if found is None:
        raise AttributeError(f"a node of type {node.get_type_name()} has no attribute {name!r}")
    return found.__get__(node, type(node))
