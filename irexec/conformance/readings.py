"""Readings of a page that leaves a result open: a result that follows none of them is wrong.

NaN in an order is propagated or ignored, and of equal values of TopK any may be chosen; but a maximum that is neither
NaN nor one of the largest elements, or an index of another value, is an error.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from irexec.conformance.ordering import IGNORED, identity_of, is_float
from irexec.conformance.undefined import undefined_parts
from irexec.graph.model import Model, Node
from irexec.types import Array

Inputs = Sequence[Array | None]
_LOWEST = 3e38


def contradicts(node: object, inputs: Inputs, expected: Sequence[Array], found: Sequence[Array]) -> bool:
    """Return whether the results of a layer follow no reading of its page; False for layers without known readings."""
    assert isinstance(node, Node)
    if node.operator is None or any(a.shape != b.shape for a, b in zip(expected, found, strict=True)):
        return False
    if inputs and inputs[0] is not None and not inputs[0].size:
        return False  # Empty data has no order.
    if node.type == "TopK":
        return _is_other_choice(node, inputs, expected, found)
    if identity_of(node) is None or not any(a is not None and is_float(a) for a in inputs):
        return False
    right, other = expected[0].astype(np.float64), found[0].astype(np.float64)
    fits = _is_close(right, other)
    for value in IGNORED[node.type] if node.type in IGNORED else (identity_of(node),):
        fits |= _is_close(_without_nan(node, inputs, value), other)
    return not bool(fits.all())


def with_allowances(
    layers: Sequence[tuple[Node, list[Array | None]]], model: Model, expected: Sequence[Array], found: Sequence[Array]
) -> list[Array] | None:
    """Return the results of a single layer, in which elements that its page does not define are replaced by the
    expected ones, as are limits of a function in place of NaN for an infinity times zero. `layers`: all layers, with
    their inputs.
    """
    if len(layers) != 1:
        return None
    node, inputs = layers[0]
    turned = [result.inputs[0] not in node.outputs for result in model.results]
    masks: list[Array | bool] = [False] * len(found)
    if isinstance(parts := undefined_parts(node, inputs), tuple):
        masks = list(parts)
    elif node.type in _TIMES_ZERO and inputs[0] is not None:
        right, other = (a.T if turned[0] else a for a in (expected[0], found[0]))
        with np.errstate(all="ignore"):
            masks[0] = np.isinf(inputs[0].astype(np.float64)) & np.isnan(right.astype(np.float64)) & (other == 0)
    elif node.type in _COLOURS and found[0].dtype.kind == "u":
        # The pages do not specify how the weighted sums are rounded.
        near = np.abs(expected[0].astype(np.int64) - found[0].astype(np.int64)) <= 1
        masks[0] = near.T if turned[0] else near
    if not any(np.any(mask) for mask in masks):
        return None
    return [
        np.where(np.transpose(mask) if back else mask, right, other).astype(other.dtype)
        for mask, right, other, back in zip(masks, expected, found, turned, strict=True)
    ]


_COLOURS = frozenset({"NV12toRGB", "NV12toBGR", "I420toRGB", "I420toBGR", "RGBtoNV12", "BGRtoNV12", "RGBtoI420"})
_TIMES_ZERO = frozenset({"Mish", "Swish", "HSwish", "Gelu", "SoftSign"})


def _without_nan(node: Node, inputs: Inputs, value: float | None) -> Array:
    """Return the first result of a layer if another value is in each place of a NaN."""
    assert node.operator is not None and value is not None
    given = [
        np.where(np.isnan(a), np.asarray(value, a.dtype), a) if a is not None and is_float(a) else a for a in inputs
    ]
    results = node.operator.compute(*given, **node.all_attributes)
    return np.asarray(results[0] if isinstance(results, (tuple, list)) else results).astype(np.float64)


def _is_close(right: Array, other: Array) -> Array:
    """Return a mask of equal values; the extremum of no numbers may be the lowest or highest finite number instead of
    an infinity.
    """
    with np.errstate(all="ignore"):
        near = np.isfinite(right) & (np.abs(right - other) <= 1e-5 * np.abs(right))
        ends = np.isinf(right) & (np.sign(right) == np.sign(other)) & (np.abs(other) >= _LOWEST)
    return np.asarray(near | ends | (right == other) | (np.isnan(right) & np.isnan(other)))


def _is_other_choice(node: Node, inputs: Inputs, expected: Sequence[Array], found: Sequence[Array]) -> bool:
    """Return whether TopK's values are wrong, or its indices do not refer to them."""
    data = inputs[0]
    if data is None or (is_float(data) and np.isnan(data).any()) or len(found) != 2:
        return False
    axis = int(node.attributes.get("axis", -1))
    values, indices = found[0], found[1].astype(np.int64)
    if (indices < 0).any() or (indices >= data.shape[axis]).any():
        return True
    if node.attributes.get("sort") in ("none", "index"):
        expected, values = [np.sort(expected[0], axis)], np.sort(values, axis)
    distinct = np.sort(indices, axis)
    repeated = bool((np.diff(distinct, axis=axis) == 0).any())
    named = np.take_along_axis(data, indices, axis)
    return repeated or not np.array_equal(expected[0], values) or not np.array_equal(named, found[0])
