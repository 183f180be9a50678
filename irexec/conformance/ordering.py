"""Layers that order values: the value that changes nothing in their order."""

from __future__ import annotations

import math

from irexec.graph.model import Node
from irexec.types import Array, ElementType

_MAXIMA = frozenset({"Maximum", "ReduceMax", "MaxPool", "AdaptiveMaxPool", "SegmentMax", "ReLU"})
_MINIMA = frozenset({"Minimum", "ReduceMin"})
IGNORED = {"Clamp": (-math.inf, math.inf)}
"""The values that a layer without an identity may compute with instead of NaN."""


def identity_of(node: Node) -> float | None:
    """Return the value that a layer with NaN may read instead; None if it does not order values."""
    reduction = str(node.attributes.get("reduction", ""))
    if node.type in _MAXIMA or reduction == "max":
        return -math.inf
    if node.type in _MINIMA or reduction == "min":
        return math.inf
    return 0.0 if node.type in IGNORED else None


def is_float(array: Array) -> bool:
    """Return whether an array has floating-point values, also bf16."""
    return array.dtype.kind in "fV" and bool(ElementType.of(array.dtype).is_real)
