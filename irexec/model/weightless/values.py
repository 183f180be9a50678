"""Random values for missing weights: of a size that keeps the results of layers in range."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from irexec.core.types import BOOLEAN, Array, ElementType, Stored, TensorType
from irexec.ir.weights.file import stored
from irexec.model.arrays.draw import draw, draw_for
from irexec.model.graph.model import Node
from irexec.model.inference import Inference

_LOW, _HIGH = 0.5, 1.5
"""The range of vectors, which scale channels, shift them, or are their variances."""


def drawn_for(rng: np.random.Generator, node: Node, position: int, types: Inference) -> Array | None:
    """Return values that the operator of `node` accepts at this input; None if its declaration has no generator."""
    operator = node.operator
    if operator is None or node.bodies or position >= len(operator.inputs):
        return None
    named = {port.name: type for port, type in zip(operator.inputs, types.inputs(node), strict=False) if type}
    name = operator.inputs[position].name
    static = {each: type for each, type in named.items() if type.shape.is_static}
    return draw_for(rng, operator, name, static, node.all_attributes) if name in static else None


def drawn(rng: np.random.Generator, type: TensorType) -> Array | Stored:
    """Return random values of a static type."""
    kind, shape = type.element_type, type.shape.to_shape()
    if kind is BOOLEAN:
        return np.ones(shape, np.bool_)
    if kind.is_integral_number and kind.bitwidth <= 8:
        return stored(kind, shape, rng.bytes(kind.nbytes(math.prod(shape))))
    if not kind.is_real or kind.is_carried or kind.bitwidth < 16:
        return draw(rng, kind, shape)
    return _real(rng, kind, shape)


def _real(rng: np.random.Generator, kind: ElementType, shape: tuple[int, ...]) -> Array:
    """Return a matrix whose products are as large as its inputs, or a vector of positive numbers."""
    dtype: Any = kind.dtype
    if sum(extent > 1 for extent in shape) < 2:
        return rng.uniform(_LOW, _HIGH, shape).astype(dtype)
    terms = max(1, math.prod(shape) // max(shape[0], 1))
    scale = np.float32(1 / math.sqrt(terms))
    values = draw(rng, kind, shape)
    return (values * scale).astype(dtype, copy=False)
