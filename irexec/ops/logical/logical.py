"""Logic of booleans, elementwise, with operands broadcast to each other.

Source: operation pages LogicalAnd-1, LogicalNot-1, LogicalOr-1, LogicalXor-1.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from irexec.ops.compute.elementwise import broadcast_pair
from irexec.ops.declare.operator import Elements, operator
from irexec.ops.rules.shapes import Broadcasting, broadcast, same_as
from irexec.types import BOOLEAN, Array

T_BOOL: TypeAlias = Annotated[Array, Elements("T_BOOL", {BOOLEAN})]


@operator("LogicalAnd", "opset1", shapes=broadcast, inplace=("a", "b"))
def logical_and_1(a: T_BOOL, b: T_BOOL, /, *, how: Broadcasting, out: Array | None = None) -> T_BOOL:
    """a and b."""
    return broadcast_pair(np.logical_and, a, b, how, out)


@operator("LogicalOr", "opset1", shapes=broadcast, inplace=("a", "b"))
def logical_or_1(a: T_BOOL, b: T_BOOL, /, *, how: Broadcasting, out: Array | None = None) -> T_BOOL:
    """a or b."""
    return broadcast_pair(np.logical_or, a, b, how, out)


@operator("LogicalXor", "opset2", shapes=broadcast, inplace=("a", "b"))
def logical_xor_2(a: T_BOOL, b: T_BOOL, /, *, how: Broadcasting, out: Array | None = None) -> T_BOOL:
    """Either a or b, not both. (The page calls it LogicalXor-1.)"""
    return broadcast_pair(np.logical_xor, a, b, how, out)


@operator("Xor", "opset1", shapes=broadcast, inplace=("a", "b"))
def xor_1(a: T_BOOL, b: T_BOOL, /, *, how: Broadcasting, out: Array | None = None) -> T_BOOL:
    """LogicalXor under the name it has in opset1."""
    return broadcast_pair(np.logical_xor, a, b, how, out)


@operator("LogicalNot", "opset1", shapes=same_as(), inplace="data")
def logical_not_1(data: T_BOOL, /, *, out: Array | None = None) -> T_BOOL:
    """Not data."""
    return np.asarray(np.logical_not(data, out=out))
