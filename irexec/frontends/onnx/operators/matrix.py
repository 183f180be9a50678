"""ONNX's products of matrices.

Source: ONNX operator pages.
"""

from __future__ import annotations

from irexec.frontends.onnx.op import Op, translates
from irexec.graph.model import Value
from irexec.types import I32


@translates("MatMul", since=(1, 9, 13))
def _matmul(op: Op) -> Value:
    return op.make("MatMul", op[0], op[1], opset=1)


@translates("Gemm", since=(1, 6, 7, 9, 11, 13))
def _gemm(op: Op) -> Value:
    transposed = {"transpose_a": op.flag("transA"), "transpose_b": op.flag("transB")}
    result = op.make("MatMul", op[0], op[1], opset=1, **transposed)
    alpha, beta = op.number("alpha", 1.0), op.number("beta", 1.0)
    if alpha != 1.0:
        result = op.make("Multiply", result, op.like(alpha), opset=1)
    added = op.get(2)
    if added is None:
        return result
    if beta != 1.0:
        added = op.make("Multiply", added, op.like(beta), opset=1)
    return op.make("Add", result, added, opset=1)


@translates("MatMulInteger", since=(10,))
def _matmul_integer(op: Op) -> Value:
    a, b = op.convert(op[0], I32), op.convert(op[1], I32)
    a_zero, b_zero = op.get(2), op.get(3)
    if a_zero is not None:
        zero = op.convert(a_zero, I32)
        # One zero point per row stands in a column.
        zero = op.make("Unsqueeze", zero, [-1], opset=1) if zero.partial_shape.rank == 1 else zero
        a = op.make("Subtract", a, zero, opset=1)
    if b_zero is not None:
        b = op.make("Subtract", b, op.convert(b_zero, I32), opset=1)
    return op.make("MatMul", a, b, opset=1)
