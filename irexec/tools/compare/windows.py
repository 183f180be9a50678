"""Windows: neighbouring layers whose values are exposed, or kept in memory, at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from irexec.core.structure import ASSIGN, CONST, PARAMETER, RESULT
from irexec.core.types import DYNAMIC, Array, PartialShape, TensorType
from irexec.model.graph.cut import constant_nodes
from irexec.model.graph.model import Model, Node, Value
from irexec.model.inference import infer
from irexec.tools.compare.runtimes.runtime import CannotRun, Died, Loaded, Steps
from irexec.tools.cut.extract import MAX_STRUCTURE

SHOWN_BYTES = 1 << 29
"""The size in bytes of the values that the other side exposes at a time, unless --window is given."""
_UNKNOWN_BYTES = 1 << 20


def comparable(model: Model) -> list[Node]:
    """Return the layers whose results can be compared: not Assign, whose result runtimes do not expose."""
    constant = constant_nodes(model)
    skipped = (PARAMETER, RESULT, CONST, ASSIGN)
    return [n for n in model.nodes if n.type not in skipped and n not in constant and n.outputs]


def read_values(model: Model) -> set[Value]:
    """Return values with at least one reader; others need not be computed, nor be correct."""
    return {value for node in model.nodes for value in node.inputs if value is not None}


def observed(
    loaded: Loaded, steps: Steps, nodes: Sequence[Node], wanted: Callable[[Sequence[Node]], list[Value]]
) -> Iterator[tuple[Sequence[Node], Sequence[Mapping[Value, Array]]]]:
    """Yield the `wanted` values of some layers, per step. If the other side cannot expose all at once, the layers
    are divided into parts; layers whose values it cannot expose alone are omitted.
    """
    try:
        yield nodes, loaded.observe(steps, wanted(nodes))
    except Died:
        raise
    except CannotRun:
        half = len(nodes) // 2
        for some in (nodes[:half], nodes[half:]) if half else ():
            yield from observed(loaded, steps, some, wanted)


def sizes_of(model: Model, steps: Steps) -> Callable[[Value], int]:
    """Return a function from a value to its number of bytes in the first or the last step, whichever is larger."""
    if all(port.type.shape.is_static for port in model.inputs):
        return _nbytes
    known = [
        infer(model, [_type_of(array, port) for array, port in zip(step, model.inputs, strict=True)])
        for step in (steps[:1] if len(steps) < 2 else (steps[0], steps[-1]))
    ]

    def size(value: Value) -> int:
        return max(_nbytes_of(types.outputs(value.node)[value.index], value) for types in known)

    return size


def _type_of(array: Array, port: Value) -> TensorType:
    value = array if array.dtype.kind in "iu" and array.size <= MAX_STRUCTURE else None
    return TensorType(port.element_type, PartialShape(array.shape), value)


def windows(
    nodes: Sequence[Node], window: int | None, most: int, size_of: Callable[[Value], int] | None = None
) -> Iterator[list[Node]]:
    """Yield neighbouring layers: `window` at a time, or as many as have no more than `most` bytes of values. `size_of`:
    the bytes of a value; by default the bytes of its declared shape.
    """
    group: list[Node] = []
    held = 0
    for node in nodes:
        size = 2 * sum(map(size_of or _nbytes, node.outputs))
        full = len(group) >= window if window is not None else held + size > most
        if group and full:
            yield group
            group, held = [], 0
        group.append(node)
        held += size
    if group:
        yield group


def _nbytes(value: Value) -> int:
    return _nbytes_of(value.type, value)


def _nbytes_of(type: TensorType, value: Value) -> int:
    if type.shape.is_dynamic or value.element_type is DYNAMIC:
        return _UNKNOWN_BYTES
    count = math.prod(type.shape.to_shape())
    return count * (value.element_type.dtype.itemsize if value.element_type.dtype is not None else 1)
