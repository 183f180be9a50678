"""ONNX's products of matrices.

Source: ONNX operator pages.
"""

from __future__ import annotations

from irexec.frontends.onnx.op import Op
from irexec.frontends.onnx.registry import translates
from irexec.graph.model import Value


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
