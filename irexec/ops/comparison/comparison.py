"""Comparisons of two operands, broadcast to each other: a boolean per pair.

Numbers compare as themselves, whatever their type; nan is unequal to everything, and neither less nor greater.
Strings compare by code points (the pages take any type). Source: the operation pages of these names.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from irexec.ops.compute.elementwise import broadcast_pair
from irexec.ops.declare.operator import Elements, operator
from irexec.ops.rules.shapes import Broadcasting, broadcast
from irexec.types import ANY, BOOLEAN, Array

T: TypeAlias = Annotated[Array, Elements("T", ANY)]
T_BOOL: TypeAlias = Annotated[Array, Elements("T_BOOL", {BOOLEAN})]


def _compare(function: Any, a: Array, b: Array, how: Broadcasting, out: Array | None) -> Array:
    if a.dtype.kind in "UTO" and a.dtype != b.dtype:
        a, b = a.astype(np.dtypes.StringDType()), b.astype(np.dtypes.StringDType())
    return broadcast_pair(function, a, b, how, out).astype(np.bool_, copy=False)


@operator("Equal", "opset1", shapes=broadcast)
def equal_1(a: T, b: T, /, *, how: Broadcasting, out: Array | None = None) -> T_BOOL:
    """a == b."""
    return _compare(np.equal, a, b, how, out)


@operator("NotEqual", "opset1", shapes=broadcast)
def not_equal_1(a: T, b: T, /, *, how: Broadcasting, out: Array | None = None) -> T_BOOL:
    """a != b."""
    return _compare(np.not_equal, a, b, how, out)


@operator("Greater", "opset1", shapes=broadcast)
def greater_1(a: T, b: T, /, *, how: Broadcasting, out: Array | None = None) -> T_BOOL:
    """a > b."""
    return _compare(np.greater, a, b, how, out)


@operator("GreaterEqual", "opset1", shapes=broadcast)
def greater_equal_1(a: T, b: T, /, *, how: Broadcasting, out: Array | None = None) -> T_BOOL:
    """a >= b."""
    return _compare(np.greater_equal, a, b, how, out)


@operator("Less", "opset1", shapes=broadcast)
def less_1(a: T, b: T, /, *, how: Broadcasting, out: Array | None = None) -> T_BOOL:
    """a < b."""
    return _compare(np.less, a, b, how, out)


@operator("LessEqual", "opset1", shapes=broadcast)
def less_equal_1(a: T, b: T, /, *, how: Broadcasting, out: Array | None = None) -> T_BOOL:
    """a <= b."""
    return _compare(np.less_equal, a, b, how, out)
