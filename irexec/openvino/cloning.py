"""Copies of models: nodes, values and bodies of their own; the constants' memory is shared."""

from __future__ import annotations

from irexec.graph.consumers import note_inputs
from irexec.graph.copies import like
from irexec.graph.model import Body, Model, Node, Value
from irexec.records import replace


def clone(model: Model) -> Model:
    """A copy that can be changed without changing the model."""
    values: dict[Value, Value] = {}
    nodes: dict[Node, Node] = {}
    for node in [*model.nodes, *model.unreachable]:
        nodes[node] = _copy(node, values)
    copied = Model([], [], model.name)
    copied.__dict__.update(model.__dict__)
    copied.rt_info = dict(model.rt_info)
    copied.parameters = [nodes[node] for node in model.parameters]
    copied.results = [nodes[node] for node in model.results]
    copied.sinks = [nodes[node] for node in model.sinks]
    copied.nodes = [nodes[node] for node in model.nodes]
    copied.unreachable = [nodes[node] for node in model.unreachable]
    return copied


def _copy(node: Node, values: dict[Value, Value]) -> Node:
    copied = like(node, [None if value is None else values.get(value, value) for value in node.inputs])
    copied.number = node.number  # As unnamed nodes are called by it: a copy is called as the node is.
    copied.bodies = [_copy_body(body) for body in node.bodies]
    values.update(zip(node.outputs, copied.outputs, strict=True))
    source, taken = (node.inputs[0], copied.inputs[0]) if node.type == "Result" and node.inputs else (None, None)
    if source is not None and taken is not None and node.outputs[0].names is source.names:
        copied.outputs[0].names = taken.names
    note_inputs(copied)
    return copied


def _copy_body(body: Body) -> Body:
    inputs, outputs = [replace(entry) for entry in body.inputs], [replace(entry) for entry in body.outputs]
    return replace(body, model=clone(body.model), inputs=inputs, outputs=outputs)
