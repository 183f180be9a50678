"""MatMul: the product of matrices, or of stacks of them.

Source: operation page MatMul-1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from irexec.core.types import Array, Dimension, PartialShape, TensorType
from irexec.ops.compute.half import widen_half
from irexec.ops.compute.products import settle, sum_dtype, summing_buffer
from irexec.ops.matrix.product import COPIED_BYTES, multiply, product_shape
from irexec.ops.spec.checks import holds
from irexec.ops.spec.operator import Check, NodeTypes, operator, rounded
from irexec.ops.spec.tensors import NumericTensor
from irexec.ops.spec.traits import Bilinear, MatrixProduct, MayOverflow


@operator("MatMul", "opset1", Bilinear, MatrixProduct, MayOverflow, as_stored="b", tolerance=rounded(32))
def matmul_1(
    a: NumericTensor,
    b: NumericTensor,
    /,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    out: Array | None = None,
) -> NumericTensor:
    """`a` `[..., M, K]` times `b` `[..., K, N]`; a vector counts as a row (`a`) or column (`b`) and loses its axis.

    C1: a and b have rank 1 or more. C2: a and b have the same K, after transposition. C3: the leading axes broadcast.
    """
    left, right = as_matrix(a, transpose_a, 0), as_matrix(b, transpose_b, 1)
    shape = product_shape(left.shape, right.shape)
    dtype = sum_dtype(a.dtype, left.shape[-1])
    result_shape = (*shape[:-2], *(shape[-2:-1] if a.ndim > 1 else ()), *(shape[-1:] if b.ndim > 1 else ()))
    target = summing_buffer(result_shape, dtype, out)
    right = right if right.dtype == np.float16 else right.astype(dtype, copy=False)
    with np.errstate(over="ignore", invalid="ignore"):
        multiply(left.astype(dtype, copy=False), right, target.reshape(shape))
    return settle(target, a.dtype, out)


def as_matrix(x: Array, transposed: bool, side: int) -> Array:
    """Return an operand as a matrix: a vector becomes a row (`side` 0) or a column (`side` 1), and a `transposed`
    matrix is a transposed view.
    """
    if x.ndim == 1:
        return x[:, None] if side else x[None]
    return x.swapaxes(-1, -2) if transposed else x


@matmul_1.specialize
def _(types: NodeTypes, *, transpose_a: bool, transpose_b: bool) -> Callable[..., Array] | None:
    """Return the product with a constant that is converted once to the dtype of sums; None if this gains nothing."""
    declared = types.outputs[0].element_type.dtype
    constants = [c if c is not None and c.ndim else None for c in types.constants]
    known = next((c for c in constants if c is not None), None)
    if declared is None or known is None:
        return None
    side = 0 if constants[0] is not None else 1
    dtype = sum_dtype(declared, as_matrix(known, (transpose_a, transpose_b)[side], side).shape[-2 if side else -1])
    if dtype == np.float32 and side and known.ndim == 2 and known.size and not transpose_a:
        make = partial(ConstantMatrix, known, transpose_b)
        return _Product(types.prepared.of((known,), ("matrix", transpose_b), make), declared)
    if all(c is None or (c.flags.aligned and c.dtype == dtype) for c in constants) and dtype == declared:
        return None
    first, second = (None if c is None else np.require(c, dtype, "A") for c in constants)

    def run(a: Array, b: Array, /, *, out: Array | None = None) -> Array:
        left = a.astype(dtype, copy=False) if first is None else first
        right = b.astype(dtype, copy=False) if second is None else second
        into = out if dtype == declared else None
        result = matmul_1.kernel(left, right, transpose_a=transpose_a, transpose_b=transpose_b, out=into)
        return settle(result, declared, out)

    return run


class ConstantMatrix:
    """A constant matrix `[K, N]` in f32 or f16, for sums in f32.

    A small matrix is converted immediately to the form that BLAS takes (aligned, f32). A large matrix stays in the
    file's memory and is converted block by block in each product; the results are bit-identical.
    """

    def __init__(self, constant: Array, transposed: bool) -> None:
        is_half, is_small = constant.dtype == np.float16, constant.nbytes <= COPIED_BYTES
        if is_half and is_small:
            constant = widen_half(constant)
        elif not is_half:
            constant = constant.astype(np.float32, copy=False)
        self.right = as_matrix(np.require(constant, requirements="A") if is_small else constant, transposed, 1)


class _Product:
    """The product of rows and one constant matrix, summed in f32."""

    def __init__(self, matrix: ConstantMatrix, declared: np.dtype[Any]) -> None:
        self._declared, self.matrix = declared, matrix

    def __call__(self, a: Array, b: Array, /, *, out: Array | None = None) -> Array:
        into = out if self._declared == np.float32 else None
        sums = matmul_1.kernel(a.astype(np.float32, copy=False), self.matrix.right, out=into)
        return settle(sums, self._declared, out)


@matmul_1.multiply_adds
def _(outputs: Sequence[TensorType], a: TensorType, b: TensorType, *, transpose_a: bool) -> int:
    """Return the number of products: K (the length of a row of `a`) for each element of the result."""
    rows = a.shape.to_shape()
    inner = rows[-2] if transpose_a and len(rows) > 1 else rows[-1]
    return prod(outputs[0].shape.to_shape()) * inner


@matmul_1.shapes
def _(check: Check, a: TensorType, b: TensorType, *, transpose_a: bool, transpose_b: bool) -> PartialShape:
    for name, tensor in (("a", a), ("b", b)):
        if not check(
            "C1", tensor.rank != 0, f"{name} is a scalar, expected rank 1 or more", port=name, allowed="rank 1 or more"
        ):
            return PartialShape.dynamic()
    if a.rank is None or b.rank is None:
        return PartialShape.dynamic()
    batch_a, rows, inner_a = _split(a.shape, transpose_a, 0)
    batch_b, inner_b, columns = _split(b.shape, transpose_b, 1)
    message = f"b has {inner_b} rows, expected {inner_a}, the number of columns of a"
    check("C2", inner_a.compatible(inner_b), message, port="b", found=str(inner_b), allowed=str(inner_a))
    batch = batch_a.broadcast(batch_b)
    if batch is None:
        check("C3", False, f"the leading axes {batch_a} and {batch_b} do not broadcast", port="b")
        batch = PartialShape.dynamic(max(len(batch_a), len(batch_b)))
    else:
        holds("C3")
    return batch + [d for d, tensor in ((rows, a), (columns, b)) if tensor.rank != 1]


def _split(shape: PartialShape, transposed: bool, side: int) -> tuple[PartialShape, Dimension, Dimension]:
    """Return (leading axes, rows, columns) of one operand."""
    if len(shape) == 1:
        return PartialShape(()), *((shape[0], Dimension(1)) if side else (Dimension(1), shape[0]))
    rows, columns = shape[-2], shape[-1]
    return shape[:-2], *((columns, rows) if transposed else (rows, columns))
