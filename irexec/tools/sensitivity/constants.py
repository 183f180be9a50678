"""Calls of single layers, and the values of constants: computed on request; stored values are never copied."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from irexec.core.threads.parallel import computing
from irexec.core.types import Array, TensorType
from irexec.model.graph.copies import like
from irexec.model.graph.ends import parameter_node
from irexec.model.graph.model import Model, Node, Value
from irexec.ops.spec.operator import Operator
from irexec.runtime.engine import CompiledModel

# Computed values up to this size are kept in memory.
_HELD_BYTES = 1 << 20


def call_of(node: Node) -> Callable[..., Any]:
    """Return the kernel of a layer with its attributes; for a layer that the engine runs itself, such as a loop, return
    a model of this layer.
    """
    operator = node.operator
    assert operator is not None
    if not operator.is_run_by_engine:
        return partial(operator.kernel, **operator.bind(node.all_attributes))
    parameters: dict[int, Node] = {}
    for port, value in enumerate(node.inputs):
        if value is not None:
            parameters[port] = parameter_node(type(node), value.type)
    copy = like(node, [parameters[p].outputs[0] if p in parameters else None for p in range(len(node.inputs))])
    alone = Model.of(copy.outputs, parameters.values(), node.friendly_name)
    alone.keeps_declared = False
    compiled = CompiledModel(alone)

    def run(*arrays: Array | None) -> tuple[Array, ...]:
        given = [array for array in arrays if array is not None]
        return tuple(compiled.infer_new_request(given).to_tuple())

    return run


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
        with computing():
            found = call_of(node)(*(None if read is None else self(read) for read in node.inputs))
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
    made = node_class(operator, inputs, attributes, name=name)
    made.set_outputs([type_])
    return made.outputs[0]
