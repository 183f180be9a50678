"""The peak memory of the values between layers.

Each value is kept from the layer that produces it to the last one that reads it. Views take no memory. Constants are
not counted, because they are part of the weights.
"""

from __future__ import annotations

from collections.abc import Sequence

from irexec.graph.model import Node, Value
from irexec.inference import Inference
from irexec.types import TensorType


def bytes_of(type: TensorType) -> int | None:
    """Return the memory of a tensor of this type; None if the shape is open or elements have no fixed size."""
    dtype = type.element_type.dtype
    if dtype is None or type.element_type.bitwidth == 0 or not type.shape.is_static:
        return None
    return type.shape.size.value * dtype.itemsize


def most_live(
    nodes: Sequence[Node], inside: dict[Node, int | None], types: Inference
) -> tuple[int | None, Node | None]:
    """Return the largest sum of values alive at once, and the layer that runs at that time.

    `nodes` are in execution order; `inside` is the memory that the bodies of a layer need while it runs.
    """
    owner: dict[Value, Value] = {}
    last: dict[Value, int] = {}
    for position, node in enumerate(nodes):
        for value in node.outputs:
            owner[value] = _owner(node, value, owner)
            last.setdefault(owner[value], position)
        for read in node.inputs:
            if read is not None and read in owner:
                last[owner[read]] = position
    for result in nodes:  # Results stay until the end.
        for read in result.inputs if result.type == "Result" else ():
            if read is not None and read in owner:
                last[owner[read]] = len(nodes)
    freed: dict[int, list[int]] = {}
    now, most, where = 0, 0, None
    for position, node in enumerate(nodes):
        for value in node.outputs if node.type not in ("Const", "Result") else ():
            if owner[value] is not value:
                continue
            size = bytes_of(types[value])
            if size is None:
                return None, None
            now += size
            freed.setdefault(last[value], []).append(size)
        within = inside.get(node, 0)
        if within is None:
            return None, None
        if now + within > most:
            most, where = now + within, node
        now -= sum(freed.pop(position, ()))
    return most, where


def _owner(node: Node, value: Value, owner: dict[Value, Value]) -> Value:
    """Return the value that owns an output's memory: another value if the output is a view of it."""
    if node.operator is None or not node.operator.view or len(node.outputs) != 1:
        return value
    for index, read in enumerate(node.inputs):
        viewed = node.operator.signature.port_name(index) in node.operator.view
        if viewed and read is not None and read.node.type != "Const" and read in owner:
            return owner[read]
    return value
