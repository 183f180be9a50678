"""Typical values for inputs that are not given: they exercise a model more than small random numbers do."""

from __future__ import annotations

import numpy as np

from irexec.core.structure import CONVERT
from irexec.core.types import BOOLEAN, Array, ElementType
from irexec.model.graph.model import Model, Node, Value
from irexec.ops.spec.traits import KeepsElements, Selection

EXTENTS = (12, 16, 8, 32, 64, 128, 224, 4, 2, 1)
"""Extents to try for dynamic dimensions: texts of 8 to 16 tokens first."""
STEPS = 3
"""The number of steps for a model with variables: a text, and then one token at a time."""
_CHANNELS = (1, 3, 4)


def typical(
    model: Model, port: Value, kind: ElementType, shape: tuple[int, ...], past: int, rng: np.random.Generator
) -> Array | None:
    """Return typical values for an input; None if its use in the model is unknown.

    Typical values are masks of 0 and 1, positions that continue from `past`, tokens within the table that they index,
    and images with values from 0 to 1.
    """
    name = _names(port)
    whole = kind.is_integral_number or kind is BOOLEAN
    if whole and "mask" in name:
        return _mask(shape, past).astype(kind.dtype)
    if kind.is_integral_number and "position" in name and shape:
        return np.broadcast_to(past + np.arange(shape[-1]), shape).astype(kind.dtype)
    if kind.is_integral_number and "beam" in name and len(shape) == 1:
        return np.arange(shape[0]).astype(kind.dtype)
    if kind.is_integral_number and (rows := _rows(port)):
        return rng.integers(0, rows, shape).astype(kind.dtype)
    if kind.is_real and len(shape) == 4 and (shape[1] in _CHANNELS or shape[3] in _CHANNELS):
        return rng.random(shape, np.float32).astype(kind.dtype)
    return None


def grows(port: Value) -> bool:
    """Return whether an input also covers earlier steps, as an attention mask does."""
    return "mask" in _names(port)


def batch_axis(port: Value) -> int | None:
    """Return the axis of an input that counts texts or images; None if it has none.

    It is the first of several. A list of beams has no other; positions may have more axes before it.
    """
    rank, name = port.type.rank or 0, _names(port)
    if "beam" in name and rank == 1:
        return 0
    return None if rank < 2 else rank - 2 if "position" in name else 0


def _names(port: Value) -> str:
    return " ".join([port.node.friendly_name, *sorted(port.names)]).lower()


def _mask(shape: tuple[int, ...], past: int) -> Array:
    """Return a mask of ones; in the first step, the last position of each text is padding (0)."""
    made = np.ones(shape, np.int64)
    if not past and len(shape) > 1 and shape[-1] > 2:
        made[..., -1] = 0
    return made


def _rows(port: Value) -> int:
    """Return the number of rows from which an integer input selects; 0 if the input is not an index."""
    stack, seen = [port], {port}
    while stack:
        value = stack.pop()
        for node in value.users:
            if Selection in node.traits and len(node.inputs) > 2 and node.inputs[1] is value:
                table, axis = node.inputs[0], node.inputs[2]
                known = axis.node.constant if axis is not None else None
                if table is not None and known is not None and known.size == 1 and table.type.shape.rank:
                    dim = table.type.shape[int(known.reshape(-1)[0])]
                    return dim.value if dim.is_static else 0
            if _shapes(node) and node.inputs[0] is value and node.outputs[0] not in seen:
                seen.add(node.outputs[0])
                stack.append(node.outputs[0])
    return 0


def _shapes(node: Node) -> bool:
    """Return whether a layer changes only the element type or the shape of its first input."""
    return node.type == CONVERT or KeepsElements in node.traits
