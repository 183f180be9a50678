"""Another beginning and another end of a model: its outputs and inputs at any layers, with their names."""

from __future__ import annotations

from irexec.api.openvino.model import Model
from irexec.model.graph.cut import cut
from irexec.model.graph.model import Node, Value
from irexec.tools.edit.changes import Wanted, impossible, value_named


def cut_at(model: Model, wanted: Wanted) -> Model:
    """Return the model from the wanted inputs to the wanted outputs; other inputs stay if they are needed.

    Raises IRError.
    """
    ends, begins = ends_of(model, wanted), begins_of(model, wanted)
    nodes = _needed(ends, begins)
    part = cut(model, nodes, ends)
    for name, value in zip(wanted.inputs, begins, strict=True):
        if value not in part.begins:
            impossible(model, "U003", f"--inputs {name}: the outputs do not depend on this value")
    made: Model = part.model  # type: ignore[assignment]
    made.name, made.rt_info = model.name, dict(model.rt_info)
    # An output and an input without a tensor name get the name by which they were asked for.
    for result, end, name in zip(made.results, ends, wanted.outputs or [""] * len(ends), strict=True):
        old = next((each for each in model.results if each.inputs[0] is end), None)
        if old is not None:
            result.friendly_name = old.friendly_name
        names = end.names if old is None else old.outputs[0].names
        result.outputs[0].names = set(names) or ({name} if name else set())
    for name, value in zip(wanted.inputs, begins, strict=True):
        parameter = made.parameters[part.begins.index(value)]
        parameter.outputs[0].names = parameter.outputs[0].names or {name}
    return made


def ends_of(model: Model, wanted: Wanted) -> list[Value]:
    """Return the values that become outputs: the wanted ones, or those of the model."""
    if not wanted.outputs:
        return [value for result in model.results if (value := result.inputs[0]) is not None]
    return [value_named(model, name, "--outputs") for name in wanted.outputs]


def begins_of(model: Model, wanted: Wanted) -> list[Value]:
    """Return the values that become inputs."""
    return [value_named(model, name, "--inputs") for name in wanted.inputs]


def _needed(ends: list[Value], begins: list[Value]) -> set[Node]:
    """Return the layers that compute the ends, back to the beginnings and to the inputs of the model."""
    found, stack = set[Node](), [value for value in ends if value not in begins]
    while stack:
        node = stack.pop().node
        if node not in found:
            found.add(node)
            stack += [value for value in node.inputs if value is not None and value not in begins]
    return found
