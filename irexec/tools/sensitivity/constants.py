"""The values of constants: computed on request; stored values are never copied."""

from __future__ import annotations

import numpy as np

from irexec.core.types import Array, TensorType
from irexec.model.graph.copies import like
from irexec.model.graph.model import Node, Value
from irexec.ops.spec.operator import Operator

# Computed values up to this size are kept in memory.
_HELD_BYTES = 1 << 20


class Constants:
    """Computes values that depend on constants only; a layer that fails raises the exception of its kernel."""

    def __init__(self) -> None:
        self._held: dict[Value, Array] = {}

    def __call__(self, value: Value) -> Array:
        """Return the array of a value."""
        held = value.node.constant if value.node.held is not None else self._held.get(value)
        if held is not None:
            return held
        node = value.node
        assert node.operator is not None
        given = [None if read is None else self(read) for read in node.inputs]
        found = node.operator.compute(*given, **node.all_attributes)
        made = [np.asarray(array) for array in (found if isinstance(found, (tuple, list)) else (found,))]
        for output, array in zip(node.outputs, made, strict=False):
            if array.nbytes <= _HELD_BYTES:
                self._held[output] = array
        return made[value.index]


def copied(value: Value) -> Value:
    """Return the value of a copied constant: the layers that compute it are copied, and share the stored bytes."""
    copies: dict[Node, Node] = {}

    def copy(node: Node) -> Node:
        if node not in copies:
            copies[node] = like(node, [None if v is None else copy(v.node).outputs[v.index] for v in node.inputs])
        return copies[node]

    return copy(value.node).outputs[value.index]


def computed(
    node_class: type[Node],
    operator: Operator,
    inputs: list[Value],
    attributes: dict[str, object],
    type_: TensorType,
    name: str,
) -> Value:
    """Return the result of a new layer."""
    made = node_class(operator, inputs, {a.name: a.default for a in operator.attributes} | attributes, name=name)
    made.set_outputs([type_])
    return made.outputs[0]
