"""The multiply-adds of a layer, from the shapes of its inputs and output.

Only operators that compute sums of products have multiply-adds; elementwise work is not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from irexec.core.types import TensorType
from irexec.model.graph.model import Node

Shapes = Sequence[tuple[int, ...]]
Rule = Callable[[Shapes, tuple[int, ...], dict[str, Any]], int]


def multiply_adds(node: Node, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]) -> int | None:
    """Return the multiply-adds of one layer, without its bodies. None if a shape that determines them is dynamic."""
    rule = _RULES.get(node.type)
    if rule is None or not outputs:
        return 0
    known = [t for t in inputs if t is not None]
    if not all(t.shape.is_static for t in (*known, outputs[0])):
        return None
    try:
        return rule([t.shape.to_shape() for t in known], outputs[0].shape.to_shape(), node.attributes)
    except (IndexError, KeyError, ValueError):  # Shapes that do not suit the operator: a finding reports them.
        return None


def _matmul(shapes: Shapes, out: tuple[int, ...], attributes: dict[str, Any]) -> int:
    first = shapes[0]
    return prod(out) * first[-2 if attributes.get("transpose_a") and len(first) > 1 else -1]


def _convolution(weights: int, grouped: int) -> Rule:
    """Return the rule for a convolution: each output element is a sum over the filter's input channels and window."""
    return lambda shapes, out, attributes: prod(out) * prod(shapes[weights][1 + grouped :])


def _transposed_convolution(grouped: int) -> Rule:
    """Return the rule for a transposed convolution: each input element contributes to every output channel of its group
    and every position of the window.
    """
    return lambda shapes, out, attributes: prod(shapes[0]) * prod(shapes[1][1 + grouped :])


def _cell(weights: int) -> Rule:
    """Return the rule for a recurrent cell: a product with the weights W and one with the recurrent weights R for each
    batch element.
    """
    return lambda shapes, out, attributes: shapes[0][0] * (prod(shapes[weights]) + prod(shapes[weights + 1]))


def _sequence(weights: int) -> Rule:
    """Return the rule for a recurrent sequence: the products of a cell at each step; W and R contain all directions."""

    def rule(shapes: Shapes, out: tuple[int, ...], attributes: dict[str, Any]) -> int:
        return shapes[0][0] * shapes[0][1] * (prod(shapes[weights]) + prod(shapes[weights + 1]))

    return rule


def _einsum(shapes: Shapes, out: tuple[int, ...], attributes: dict[str, Any]) -> int:
    """Return the multiply-adds of an Einsum: the number of combinations of labels, times the operands minus one."""
    terms = str(attributes["equation"]).replace(" ", "").split("->")[0].split(",")
    extents: dict[str, int] = {}
    ellipsis: tuple[int, ...] = ()
    for term, shape in zip(terms, shapes, strict=True):
        before, dots, after = term.partition("...")
        middle = shape[len(before) : len(shape) - len(after)] if dots else ()
        ellipsis = max(ellipsis, middle, key=prod)
        for label, extent in zip(before + after, shape[: len(before)] + shape[len(shape) - len(after) :], strict=True):
            extents[label] = max(extents.get(label, 1), extent)
    return (len(terms) - 1) * prod(extents.values()) * prod(ellipsis)


def _attention(shapes: Shapes, out: tuple[int, ...], attributes: dict[str, Any]) -> int:
    """Return the multiply-adds of the scores of every query with every key, and of the weighted sums of values."""
    query, key, value = shapes[:3]
    return prod(out[:-1]) * key[-2] * (query[-1] + value[-1])


_RULES: dict[str, Rule] = {
    "MatMul": _matmul, "Convolution": _convolution(1, 0), "BinaryConvolution": _convolution(1, 0),
    "GroupConvolution": _convolution(1, 1), "DeformableConvolution": _convolution(2, 0),
    "ConvolutionBackpropData": _transposed_convolution(0), "GroupConvolutionBackpropData": _transposed_convolution(1),
    "RNNCell": _cell(2), "GRUCell": _cell(2), "LSTMCell": _cell(3), "RNNSequence": _sequence(3),
    "GRUSequence": _sequence(3), "LSTMSequence": _sequence(4), "AUGRUCell": _cell(2), "AUGRUSequence": _sequence(3),
    "Einsum": _einsum, "ScaledDotProductAttention": _attention,
}  # fmt: skip
