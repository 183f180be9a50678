"""Translators of ONNX's matrix products.

Source: ONNX operator pages.
"""

from __future__ import annotations

from irexec.core.types import F64
from irexec.frontends.onnx.op import Op
from irexec.frontends.onnx.registry import corresponds, translates
from irexec.model.graph.model import Value

corresponds("MatMul", "MatMul", 2, since=(1, 9, 13))


@translates("Gemm", since=(1, 6, 7, 9, 11, 13))
def _gemm(op: Op) -> Value:
    transposed = {"transpose_a": op.flag("transA"), "transpose_b": op.flag("transB")}
    check_product(op)
    added = op.get(2)
    # OpenVINO's name for a product to which a bias is added.
    suffix = "" if added is None else "/WithoutBiases"
    result = _times(
        op, op.make_part(suffix, "MatMul", (op[0], op[1]), 1, transposed).outputs[0], op.number("alpha", 1.0)
    )
    if added is not None:
        added = _times(op, added, op.number("beta", 1.0))
        kind = F64 if F64 in (result.element_type, added.element_type) else op.kind()
        result = op.make("Add", op.convert(result, kind), op.convert(added, kind))
    return op.convert(result, op.kind())


def check_product(op: Op) -> None:
    """Check that A and B are matrices whose product C broadcasts to. Raises Refused."""
    a, b = ("K M" if op.flag("transA") else "M K"), ("N K" if op.flag("transB") else "K N")
    op.check_shapes(f"A: {a}; B: {b}; C: M N | 1 N | M 1 | 1 1 | N | 1 |")


def _times(op: Op, x: Value, factor: float) -> Value:
    """Return x times a factor. The multiple of integers is real: only the sum is rounded, towards zero."""
    if factor == 1.0:
        return x
    x = op.reals(x)
    return op.make("Multiply", x, op.number_of(factor, x))
