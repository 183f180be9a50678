"""The arguments of a new model: its parts, the checks of its parameters, and the names of its ports."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from irexec.api.openvino.checks import node_or_value, nodes_of_type, sink_of
from irexec.api.openvino.node import Node
from irexec.api.openvino.ports import DescriptorTensor
from irexec.core.arguments import expected
from irexec.core.structure import PARAMETER
from irexec.model.graph import model as graph
from irexec.model.graph.model import Value


def parts(results: Any, rest: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, Any, str, Any]:
    """Return results, parameters, name and sinks of a new model.

    The positional arguments are the parameters, or the sinks and the parameters; variables (ignored, because the sinks
    name them) and a name may follow.
    """
    if unknown := named.keys() - {"parameters", "sinks", "variables", "name"}:
        raise TypeError(f"a Model has no {', '.join(sorted(unknown))}")
    lists = [list(given) for given in rest if not isinstance(given, str)]
    roles = ["parameters", "sinks"]
    if len(lists) == 3 or (
        len(lists) == 2 and (_are_parameters(lists[1]) or (lists[0] and not _are_parameters(lists[0])))
    ):
        roles = ["sinks", "parameters", "variables"]
    elif len(lists) == 2 and lists[1] and not all(isinstance(item, (graph.Node, Value)) for item in lists[1]):
        roles = ["parameters", "variables"]
    elif "parameters" in named:
        roles = ["sinks", "variables"]
    elif "sinks" in named:
        roles = ["parameters", "variables"]
    found = dict(zip(roles, lists, strict=False)) | named
    name = next((given for given in rest if isinstance(given, str)), found.get("name", ""))
    if isinstance(results, graph.Node):
        results = list(results.outputs)
    elif isinstance(results, Value):
        results = [results]
    else:
        # A node in a list stands for its first output, a single node for all of its outputs.
        results = [r.outputs[0] if isinstance(r, graph.Node) and len(r.outputs) > 1 else r for r in results]
        results = [_as_node(r) for r in results]
    for given in results:
        node_or_value(given, "Model()")
    sinks = [sink_of(sink) for sink in found.get("sinks", ())]
    parameters = nodes_of_type(found.get("parameters", ()), PARAMETER, "Model()")
    return results, parameters, expected(name, str, "Model()"), sinks


def _as_node(given: Any) -> Any:
    """Return a constant for an array, the result of opset functions on arrays alone; any other object unchanged."""
    if not isinstance(given, np.ndarray) or isinstance(given, graph.Node):
        return given
    from irexec.api.opsets.nodes import constant_node

    return constant_node(Node, given)


def check_parameters(model: graph.Model) -> None:
    """Raise RuntimeError if a node takes a Parameter that is not a parameter of the model."""
    known = set(model.parameters)
    missing = [node for node in model.nodes if node.type == PARAMETER and node.held is None and node not in known]
    if missing:
        names = ", ".join(repr(node.friendly_name) for node in missing)
        raise RuntimeError(f"Model references undeclared parameters: {names}")


def name_ports(nodes: Iterable[graph.Node]) -> None:
    """Use the node's name as tensor name of Parameters and Results that have none, as OpenVINO does when it creates a
    model or adds outputs."""
    for node in nodes:
        tensor = DescriptorTensor(node.outputs[0])
        if not tensor.names:
            tensor.add_names({node.friendly_name})


def _are_parameters(items: list[Any]) -> bool:
    return bool(items) and all(isinstance(item, graph.Node) and item.type == PARAMETER for item in items)
