"""Copies of nodes, and of whole models with their bodies. The memory of constants is shared."""

from __future__ import annotations

from collections.abc import Iterable

from irexec.core.records import replace
from irexec.core.structure import RESULT
from irexec.model.graph.model import Body, Model, Node, Value


def like(node: Node, inputs: Iterable[Value | None]) -> Node:
    """Return a node that is like `node`, except for its inputs.

    Its outputs, attributes, names and runtime information can be changed independently; its bodies and the bytes of a
    constant are shared.
    """
    made = node.again(inputs)
    made.bodies, made.held = list(node.bodies), node.held
    made.rt_info = dict(node.rt_info)
    made.input_rt_info = {index: dict(info) for index, info in node.input_rt_info.items()}
    made.set_outputs(value.type for value in node.outputs)
    for old, new in zip(node.outputs, made.outputs, strict=True):
        new.declared, new.names, new.rt_info = old.declared, set(old.names), dict(old.rt_info)
    return made


def copied(model: Model) -> Model:
    """Return a copy of a model, bodies included, that can be changed independently."""
    return copy_with_map(model)[0]


def copy_with_map(model: Model) -> tuple[Model, dict[Node, Node]]:
    """Return a copy of a model, bodies included, and a dict from each of the model's nodes to its copy."""
    copies: dict[Node, Node] = {}
    return _copy_model(model, copies), copies


def _copy_model(model: Model, copies: dict[Node, Node]) -> Model:
    for node in (*model.nodes, *model.unreachable):
        copies[node] = _copy_node(node, copies)
    made = object.__new__(type(model))
    made.__dict__.update(model.__dict__)
    made.rt_info = dict(model.rt_info)
    made.parameters = [copies[node] for node in model.parameters]
    made.results = [copies[node] for node in model.results]
    made.sinks = [copies[node] for node in model.sinks]
    made.nodes = [copies[node] for node in model.nodes]
    made.unreachable = [copies[node] for node in model.unreachable]
    return made


def _copy_node(node: Node, copies: dict[Node, Node]) -> Node:
    made = like(node, [_copied_value(value, copies) for value in node.inputs])
    made.number = node.number  # A node without a name is named by its number, and its copy has the same name.
    made.bodies = [_copy_body(body, copies) for body in node.bodies]
    if node.type == RESULT and made.inputs:
        taken = made.inputs[0]
        if taken is not None and not node.outputs[0].names:
            made.outputs[0].names = taken.names
    return made


def _copied_value(value: Value | None, copies: dict[Node, Node]) -> Value | None:
    if value is None or value.node not in copies:
        return value
    return copies[value.node].outputs[value.index]


def _copy_body(body: Body, copies: dict[Node, Node]) -> Body:
    inputs, outputs = [replace(entry) for entry in body.inputs], [replace(entry) for entry in body.outputs]
    return replace(body, model=_copy_model(body.model, copies), inputs=inputs, outputs=outputs)
