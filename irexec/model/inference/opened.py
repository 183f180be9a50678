"""Parameters with a default value that a caller gives another value: they become inputs of the model."""

from __future__ import annotations

from collections.abc import Iterable

from irexec.model.graph.copies import copied
from irexec.model.graph.model import Model, Value
from irexec.model.inference.infer import infer_types


def opened(model: Model, given: Iterable[Value]) -> Model:
    """Return a copy of the model in which these optional inputs are ordinary inputs, after its other inputs."""
    numbers = {value.node.number for value in given}
    made = copied(model)
    parameters = [value.node for value in made.optional_inputs if value.node.number in numbers]
    for node in parameters:
        node.held = None
    made.parameters += parameters
    made.unreachable = [node for node in made.unreachable if node not in parameters]
    infer_types(made)
    return made
