"""MatMul lowered: rows times a constant matrix, and products of two matrices computed at run time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irexec.ir.weights.file import release_pages
from irexec.lowering.capture import captured_all
from irexec.lowering.contiguous import all_contiguous
from irexec.lowering.follow import Lead, Link, after_sums
from irexec.lowering.matrices import CompiledMatrices
from irexec.lowering.products import CompiledProduct
from irexec.lowering.table import Lowered, Site, lowers
from irexec.ops.compute.half import widen_half
from irexec.ops.compute.products import settle, sum_dtype, summing_buffer
from irexec.ops.declare.prepared import Prepared
from irexec.ops.matrix.matmul import as_matrix, matmul_1
from irexec.ops.matrix.product import FEW_ROWS, product_shape
from irexec.types import Array, TensorType

F32 = np.dtype(np.float32)
# Larger matrices on the right are left to BLAS: laying them out for each task takes too long.
MOST_RIGHT = 1 << 16
# For fewer rows, laying out the right matrix takes longer than the product, unless the matrix is small.
LEAST_ROWS, SMALL_RIGHT = 4, 1 << 12


@lowers(matmul_1)
def _(site: Site, *, transpose_a: bool, transpose_b: bool) -> Lowered | None:
    declared = site.types.outputs[0].element_type.dtype
    left, right = (c if c is not None and c.ndim else None for c in site.types.constants)
    if declared == F32 and right is None and (left is None or left.flags.aligned):
        return BothComputed(site.kernel, transpose_a, transpose_b)
    if declared is None or left is not None or right is None or right.ndim != 2 or not right.size or transpose_a:
        return None
    matrix = as_matrix(right, transpose_b, 1)
    return Product(site, right, transpose_b, declared) if sum_dtype(declared, len(matrix)) == F32 else None


class Product(Lowered):
    """Rows times one constant matrix `[K, N]`, summed in f32."""

    def __init__(self, site: Site, constant: Array, transposed: bool, declared: np.dtype[Any]) -> None:
        self._kernel, self._declared, self._transposed = site.kernel, declared, transposed
        self._prepared: Prepared = site.prepared
        self._constant = constant
        self._shape = as_matrix(constant, transposed, 1).shape
        # By whether there are few rows, which need another layout.
        self._compiled: dict[bool, CompiledProduct] = {}

    def __call__(self, a: Array, b: Array, /, *, out: Array | None = None) -> Array:
        compiled = self._compiled_for(a)
        if compiled is None:
            plain: Array = self._kernel(a, b, out=out)
            return plain
        target = summing_buffer((*a.shape[:-1], compiled.columns), F32, out)
        compiled(a.astype(np.float32, copy=False), target)
        captured_all()
        return settle(target, self._declared, out)

    def leads(self, links: Sequence[Link], result: TensorType) -> tuple[int, Lead] | None:
        after, operands = after_sums(links, result.shape.to_shape(), self._declared, "column")

        def call(a: Array, b: Array, *coming: Array, out: Array) -> bool:
            compiled = self._compiled_for(a)
            if compiled is None:
                settle(self._kernel(a, b, out=out), F32, out)
                return False
            arrays = all_contiguous(coming)
            compiled(a, out, after, operands.records(arrays))
            return True

        return (len(after), call) if after else None

    def _compiled_for(self, a: Array) -> CompiledProduct | None:
        """Return the compiled product, if `a` has rows for it."""
        depth, _ = self._shape
        if a.ndim < 2 or a.shape[-1] != depth or not a.size:
            return None
        rows = a.size // depth
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

    def __init__(self, kernel: Callable[..., Array], transpose_a: bool, transpose_b: bool) -> None:
        self._kernel, self._transposed = kernel, (transpose_a, transpose_b)
        self._multiply = CompiledMatrices()

    def __call__(self, a: Array, b: Array, /, *, out: Array | None = None) -> Array:
        if not self.takes(a, b):
            return self._kernel(a, b, out=out)
        left, right = as_matrix(a, self._transposed[0], 0), as_matrix(b, self._transposed[1], 1)
        target = summing_buffer(product_shape(left.shape, right.shape), F32, out)
        self._multiply(left, right, target)
        captured_all()
        return settle(target, F32, out)

    def takes(self, a: Array, b: Array) -> bool:
        """Whether compiled code takes these matrices and is faster than BLAS."""
        if min(a.ndim, b.ndim) < 2 or not (a.size and b.size and a.flags.aligned and b.flags.aligned):
            return False
        rows, depth = a.shape[-2:] if not self._transposed[0] else a.shape[:-3:-1]
        inner, columns = b.shape[-2:] if not self._transposed[1] else b.shape[:-3:-1]
        return bool(depth == inner and depth * columns <= (MOST_RIGHT if rows >= LEAST_ROWS else SMALL_RIGHT))
