"""Gaps of a comparison: layers whose values could not have shown a difference."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from irexec.core.structure import IF, READ_VALUE, STRUCTURAL
from irexec.core.types import Array
from irexec.model.arrays.brief import plural
from irexec.model.arrays.units import widened
from irexec.model.graph.model import Model, Node, Value
from irexec.ops.spec.traits import AlongAxes, Ranking
from irexec.tools.run.record import Reference

Shapes = Mapping[Value, Sequence[tuple[int, ...]]]
_FEW = 3
_ALONG = ("axis", "axes", "reduction_axes")


def can_differ(array: Array) -> bool:
    """Return whether an array has a value that could differ: not empty, and not all NaN."""
    if not array.size:
        return False
    return array.dtype.kind in "biuTUO" or not bool(np.all(np.isnan(widened(array))))


def not_exercised(reference: Reference, seen: Shapes) -> Iterator[str]:
    """Yield sentences about parts of the model that the inputs did not exercise. `seen`: shapes in each step."""
    model, steps = reference.model, reference.steps
    states = [node for node in model.nodes if node.type == READ_VALUE]
    if states and len(steps) == 1:
        yield f"{plural(len(states), 'variable')} with only one step: the values that this step assigns were not read"
    empty = [
        node for node in states if node.outputs[0] in seen and not any(math.prod(s) for s in seen[node.outputs[0]])
    ]
    if empty:
        yield f"{_names(empty)}: the state was empty in every step"
    outer = [node for node in model.walk() if node.bodies]
    counts = reference.count() if outer else {}
    for node in outer:
        for number, body in enumerate(node.bodies):
            inner = [n for n in body.model.nodes if n.type not in STRUCTURAL]
            if inner and not any(counts.get(n, 0) for n in inner):
                what = ("the then branch", "the else branch")[number] if node.type == IF else "the body"
                yield f"{what} of {node.friendly_name} did not run"
    if single := [node for node in model.nodes if _is_single(node, seen)]:
        yield f"{_names(single)}: an axis with one element, so that errors along it go unnoticed"
    yield from _single_dims(model, steps)


def _is_single(node: Node, seen: Shapes) -> bool:
    """Return whether a layer worked along an axis that had one element in every step."""
    given = node.inputs[0] if node.inputs else None
    if given is None or given not in seen or not _works_along(node):
        return False
    shapes = seen[given]
    axes = _axes(node)
    return bool(axes and shapes) and all(
        all(-len(shape) <= axis < len(shape) and shape[axis] == 1 for axis in axes) for shape in shapes
    )


def watched(node: Node) -> list[Value]:
    """Return the values of a layer whose shapes matter to `not_exercised`."""
    if node.type == READ_VALUE:
        return [node.outputs[0]]
    return [value for value in node.inputs[:1] if value is not None] if _works_along(node) else []


def _works_along(node: Node) -> bool:
    return AlongAxes in node.traits


def _axes(node: Node) -> list[int]:
    for name in _ALONG:
        given = node.attributes.get(name)
        if given is not None:
            return [int(axis) for axis in np.atleast_1d(np.asarray(given))]
    second = node.inputs[1] if len(node.inputs) > 1 and Ranking not in node.traits else None
    known = second.node.constant if second is not None else None
    return [] if known is None else [int(axis) for axis in known.reshape(-1)]


def _single_dims(model: Model, steps: Sequence[Sequence[Array]]) -> Iterator[str]:
    """Yield sentences about dynamic dimensions of inputs, except the first, that were 1 in every step."""
    for index, port in enumerate(model.inputs):
        shape = port.type.shape
        if shape.rank is None or any(step[index].ndim != shape.rank for step in steps):
            continue
        axes = [k for k in range(1, shape.rank) if shape[k].is_dynamic and all(s[index].shape[k] == 1 for s in steps)]
        if axes:
            where = ", ".join(map(str, axes))
            yield f"input {port.node.friendly_name} has one element along axis {where} in every step"


def _names(nodes: Sequence[Node]) -> str:
    names = [node.friendly_name for node in nodes]
    more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
    return ", ".join(names[:_FEW]) + more
