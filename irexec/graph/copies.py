"""A node made like another, for a copy of a model or of a part of it."""

from __future__ import annotations

from collections.abc import Iterable

from irexec.graph.model import Node, Value


def like(node: Node, inputs: Iterable[Value | None]) -> Node:
    """A node with all that `node` has, but other inputs.

    Its outputs, attributes, names and runtime information may be changed by themselves; its bodies and the bytes of a
    constant are the same objects.
    """
    made = node.again(inputs)
    made.bodies, made.held = list(node.bodies), node.held
    made.rt_info = dict(node.rt_info)
    made.input_rt_info = {index: dict(info) for index, info in node.input_rt_info.items()}
    made.set_outputs(value.type for value in node.outputs)
    for old, new in zip(node.outputs, made.outputs, strict=True):
        new.declared, new.names, new.rt_info = old.declared, set(old.names), dict(old.rt_info)
    return made
