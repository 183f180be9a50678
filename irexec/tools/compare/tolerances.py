"""Tolerances of layers, computed from the declaration of the operator and the shapes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from irexec.core.types import Array, ElementType, PartialShape, TensorType
from irexec.model.graph.model import Node, Value
from irexec.ops.spec.operator import Tolerance, exact, rounded
from irexec.ops.spec.work import multiply_adds
from irexec.tools.compare.numbers import FUSED, UNKNOWN
from irexec.tools.run.record import known_value

_F32_BITS = 32


def tolerance_of(node: Node, values: Mapping[Value, Array] | None = None) -> Tolerance:
    """Return the tolerance of a layer; for a layer with bodies, the sum of the tolerances of its inner layers.
    `values`: the inputs and outputs, if known, for dynamic extents.
    """
    if node.bodies:
        return combined(tolerance_of(inner) for body in node.bodies for inner in body.model.nodes)
    tolerance = exact if node.operator is None else node.operator.oracle.tolerance
    if tolerance.per == "root":
        return rounded(tolerance.ulp * math.sqrt(_terms(node, values or {})))
    if tolerance.per == "extent":
        return _positioned(node, tolerance.ulp, values or {})
    if tolerance.per == "angle":
        return _turned(node, tolerance.ulp, values or {})
    if tolerance.among:
        return tolerance._replace(least=_largest(node, tolerance.among, values or {}))
    return tolerance


def _largest(node: Node, names: Iterable[str], values: Mapping[Value, Array]) -> float:
    """Return the largest magnitude of these inputs; 0 if it is unknown."""
    assert node.operator is not None
    ports = (node.operator.signature.port_name(index) for index in range(len(node.inputs)))
    largest = 0.0
    for name, value in zip(ports, node.inputs, strict=True):
        if name in names and value is not None:
            array = values[value] if value in values else known_value(value)
            if array is not None and array.size:
                wide = np.abs(array.astype(np.float64))
                largest = max(largest, float(wide.max(where=np.isfinite(wide), initial=0.0)))
    return largest


def _terms(node: Node, values: Mapping[Value, Array]) -> float:
    """Return the number of terms of the sum for an element of the result; dynamic extents, such as a batch size, are
    not counted. Sums that are no sums of products have at most as many as the largest extent.
    """
    inputs = [None if value is None else _closed(value.type) for value in node.inputs]
    outputs = [_closed(value.type) for value in node.outputs]
    assert node.operator is not None
    total = multiply_adds(node.operator, inputs, node.all_attributes, outputs)
    if total:
        return max(1.0, total / max(1, outputs[0].shape.size.min))
    shapes = (_extents(value, values) or [UNKNOWN] for value in (*node.inputs, *node.outputs) if value is not None)
    return float(max((extent for shape in shapes for extent in shape), default=1))


def _closed(type: TensorType) -> TensorType:
    if type.shape.rank is None:
        return type
    return TensorType(type.element_type, PartialShape([d.value if d.is_static else 1 for d in type.shape]))


def _positioned(node: Node, units: float, values: Mapping[Value, Array]) -> Tolerance:
    """Return a tolerance of `units` times the sum of the extents of resized axes; exact for mode `nearest`."""
    if node.attributes.get("mode") == "nearest" or node.inputs[0] is None:
        return exact
    before, after = (_extents(value, values) for value in (node.inputs[0], node.outputs[0]))
    if before is None or after is None:
        return rounded(units * UNKNOWN)
    changed = [a for a, b in zip(before, after, strict=True) if a != b or a == UNKNOWN]
    return rounded(units * max(1, sum(changed)))


def _turned(node: Node, units: float, values: Mapping[Value, Array]) -> Tolerance:
    """Return a tolerance of `units` times the sum of the lengths of the transformed axes, the second input. Powers of
    two, which a fast transform computes in few steps, count by their roots.
    """
    extents = _extents(node.outputs[0], values)
    axes = node.inputs[1] if node.inputs[1] is None else values.get(node.inputs[1], known_value(node.inputs[1]))
    if extents is None or axes is None:
        return rounded(units * UNKNOWN)
    # The last axis contains the two parts of each number.
    lengths = [extents[:-1][int(axis)] for axis in axes]
    return rounded(units * max(1.0, sum(n if n & (n - 1) else math.sqrt(n) for n in lengths)))


def _extents(value: Value, values: Mapping[Value, Array]) -> list[int] | None:
    if value in values:
        return list(values[value].shape)
    shape = value.type.shape
    return None if shape.rank is None else [d.value if d.is_static else UNKNOWN for d in shape]


def combined(tolerances: Iterable[Tolerance]) -> Tolerance:
    """Return the tolerance of a chain of layers: independent errors add as the root of their squares. The last layer
    determines the smallest unit.
    """
    found = list(tolerances)
    if any(t.kind == "random" for t in found):
        return Tolerance("random")
    units = math.sqrt(sum(t.ulp**2 for t in found))
    return rounded(units, least=found[-1].least) if units else exact


def accumulated(tolerance: Tolerance, kind: ElementType) -> Tolerance:
    """Return the tolerance of a layer of a half type whose sums are accumulated in f32 and rounded once."""
    if kind.kind != "f" or kind.bitwidth >= _F32_BITS or not tolerance.ulp:
        return tolerance
    return tolerance._replace(ulp=min(tolerance.ulp, FUSED))


def tolerance_text(tolerance: Tolerance, kind: ElementType) -> str:
    """Return the text of a tolerance: `64 ulp of f32`."""
    if tolerance.kind == "random" or not kind.is_real:
        return "exact" if tolerance.kind != "random" else "random"
    return f"{max(tolerance.ulp, FUSED):.4g} ulp of {kind}"
