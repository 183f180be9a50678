"""Estimates, before a call of an operator, of the number of elements and of products that it processes.

Only operators that compute sums of products have multiply-adds; elementwise work is not counted as such.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irexec.core.types import TensorType, UnknownRank
from irexec.ops.spec.operator import Operator

Types = Sequence[TensorType | None]


def steps(operator: Operator, inputs: Types, attributes: dict[str, Any], outputs: Sequence[TensorType]) -> int | None:
    """Return the approximate number of elements that a call processes, and its multiply-adds; None if extents are not
    known.
    """
    try:
        total = 0
        for tensor in (*inputs, *outputs):
            size = 0 if tensor is None else tensor.shape.size.max
            if size is None:
                return None
            total += size
        for rule in (operator.worker, operator.multiplier):
            total += 0 if rule is None else rule(outputs, *operator.padded(inputs), attributes=attributes)
        return total
    except (UnknownRank, ValueError):
        return None


def multiply_adds(
    operator: Operator, inputs: Types, attributes: dict[str, Any], outputs: Sequence[TensorType]
) -> int | None:
    """Return the multiply-adds of a call; None if a shape that determines them is dynamic."""
    if operator.multiplier is None or not outputs:
        return 0
    if not all(tensor is None or tensor.shape.is_static for tensor in (*inputs, outputs[0])):
        return None
    try:
        return operator.multiplier(outputs, *operator.padded(inputs), attributes=attributes)
    except (
        AttributeError,
        IndexError,
        TypeError,
        ValueError,
    ):  # Types that do not suit the operator: a finding reports them.
        return None
