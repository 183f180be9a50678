"""MatMul lowered: rows times a constant matrix, and products of two matrices computed at run time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irexec.core.types import Array
from irexec.ir.weights.file import release_pages
from irexec.ops.compute.half import widen_half
from irexec.ops.compute.products import sum_dtype
from irexec.ops.matrix.matmul import as_matrix, matmul_1
from irexec.ops.matrix.product import FEW_ROWS, product_shape
from irexec.runtime.engine.packed.matrix import PackedMatrix
from irexec.runtime.lowering import integers
from irexec.runtime.lowering.byte_products import byte_product
from irexec.runtime.lowering.llvm.after import After
from irexec.runtime.lowering.llvm.memory import Records
from irexec.runtime.lowering.matrices import CompiledMatrices
from irexec.runtime.lowering.narrow import computes_in_f32
from irexec.runtime.lowering.packed import PackedProduct, can_multiply
from irexec.runtime.lowering.products import CompiledProduct
from irexec.runtime.lowering.table import Lowered, Site, lowers
from irexec.runtime.lowering.work import F32, Work

# Larger matrices on the right are left to BLAS: laying them out for each task takes too long.
MOST_RIGHT = 1 << 16
# For fewer rows, laying out the right matrix takes longer than the product, unless the matrix is small.
LEAST_ROWS, SMALL_RIGHT = 4, 1 << 12


@lowers(matmul_1)
def _(site: Site, *, transpose_a: bool, transpose_b: bool) -> Lowered | None:
    declared = site.types.outputs[0].element_type.dtype
    if declared in (F32, np.float64) and not transpose_a and (found := byte_product(site, transpose_b)) is not None:
        return found
    if isinstance(packed := site.types.constants[1], PackedMatrix):
        return PackedProduct(site, packed) if packed.dtype != np.float64 and can_multiply(packed) else None
    left, right = (c if c is not None and c.ndim else None for c in site.types.constants)
    if computes_in_f32(site.types.outputs[0].element_type) and right is None and (left is None or left.flags.aligned):
        return BothComputed(site, transpose_a, transpose_b)
    if declared is None:
        return None
    if left is None and right is not None and right.ndim == 2 and right.size and not transpose_a:
        matrix = as_matrix(right, transpose_b, 1)
        if sum_dtype(declared, len(matrix)) == F32 and not integers.in_bytes(declared):
            return Product(site, right, transpose_b)
    return integers.IntegerProduct(site, transpose_a, transpose_b) if integers.takes(declared) else None


class Product(Lowered):
    """Rows times one constant matrix `[K, N]`, summed in f32."""

    along = "column"

    def __init__(self, site: Site, constant: Array, transposed: bool) -> None:
        super().__init__(site)
        self._transposed, self._prepared, self._constant = transposed, site.prepared, constant
        self._shape = as_matrix(constant, transposed, 1).shape
        # The key: whether there are few rows, which need another layout.
        self._compiled: dict[bool, CompiledProduct] = {}

    def reads(self, place: int) -> bool:
        return place != 1

    def shape(self, a: Array, b: Array) -> tuple[int, ...] | None:
        depth, columns = self._shape
        return (*a.shape[:-1], columns) if a.ndim >= 2 and a.shape[-1] == depth and a.size else None

    def tasks(
        self, work: Work, inputs: Sequence[Any], out: Array, after: tuple[After, ...] = (), operands: Records | int = 0
    ) -> None:
        a, _ = inputs
        self._compiled_for(a.size // self._shape[0]).tasks(work, a, out, after, operands)

    def _compiled_for(self, rows: int) -> CompiledProduct:
        few = rows < FEW_ROWS
        if (found := self._compiled.get(few)) is None:
            form = "product", self._transposed, few
            found = self._prepared.of((self._constant,), form, lambda: CompiledProduct(self._wide(), rows))
            self._compiled[few] = found
            # Compiled code uses the matrix in another layout.
            release_pages(self._constant)
        return found

    def _wide(self) -> Array:
        """Return the matrix `[K, N]` in f32."""
        constant = self._constant
        wide = widen_half(constant) if constant.dtype == np.float16 else constant.astype(np.float32, copy=False)
        return as_matrix(wide, self._transposed, 1)


class BothComputed(Lowered):
    """Products of two f32 matrices computed at run time."""

    def __init__(self, site: Site, transpose_a: bool, transpose_b: bool) -> None:
        super().__init__(site)
        self._transposed = transpose_a, transpose_b
        self._multiply = CompiledMatrices()

    def shape(self, a: Array, b: Array) -> tuple[int, ...] | None:
        """Return the shape of the product of `a` and `b`; None if BLAS is faster for these matrices."""
        if min(a.ndim, b.ndim) < 2 or not (a.size and b.size and a.flags.aligned and b.flags.aligned):
            return None
        left, right = as_matrix(a, self._transposed[0], 0), as_matrix(b, self._transposed[1], 1)
        (rows, depth), (inner, columns) = left.shape[-2:], right.shape[-2:]
        is_taken = depth == inner and depth * columns <= (MOST_RIGHT if rows >= LEAST_ROWS else SMALL_RIGHT)
        return product_shape(left.shape, right.shape) if is_taken else None

    def tasks(self, work: Work, inputs: Sequence[Any], out: Array, *_: Any) -> None:
        a, b = inputs
        left, right = as_matrix(a, self._transposed[0], 0), as_matrix(b, self._transposed[1], 1)
        self._multiply.tasks(work, left, right, out)
