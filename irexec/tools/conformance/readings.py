"""Readings of a page that does not fully define a result: a result that follows no reading is wrong.

Operators declare their readings (`Allowed`): NaN in an order may be propagated or ignored, and TopK may choose any of
equal values; but a maximum that is neither NaN nor a largest element, or the index of another value, is an error.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from irexec.core.types import Array
from irexec.model.graph.model import Model, Node
from irexec.tools.conformance.undefined import instead_of_nan, is_float
from irexec.tools.run.ties import undefined_parts

Inputs = Sequence[Array | None]
_LOWEST = 3e38


def contradicts(node: object, inputs: Inputs, expected: Sequence[Array], found: Sequence[Array]) -> bool:
    """Return whether the results of a layer follow no reading of its page; False if the layer declares no readings."""
    assert isinstance(node, Node)
    if node.operator is None or any(a.shape != b.shape for a, b in zip(expected, found, strict=True)):
        return False
    if inputs and inputs[0] is not None and not inputs[0].size:
        return False  # Empty data has no order.
    if (chosen := node.operator.allowed.chosen) is not None:
        return len(found) == len(node.outputs) and chosen(expected, found, *inputs, **node.all_attributes) is False
    numbers = instead_of_nan(node)
    if not numbers or not any(a is not None and is_float(a) for a in inputs):
        return False
    right, other = expected[0].astype(np.float64), found[0].astype(np.float64)
    fits = _is_close(right, other)
    for number in numbers:
        fits |= _is_close(_without_nan(node, inputs, number), other)
    return not bool(fits.all())


def with_allowances(
    layers: Sequence[tuple[Node, list[Array | None]]], model: Model, expected: Sequence[Array], found: Sequence[Array]
) -> list[Array] | None:
    """Return the results of a single layer with elements that its page does not define replaced by the expected ones,
    as are limits of a function where irexec computes NaN (infinity times zero). None if nothing is replaced, or there
    are several layers. `layers`: all layers, with their inputs.
    """
    if len(layers) != 1 or (operator := layers[0][0].operator) is None:
        return None
    node, inputs = layers[0]
    turned = [result.inputs[0] not in node.outputs for result in model.results]
    masks: list[Array | bool] = [False] * len(found)
    if isinstance(parts := undefined_parts(node, inputs), tuple):
        masks = list(parts)
    elif operator.allowed.limit and inputs[0] is not None:
        right, other = (a.T if turned[0] else a for a in (expected[0], found[0]))
        with np.errstate(all="ignore"):
            masks[0] = np.isinf(inputs[0].astype(np.float64)) & np.isnan(right.astype(np.float64)) & (other == 0)
    elif operator.allowed.rounding == "either" and found[0].dtype.kind == "u":
        near = np.abs(expected[0].astype(np.int64) - found[0].astype(np.int64)) <= 1
        masks[0] = near.T if turned[0] else near
    if not any(np.any(mask) for mask in masks):
        return None
    return [
        np.where(np.transpose(mask) if back else mask, right, other).astype(other.dtype)
        for mask, right, other, back in zip(masks, expected, found, turned, strict=True)
    ]


def _without_nan(node: Node, inputs: Inputs, number: float) -> Array:
    """Return the first result of a layer whose inputs contain `number` in place of NaN."""
    assert node.operator is not None
    given = [
        np.where(np.isnan(a), np.asarray(number, a.dtype), a) if a is not None and is_float(a) else a for a in inputs
    ]
    results = node.operator.compute(*given, **node.all_attributes)
    return np.asarray(results[0] if isinstance(results, (tuple, list)) else results).astype(np.float64)


def _is_close(right: Array, other: Array) -> Array:
    """Return a mask of equal values; instead of an infinity, the extremum of no numbers may be the lowest or highest
    finite number.
    """
    with np.errstate(all="ignore"):
        near = np.isfinite(right) & (np.abs(right - other) <= 1e-5 * np.abs(right))
        ends = np.isinf(right) & (np.sign(right) == np.sign(other)) & (np.abs(other) >= _LOWEST)
    return np.asarray(near | ends | (right == other) | (np.isnan(right) & np.isnan(other)))
