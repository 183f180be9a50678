"""The graph as JSON that Google's Model Explorer opens: a collection with one graph for the model and one per body.

Source: the Model Explorer API guide (graph, node, incoming edge, metadata), as its adapters build them.
"""

from __future__ import annotations

from typing import Any

from irexec.tools.inspect.facts import Layer, Summary
from irexec.tools.render.drawing.scopes import path_of


def graph_collection(summary: Summary) -> dict[str, Any]:
    """Return `{"label": ..., "graphs": [...]}`, JSON-ready. The paths in layers' names become folders that a click
    opens.
    """
    nets: dict[tuple[int | None, str], list[Layer]] = {}
    for layer in summary.layers:
        nets.setdefault((layer.parent, layer.branch), []).append(layer)
    bodies: dict[int, list[str]] = {}
    for parent, branch in nets:
        if parent is not None:
            bodies.setdefault(parent, []).append(_graph_id(summary, parent, branch))
    graphs = [
        {
            "id": _graph_id(summary, *net),
            "nodes": [_node(summary, layer, bodies.get(layer.index, [])) for layer in layers],
        }
        for net, layers in nets.items()
    ]
    return {"label": summary.name or "model", "graphs": graphs}


def _graph_id(summary: Summary, parent: int | None, branch: str) -> str:
    if parent is None:
        return summary.name or "model"
    layer = summary.layers[parent]
    return f"{layer.name or layer.id} ({branch}, {parent})"


def _node(summary: Summary, layer: Layer, bodies: list[str]) -> dict[str, Any]:
    facts = [("name", layer.name), ("id", layer.id), ("version", layer.version)]
    facts += [(f"{a.name} (default)" if a.default else a.name, a.value) for a in layer.attributes]
    if layer.constant is not None:
        facts.append(("values", layer.constant))
    if layer.multiply_adds:
        facts.append(("multiply-adds", str(layer.multiply_adds)))
    for number in layer.findings:
        finding = summary.findings[number]
        facts.append((f"{finding['severity']} {finding['code']}", finding["message"]))
    return {
        "id": str(layer.index),
        "label": layer.type,
        "namespace": "/".join(filter(None, path_of(layer.name))),
        "subgraphIds": bodies,
        "attrs": [{"key": key, "value": value} for key, value in facts],
        "incomingEdges": [
            {"sourceNodeId": str(e.layer), "sourceNodeOutputId": str(e.output), "targetNodeInputId": str(number)}
            for number, e in enumerate(layer.inputs)
            if e.layer is not None
        ],
        "inputsMetadata": [_metadata(number, [("__tensor_tag", e.name)]) for number, e in enumerate(layer.inputs)],
        "outputsMetadata": [
            _metadata(
                number,
                [("tensor_name", ", ".join(output.names)), ("tensor_shape", f"{output.element_type} {output.shape}")],
            )
            for number, output in enumerate(layer.outputs)
        ],
    }


def _metadata(number: int, facts: list[tuple[str, str]]) -> dict[str, Any]:
    return {"id": str(number), "attrs": [{"key": key, "value": value} for key, value in facts if value]}
