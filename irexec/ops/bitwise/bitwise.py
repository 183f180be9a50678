"""Logic and shifts of the bits of integers, elementwise, with operands broadcast to each other.

Source: the operation pages of these names.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from irexec.core.types import BOOLEAN, INTEGERS, Array
from irexec.ops.compute.elementwise import broadcast_pair
from irexec.ops.compute.named import ufunc
from irexec.ops.rules.shapes import Broadcasting, broadcast, same_as
from irexec.ops.spec.operator import Elements, Operator, operator
from irexec.ops.spec.traits import Commutative

T: TypeAlias = Annotated[Array, Elements("T", INTEGERS | {BOOLEAN})]
T_INT: TypeAlias = Annotated[Array, Elements("T", INTEGERS)]


def _bits(type: str, function: Any, doc: str) -> Operator:
    def kernel(a: T, b: T, /, *, how: Broadcasting, out: Array | None = None) -> T:
        return broadcast_pair(function, a, b, how, out)

    return operator(type, "opset13", Commutative, shapes=broadcast, inplace=("a", "b"), doc=doc)(kernel)


bitwise_and_13 = _bits("BitwiseAnd", ufunc("bitwise_and"), "The bits set in both a and b; for booleans, a and b.")
bitwise_or_13 = _bits("BitwiseOr", ufunc("bitwise_or"), "The bits set in a or b; for booleans, a or b.")
bitwise_xor_13 = _bits(
    "BitwiseXor", ufunc("bitwise_xor"), "The bits set in exactly one of a and b; for booleans, a or b but not both."
)


@operator("BitwiseNot", "opset13", shapes=same_as(), inplace="data")
def bitwise_not_13(data: T, /, *, out: Array | None = None) -> T:
    """Each bit inverted; for booleans, the negation."""
    return np.asarray(np.invert(data, out=out))


def _shift(type: str, function: Any, doc: str) -> Operator:
    def kernel(a: T_INT, b: T_INT, /, *, how: Broadcasting, out: Array | None = None) -> T_INT:
        return broadcast_pair(function, a, b, how, out)

    made = operator(type, "opset15", shapes=broadcast, doc=doc)(kernel)
    made.oracle.undefined_for(lambda a, b: bool(((b < 0) | (b >= 8 * b.dtype.itemsize)).any()))
    made.oracle.draw("b")(_shift_count)
    return made


def _shift_count(rng: np.random.Generator, port: str, types: dict[str, Any]) -> Array:
    """Draw shift counts that the page defines: from 0 to the number of bits in the type, exclusive."""
    kind = types[port].element_type
    return np.asarray(rng.integers(0, kind.bitwidth, types[port].shape.to_shape()).astype(kind.dtype))


_OPEN = "The page does not define negative shifts, and shifts by at least the number of bits in T; here they give 0"

bitwise_left_shift_15 = _shift(
    "BitwiseLeftShift", ufunc("left_shift"), f"a << b, modulo two to the power of the bits in T.\n\n{_OPEN}."
)
bitwise_right_shift_15 = _shift(
    "BitwiseRightShift", ufunc("right_shift"), f"a >> b; the sign is kept.\n\n{_OPEN}, or -1 for negative a."
)
