"""MatMul: the product of matrices, or of stacks of them.

Source: operation page MatMul-1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeAlias
from weakref import WeakValueDictionary

import numpy as np

from irexec.ir.weights.file import release_pages
from irexec.native import MANY_CALLS, pays
from irexec.native.capture import captured_all
from irexec.ops.compute.contiguous import all_contiguous
from irexec.ops.compute.follow import Lead, Link, after_sums
from irexec.ops.compute.half import widen_half
from irexec.ops.compute.products import settle, sum_dtype, summing_buffer
from irexec.ops.declare.checks import holds
from irexec.ops.declare.operator import Check, Elements, NodeTypes, operator, rounded
from irexec.ops.matrix.product import COPIED_BYTES, FEW_ROWS, multiply, product_shape
from irexec.types import NUMERIC, Array, Dimension, PartialShape, TensorType

if TYPE_CHECKING:
    from irexec.ops.matrix.compiled import CompiledProduct

T: TypeAlias = Annotated[Array, Elements("T", NUMERIC)]


@operator("MatMul", "opset1", unaligned="b", narrow="b", tolerance=rounded(64))
def matmul_1(a: T, b: T, /, *, transpose_a: bool = False, transpose_b: bool = False, out: Array | None = None) -> T:
    """`a` `[..., M, K]` times `b` `[..., K, N]`; a vector is a row of `a` or a column of `b`, and leaves its axis out.

    C1: both have rank 1 or more. C2: both have the same K, after transposition. C3: the leading axes broadcast.
    """
    left, right = _matrix(a, transpose_a, 0), _matrix(b, transpose_b, 1)
    shape = product_shape(left.shape, right.shape)
    dtype = sum_dtype(a.dtype, left.shape[-1])
    result_shape = (*shape[:-2], *(shape[-2:-1] if a.ndim > 1 else ()), *(shape[-1:] if b.ndim > 1 else ()))
    target = summing_buffer(result_shape, dtype, out)
    right = right if right.dtype == np.float16 else right.astype(dtype, copy=False)
    with np.errstate(over="ignore", invalid="ignore"):
        multiply(left.astype(dtype, copy=False), right, target.reshape(shape))
    return settle(target, a.dtype, out)


def _matrix(x: Array, transposed: bool, side: int) -> Array:
    """Return a vector as a row (side 0) or column (side 1), and a transposed matrix as a view."""
    if x.ndim == 1:
        return x[:, None] if side else x[None]
    return x.swapaxes(-1, -2) if transposed else x


@matmul_1.specialize
def _(types: NodeTypes, *, transpose_a: bool, transpose_b: bool) -> Callable[..., Array] | None:
    """Constants of another type than the sums are converted once; compiled code may use a constant `b`."""
    declared = types.outputs[0].element_type.dtype
    constants = [c if c is not None and c.ndim else None for c in types.constants]
    known = next((c for c in constants if c is not None), None)
    if declared is np.dtype(np.float32) and constants[1] is None and (known is None or known.flags.aligned):
        return _BothComputed(transpose_a, transpose_b)
    if declared is None or known is None:
        return None
    side = 0 if constants[0] is not None else 1
    dtype = sum_dtype(declared, _matrix(known, (transpose_a, transpose_b)[side], side).shape[-2 if side else -1])
    if dtype == np.float32 and side and known.ndim == 2 and known.size and not transpose_a:
        return _Product(ConstantMatrix.of(known, transpose_b), declared)
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
    """A constant matrix `[K, N]` in f32 or f16, with the forms prepared once it is used often.

    All steps that multiply by a constant share it, because a dynamic model has a plan for each shape of its inputs.
    """

    _all: ClassVar[WeakValueDictionary[tuple[int, bool], ConstantMatrix]] = WeakValueDictionary()

    def __init__(self, constant: Array, transposed: bool) -> None:
        self._constant, self._transposed = constant, transposed
        given = constant if constant.dtype == np.float16 else constant.astype(np.float32, copy=False)
        self._given = self.right = _matrix(given, transposed, 1)
        if constant.size * self._given.itemsize <= COPIED_BYTES:
            self._prepare()
        self._compiled: dict[bool, CompiledProduct] = {}
        self._calls = 0

    @classmethod
    def of(cls, constant: Array, transposed: bool) -> ConstantMatrix:
        """Return the ConstantMatrix of this constant, transposed or not."""
        known = id(constant), transposed
        if (found := cls._all.get(known)) is None:
            found = cls._all[known] = cls(constant, transposed)
        return found

    def compiled(self, a: Array) -> CompiledProduct | None:
        """Return the compiled product for `a`, if it is applicable and compiling pays."""
        depth, columns = self.right.shape
        if a.ndim < 2 or a.shape[-1] != depth or not a.size:
            return None
        rows = a.size // depth
        if (found := self._compiled.get(rows < FEW_ROWS)) is not None:
            return found
        self._calls += 1
        if pays(self._calls, a.size * columns):
            from irexec.ops.matrix.compiled import CompiledProduct

            found = self._compiled[rows < FEW_ROWS] = CompiledProduct(self._wide(self.right), rows)
            # Compiled code uses the matrix in another layout.
            self.right = self._given
            release_pages(self.right)
        elif self._calls >= MANY_CALLS and not (self.right.flags.aligned and self.right.dtype == np.float32):
            # BLAS needs the matrix aligned and in f32; a copy avoids copying blocks at each further call.
            self._prepare()
            release_pages(self._given)
        return found

    def _prepare(self) -> None:
        """Convert the matrix to the form required by BLAS."""
        self.right = np.require(self._wide(self._given), requirements="A")

    def _wide(self, matrix: Array) -> Array:
        """Return the matrix in f32."""
        return matrix if matrix.dtype == np.float32 else _matrix(widen_half(self._constant), self._transposed, 1)


class _Product:
    """Rows times one matrix, summed in f32: by NumPy, and by compiled code once compiling pays."""

    def __init__(self, matrix: ConstantMatrix, declared: np.dtype[Any]) -> None:
        self._matrix, self._declared = matrix, declared

    def __call__(self, a: Array, b: Array, /, *, out: Array | None = None) -> Array:
        compiled = self._matrix.compiled(a)
        if compiled is None:
            return self._plainly(a, out)
        target = summing_buffer((*a.shape[:-1], compiled.columns), np.dtype(np.float32), out)
        compiled(a.astype(np.float32, copy=False), target)
        captured_all()
        return settle(target, self._declared, out)

    def _plainly(self, a: Array, out: Array | None) -> Array:
        into = out if self._declared == np.float32 else None
        sums = matmul_1.kernel(a.astype(np.float32, copy=False), self._matrix.right, out=into)
        return settle(sums, self._declared, out)

    def leads(self, links: Sequence[Link], result: TensorType) -> tuple[int, Lead] | None:
        """Lead the layers that compiled code can compute with the product: irexec.ops.compute.follow."""
        after, operands = after_sums(links, result.shape.to_shape(), self._declared, "column")

        def call(a: Array, b: Array, *coming: Array, out: Array) -> bool:
            compiled = self._matrix.compiled(a)
            if compiled is None:
                self._plainly(a, out)
                return False
            arrays = all_contiguous(coming)
            compiled(a, out, after, operands.records(arrays))
            return True

        return (len(after), call) if after else None


# Larger matrices on the right are left to BLAS: laying them out for each task takes too long.
_MOST_RIGHT = 1 << 16
# For fewer rows, laying out the right matrix takes longer than the product, unless the matrix is small.
_FEW_ROWS, _SMALL_RIGHT = 4, 1 << 12


class _BothComputed:
    """Products of two f32 matrices computed at run time: by NumPy, and by compiled code once compiling pays."""

    def __init__(self, transpose_a: bool, transpose_b: bool) -> None:
        self._transposed = transpose_a, transpose_b
        self._compiled: Callable[[Array, Array, Array], None] | None = None
        self._calls = 0

    def __call__(self, a: Array, b: Array, /, *, out: Array | None = None) -> Array:
        transpose_a, transpose_b = self._transposed
        compiled = self._when_it_pays(a, b)
        if compiled is None:
            plain = matmul_1.kernel(a, b, transpose_a=transpose_a, transpose_b=transpose_b, out=out)
            return np.asarray(plain)
        left, right = _matrix(a, transpose_a, 0), _matrix(b, transpose_b, 1)
        target = summing_buffer(product_shape(left.shape, right.shape), left.dtype, out)
        compiled(left, right, target)
        captured_all()
        return settle(target, left.dtype, out)

    def _when_it_pays(self, a: Array, b: Array) -> Callable[[Array, Array, Array], None] | None:
        """Return the compiled product, if compiling pays and it is applicable to these matrices."""
        if min(a.ndim, b.ndim) < 2 or not (a.size and b.size and a.flags.aligned and b.flags.aligned):
            return None
        rows, depth = a.shape[-2:] if not self._transposed[0] else a.shape[:-3:-1]
        inner, columns = b.shape[-2:] if not self._transposed[1] else b.shape[:-3:-1]
        is_small = depth * columns <= (_MOST_RIGHT if rows >= _FEW_ROWS else _SMALL_RIGHT)
        if depth != inner or not is_small:
            return None
        if self._compiled is None:
            self._calls += 1
            if pays(self._calls, a.size * columns):
                from irexec.ops.matrix.both_computed import CompiledMatrices

                self._compiled = CompiledMatrices()
        return self._compiled


@matmul_1.work
def _(outputs: Sequence[TensorType], a: TensorType, b: TensorType, *, transpose_a: bool) -> int:
    """The number of products: K (the length of a row of `a`) for each element of the result."""
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
    message = f"b has {inner_b} rows, expected {inner_a}, as many as a has columns"
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
