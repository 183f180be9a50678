"""Elementwise arithmetic with one operand: each is one NumPy function, applied at the declared precision."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from irexec.ops.operator import Array, Elements, operator, rounded
from irexec.ops.precision import is_float
from irexec.ops.rules import same_as
from irexec.types import FLOATS, NUMERIC

T: TypeAlias = Annotated[Array, Elements("T", NUMERIC)]


@operator("Abs", "opset1", shapes=same_as(), inplace="x")
def abs_1(x: T, /, *, out: Array | None = None) -> T:
    """The absolute value of each element; the lowest integer stays itself (it wraps)."""
    return np.abs(x, out=out)


@operator("Ceiling", "opset1", shapes=same_as(), inplace="x")
def ceiling_1(x: T, /, *, out: Array | None = None) -> T:
    """Each element rounded up to a whole number."""
    return np.ceil(x, out=out) if is_float(x.dtype) else np.positive(x, out=out)


@operator("Tanh", "opset1", shapes=same_as(), inplace="x", tolerance=rounded(4))
def tanh_1(
    x: Annotated[Array, Elements("T", FLOATS)], /, *, out: Array | None = None
) -> Annotated[Array, Elements("T", FLOATS)]:
    """The hyperbolic tangent of each element."""
    return np.tanh(x, out=out)
