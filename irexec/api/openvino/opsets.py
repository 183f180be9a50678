"""The opsets whose functions create nodes of OpenVINO's API: those of `irexec.opset13` and the other opsets."""

from __future__ import annotations

from functools import cache

from irexec.api.opsets.namespace import Namespace, namespace
from irexec.model.graph import model as graph


@cache
def opset(name: str) -> Namespace:
    """Return the functions of an opset by its name. Raises AttributeError for an unknown name."""
    return namespace(name, _node_class)


def _node_class() -> type[graph.Node]:
    # Imported on demand: a caller that only evaluates arrays does not need the module of nodes.
    from irexec.api.openvino.node import Node

    return Node
