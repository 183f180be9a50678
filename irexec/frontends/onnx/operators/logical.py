"""Translators of ONNX's comparisons, logical and bitwise operators."""

from __future__ import annotations

from irexec.frontends.onnx.op import Op
from irexec.frontends.onnx.operators.elementwise import early_operand
from irexec.frontends.onnx.registry import corresponds, translates
from irexec.model.graph.model import Value

_PAIRS = {
    "And": ("LogicalAnd", 1), "Or": ("LogicalOr", 1), "Xor": ("LogicalXor", 2), "Equal": ("Equal", 1),
    "Greater": ("Greater", 1), "GreaterOrEqual": ("GreaterEqual", 1), "Less": ("Less", 1),
    "LessOrEqual": ("LessEqual", 1), "BitwiseAnd": ("BitwiseAnd", 13), "BitwiseOr": ("BitwiseOr", 13),
    "BitwiseXor": ("BitwiseXor", 13),
}  # fmt: skip


@translates("And", "Or", "Xor", since=(7,))
@translates("Equal", since=(7, 11, 13, 19))
@translates("Greater", "Less", since=(7, 9, 13))
@translates("GreaterOrEqual", "LessOrEqual", since=(12, 16))
@translates("BitwiseAnd", "BitwiseOr", "BitwiseXor", since=(18,))
def _pair(op: Op) -> Value:
    type, opset = _PAIRS[op.type]
    return op.make(type, op[0], op[1], opset=opset)


@translates("And", "Or", "Xor", "Equal", "Greater", "Less", since=(1,))
def _early_pair(op: Op) -> Value:
    type, opset = _PAIRS[op.type]
    return op.make(type, op[0], early_operand(op), opset=opset)


corresponds("Not", "LogicalNot", since=(1,))
corresponds("BitwiseNot", "BitwiseNot", since=(18,), opset=13)


@translates("BitShift", since=(11, 28))
def _shift(op: Op) -> Value:
    direction = op.text("direction", allowed=("LEFT", "RIGHT")).capitalize()
    return op.make(f"Bitwise{direction}Shift", op[0], op[1], opset=15)
