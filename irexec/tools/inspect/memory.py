"""The peak memory of a model's values, by their lifetimes: each is kept from the layer that produces it to the last one
that reads it.

Views take no memory. Constants are not counted, because they are part of the weights.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from irexec.core.structure import CONST, RESULT
from irexec.core.types import TensorType
from irexec.model.graph.model import Model, Node, Value
from irexec.model.inference import Inference


class Peak(NamedTuple):
    """The largest sum of values alive at once, in bytes, the layer that runs at that time, and these values."""

    bytes: int
    node: Node | None
    values: tuple[Value, ...]


def bytes_of(type: TensorType) -> int | None:
    """Return the memory of a tensor of this type; None if the shape is dynamic or elements have no fixed size."""
    dtype = type.element_type.dtype
    if dtype is None or type.element_type.bitwidth == 0 or not type.shape.is_static:
        return None
    return type.shape.size.value * dtype.itemsize


def peak_of(model: Model, types: Inference) -> Peak | None:
    """Return the peak of a model's values, including those of bodies; None if a size is unknown."""
    inside: dict[Node, Peak] = {}
    for node in model.nodes:
        if node.bodies:
            peaks = [peak_of(body.model, types) for body in node.bodies]
            known = [peak for peak in peaks if peak is not None]
            if len(known) < len(peaks):
                return None
            inside[node] = max(known, key=lambda peak: peak.bytes)
    return _peak(model.nodes, inside, types)


def _peak(nodes: Sequence[Node], inside: Mapping[Node, Peak], types: Inference) -> Peak | None:
    """`nodes` are in execution order; `inside` is what exists in the bodies of a layer at their peak."""
    owner, last = _lifetimes(nodes)
    freed: dict[int, int] = defaultdict(int)
    born: dict[Value, int] = {}
    now = most = at = 0
    for position, node in enumerate(nodes):
        for value in node.outputs if node.type not in (CONST, RESULT) else ():
            if owner[value] is not value:
                continue
            size = bytes_of(types[value])
            if size is None:
                return None
            now += size
            born[value] = position
            freed[last[value]] += size
        within = inside[node].bytes if node in inside else 0
        if now + within > most:
            most, at = now + within, position
        now -= freed[position]
    if not most:
        return Peak(0, None, ())
    within_body = inside[nodes[at]].values if nodes[at] in inside else ()
    return Peak(most, nodes[at], (*(value for value in born if born[value] <= at <= last[value]), *within_body))


def _lifetimes(nodes: Sequence[Node]) -> tuple[dict[Value, Value], dict[Value, int]]:
    """Return the value that owns the memory of each value, and the position of the last layer that reads each owner."""
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
        for read in result.inputs if result.type == RESULT else ():
            if read is not None and read in owner:
                last[owner[read]] = len(nodes)
    return owner, last


def _owner(node: Node, value: Value, owner: dict[Value, Value]) -> Value:
    """Return the value that owns an output's memory: another value if the output is a view of it."""
    if node.operator is None or not node.operator.view or len(node.outputs) != 1:
        return value
    for index, read in enumerate(node.inputs):
        viewed = node.operator.signature.port_name(index) in node.operator.view
        if viewed and read is not None and read.node.type != CONST and read in owner:
            return owner[read]
    return value
