"""Translators of ONNX's element-wise arithmetic.

Source: ONNX operator pages; a comment notes where IR's operator of the same name differs.
"""

from __future__ import annotations

from functools import reduce
from math import inf

import numpy as np

from irexec.core.types import F32, FLOATS, UNSIGNED, ElementType
from irexec.frontends.onnx.errors import Refused
from irexec.frontends.onnx.kinds import onnx_name
from irexec.frontends.onnx.op import Op
from irexec.frontends.onnx.registry import corresponds, translates
from irexec.model.graph.model import Value

_UNARY = {
    "Abs": ("Abs", 1, (1, 6, 13)), "Acos": ("Acos", 1, (7, 22)), "Acosh": ("Acosh", 4, (9, 22)),
    "Asin": ("Asin", 1, (7, 22)), "Asinh": ("Asinh", 4, (9, 22)), "Atan": ("Atan", 1, (7, 22)),
    "Atanh": ("Atanh", 4, (9, 22)), "Ceil": ("Ceiling", 1, (1, 6, 13)), "Cos": ("Cos", 1, (7, 22)),
    "Cosh": ("Cosh", 1, (9, 22)), "Erf": ("Erf", 1, (9, 13)), "Exp": ("Exp", 1, (1, 6, 13)),
    "Floor": ("Floor", 1, (1, 6, 13)), "Log": ("Log", 1, (1, 6, 13)), "Round": ("Round", 5, (11, 22)),
    "Sign": ("Sign", 1, (9, 13)), "Sin": ("Sin", 1, (7, 22)), "Sinh": ("Sinh", 1, (9, 22)),
    "Sqrt": ("Sqrt", 1, (1, 6, 13)), "Tan": ("Tan", 1, (7, 22)), "Tanh": ("Tanh", 1, (1, 6, 13)),
    "IsNaN": ("IsNaN", 10, (9, 13, 20)),
}  # fmt: skip


for _name, (_type, _opset, _since) in _UNARY.items():
    corresponds(_name, _type, since=_since, opset=_opset)


corresponds("Neg", "Negative", since=(1, 6, 13))


@translates("Reciprocal", since=(1, 6, 13))
def _reciprocal(op: Op) -> Value:
    return op.make("Divide", op.like(1), op[0])


@translates("IsInf", since=(10, 20))
def _is_inf(op: Op) -> Value:
    negative, positive = op.flag("detect_negative", True), op.flag("detect_positive", True)
    x = op[0]
    if x.element_type not in FLOATS:
        # f32 represents all numbers of the 8-bit types exactly.
        x = op.convert(x, F32)
    return op.make("IsInf", x, opset=10, detect_negative=negative, detect_positive=positive)


_BINARY = {"Add": "Add", "Sub": "Subtract", "Mul": "Multiply", "Div": "Divide", "Pow": "Power"}


@translates("Add", "Sub", "Mul", since=(7, 13, 14))
def _binary(op: Op) -> Value:
    return op.make(_BINARY[op.type], op[0], op[1])


@translates("Div", since=(7, 13, 14))
def _divide(op: Op) -> Value:
    # Integer division rounds towards zero.
    return op.make("Divide", op[0], op[1], m_pythondiv=False)


@translates("Add", "Sub", "Mul", "Div", since=(1, 6))
@translates("Pow", since=(1,))
def _early_binary(op: Op) -> Value:
    options = {"m_pythondiv": False} if op.type == "Div" else {}
    return op.make(_BINARY[op.type], op[0], early_operand(op), **options)


def early_operand(op: Op) -> Value:
    """Return the second operand as versions before 7 broadcast it: with `broadcast`, from `axis` on."""
    b = op[1]
    if not op.flag("broadcast"):
        return b
    axis = op.integer("axis", -1)
    rank, own = op.needs_rank(0), op.needs_rank(1)
    after = rank - own - axis if axis >= 0 else 0
    return op.make("Unsqueeze", b, [own + i for i in range(after)]) if after > 0 else b


@translates("Mod", since=(10, 13, 28))
def _mod(op: Op) -> Value:
    # With fmod the result has the dividend's sign, as in IR's Mod; otherwise the divisor's, as in FloorMod.
    fmod = op.flag("fmod")
    if not fmod and op.version < 28 and op.kind() in FLOATS:
        raise Refused("F004", f"fmod is 0, expected 1 for {onnx_name(op.kind())}", attribute="fmod", allowed="1")
    return op.make("Mod" if fmod else "FloorMod", op[0], op[1])


@translates("Pow", since=(7, 12, 13, 15))
def _power(op: Op) -> Value:
    base, exponent = op[0], op[1]
    if base.element_type is exponent.element_type:
        return op.make("Power", base, exponent)
    # The result has the base's type; an integer base with a real exponent is computed as a real number.
    common = _wider(base.element_type, exponent.element_type)
    raised = op.make("Power", op.convert(base, common), op.convert(exponent, common))
    return op.convert(raised, base.element_type)


def _wider(base: ElementType, exponent: ElementType) -> ElementType:
    """Return the type in which to compute a power of two types."""
    kinds = [k for k in (base, exponent) if k in FLOATS]
    if not kinds:
        # An exponent outside the base's range would wrap; in the wider type only the result does.
        return max((base, exponent), key=lambda k: (k.bitwidth, k in UNSIGNED))
    assert base.dtype is not None and exponent.dtype is not None
    return base if base in FLOATS else ElementType.of(np.result_type(kinds[0].dtype, np.float32))


@translates("Max", "Min", since=(1, 6, 8, 12, 13))
@translates("Sum", since=(1, 6, 8, 13))
def _fold(op: Op) -> Value:
    type = {"Max": "Maximum", "Min": "Minimum", "Sum": "Add"}[op.type]
    if len(op) == 1:
        return op.same(op[0])
    operands = [op[i] for i in range(len(op))]
    return reduce(lambda a, b: op.make(type, a, b), operands)


@translates("Mean", since=(1, 6, 8, 13))
def _mean(op: Op) -> Value:
    total = op[0]
    for i in range(1, len(op)):
        total = op.make("Add", total, op[i])
    return op.make("Divide", total, op.like(len(op)))


@translates("Clip", since=(11, 12, 13), shapes="input:; min: scalar; max: scalar")
def _clip(op: Op) -> Value:
    low, high = (
        value if value is None or value.type.rank == 0 else op.reshape(value, []) for value in map(op.get, (1, 2))
    )
    x = op[0]
    bounds = [op.known(1), op.known(2)]
    if all(bound is not None and bound.size == 1 for bound in bounds):
        clamped = _clamped(op, *(bound.item() for bound in bounds if bound is not None))
        if clamped is not None:
            return clamped
    # The upper bound is applied last: it is the result if the lower bound exceeds it.
    if low is not None:
        x = op.make("Maximum", x, low)
    if high is not None:
        x = op.make("Minimum", x, high)
    return x if x is not op[0] else op.same(x)


@translates("Clip", since=(1, 6))
def _clip_6(op: Op) -> Value:
    greatest = float(np.finfo(np.float32).max)
    low, high = op.number("min", -greatest), op.number("max", greatest)
    clamped = _clamped(op, low, high)
    if clamped is not None:
        return clamped
    x = op.make("Maximum", op[0], op.like(low))
    return op.make("Minimum", x, op.like(high))


def _clamped(op: Op, low: float, high: float) -> Value | None:
    """Return a Clamp if the bounds are finite and in ascending order, and the type is f32 or f64; else None."""
    fits = op.kind() in FLOATS and op.kind().bitwidth >= 32 and -inf < low <= high < inf
    return op.make("Clamp", op[0], min=float(low), max=float(high)) if fits else None


corresponds("Where", "Select", 3, since=(9, 16))


@translates("CumSum", since=(11, 14), shapes="x:; axis: scalar")
def _cumulate(op: Op) -> Value:
    axis = op[1]
    if axis.type.shape.rank != 0:
        axis = op.reshape(axis, [])
    return op.make("CumSum", op[0], axis, opset=3, exclusive=op.flag("exclusive"), reverse=op.flag("reverse"))


@translates("CumProd", since=(26,), shapes="x:; axis: scalar")
def _cumulative_product(op: Op) -> Value:
    options = {"exclusive": op.flag("exclusive"), "reverse": op.flag("reverse")}
    return op.make("CumProd", op[0], op[1], opset="onnx26", **options)


@translates("Einsum", since=(12, 28))
def _einsum(op: Op) -> Value:
    operands = [op[i] for i in range(len(op))]
    return op.make("Einsum", *operands, opset=7, equation=op.text("equation"))
