"""Logic of booleans, elementwise, with operands broadcast to each other.

Source: operation pages LogicalAnd-1, LogicalNot-1, LogicalOr-1, LogicalXor-1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from irexec.core.types import Array
from irexec.ops.compute.elementwise import broadcast_pair
from irexec.ops.compute.named import ufunc
from irexec.ops.rules.shapes import Broadcasting, broadcast, same_as
from irexec.ops.spec.operator import Operator, operator
from irexec.ops.spec.tensors import BooleanTensor
from irexec.ops.spec.traits import CommutativeInPatterns, DeclaredTrait


def _logic(
    type: str, function: Any, doc: str, opset: str = "opset1", *, traits: tuple[DeclaredTrait, ...] = ()
) -> Operator:
    def kernel(a: BooleanTensor, b: BooleanTensor, /, *, how: Broadcasting, out: Array | None = None) -> BooleanTensor:
        return broadcast_pair(function, a, b, how, out)

    return operator(type, opset, *traits, shapes=broadcast, inplace=("a", "b"), doc=doc)(kernel)


logical_and_1 = _logic("LogicalAnd", ufunc("logical_and"), "a and b.", traits=(CommutativeInPatterns,))
logical_or_1 = _logic("LogicalOr", ufunc("logical_or"), "a or b.", traits=(CommutativeInPatterns,))
logical_xor_2 = _logic(
    "LogicalXor",
    ufunc("logical_xor"),
    "Either a or b, not both. (The page calls it LogicalXor-1.)",
    opset="opset2",
    traits=(CommutativeInPatterns,),
)
xor_1 = _logic("Xor", ufunc("logical_xor"), "LogicalXor under the name it has in opset1.")


@operator("LogicalNot", "opset1", shapes=same_as(), inplace="data")
def logical_not_1(data: BooleanTensor, /, *, out: Array | None = None) -> BooleanTensor:
    """The negation of each element."""
    return np.asarray(np.logical_not(data, out=out))
