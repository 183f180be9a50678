"""Comparisons of two operands, broadcast to each other: a boolean per pair.

Numbers are compared by value, whatever their type; NaN is unequal to everything, and neither less nor greater.
Strings compare by code points (the pages allow any type). Source: the operation pages of these names.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from irexec.core.types import Array
from irexec.ops.compute.elementwise import broadcast_pair
from irexec.ops.compute.named import ufunc
from irexec.ops.rules.shapes import Broadcasting, broadcast
from irexec.ops.spec.operator import Operator, operator
from irexec.ops.spec.tensors import AnyTensor, BooleanTensor
from irexec.ops.spec.traits import CommutativeInPatterns, Comparison, DeclaredTrait, Steps


def _compare(function: Any, a: Array, b: Array, how: Broadcasting, out: Array | None) -> Array:
    if a.dtype.kind in "UTO" and a.dtype != b.dtype:
        a, b = a.astype(np.dtypes.StringDType()), b.astype(np.dtypes.StringDType())
    return broadcast_pair(function, a, b, how, out).astype(np.bool_, copy=False)


def _comparison(type: str, function: Any, doc: str, *traits: DeclaredTrait) -> Operator:
    def kernel(a: AnyTensor, b: AnyTensor, /, *, how: Broadcasting, out: Array | None = None) -> BooleanTensor:
        return _compare(function, a, b, how, out)

    return operator(type, "opset1", Comparison, Steps, *traits, shapes=broadcast, doc=doc)(kernel)


equal_1 = _comparison("Equal", ufunc("equal"), "a == b.", CommutativeInPatterns)
not_equal_1 = _comparison("NotEqual", ufunc("not_equal"), "a != b.", CommutativeInPatterns)
greater_1 = _comparison("Greater", ufunc("greater"), "a > b.")
greater_equal_1 = _comparison("GreaterEqual", ufunc("greater_equal"), "a >= b.")
less_1 = _comparison("Less", ufunc("less"), "a < b.")
less_equal_1 = _comparison("LessEqual", ufunc("less_equal"), "a <= b.")
