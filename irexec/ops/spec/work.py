"""Estimates, before a call of an operator, of the number of elements it processes; for budgets, not for timing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irexec.core.types import TensorType, UnknownRank
from irexec.ops.spec.operator import Operator


def steps(
    operator: Operator, inputs: Sequence[TensorType | None], attributes: dict[str, Any], outputs: Sequence[TensorType]
) -> int | None:
    """Return the approximate number of elements that a call processes; None if extents are not known."""
    try:
        total = 0
        for tensor in (*inputs, *outputs):
            size = 0 if tensor is None else tensor.shape.size.max
            if size is None:
                return None
            total += size
        if operator.worker is None:
            return total
        missing = [] if operator.signature.is_variadic else [None] * (len(operator.inputs) - len(inputs))
        return total + operator.worker(outputs, *inputs, *missing, attributes=attributes)
    except (UnknownRank, ValueError):
        return None
