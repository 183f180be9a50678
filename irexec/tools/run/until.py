"""`--until LAYER`: the part of a model that a layer needs, with the layer's outputs as results."""

from __future__ import annotations

from irexec.core.diagnostics.findings import Findings
from irexec.core.diagnostics.nearest import likely_names
from irexec.core.structure import RESULT
from irexec.model.graph.cut import cut, needed_by
from irexec.model.graph.model import Model, Node


def find_layer(model: Model, name: str) -> Node | None:
    """Return the layer with this name, or else with this id, or None; layers of bodies are not searched."""
    by_name = next((node for node in model.nodes if node.given_name == name), None)
    return by_name or next((node for node in model.nodes if node.id and node.id == name), None)


def find_in_bodies(model: Model, name: str) -> Node | None:
    """Return the layer whose bodies contain a layer with this name; None if no body contains it."""
    for node in model.nodes:
        for body in node.bodies:
            if any(inner.given_name == name for inner in body.model.walk()):
                return node
    return None


def reduce(model: Model, name: str, findings: Findings) -> Model | None:
    """Return the part of the model that ends with the layer of this name; None, with a finding, if there is no such
    layer.
    """
    node = find_layer(model, name)
    if node is not None and node.outputs:
        return cut(model, needed_by([node]), [node] if node.type == RESULT else node.outputs).model
    outer = find_in_bodies(model, name)
    if node is not None:
        message, hint = f"--until {name}: the layer has no outputs", None
    elif outer is not None:
        message = f"--until {name}: the layer is in a body of {outer.given_name!r}"
        hint = f"use --until {outer.given_name}; --trace and --dump include the layers of bodies"
    else:
        names = [n.given_name for n in model.nodes if n.given_name]
        message, hint = (
            f"--until {name}: no layer has this name",
            likely_names(name, names) or f"an existing name is {names[-1]}",
        )
    findings.add("U005", message, hint=hint)
    return None
