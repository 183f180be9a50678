"""MatMul of integers lowered: sums in 32 bits, of 32-bit integers or of bytes, that wrap around as the kernel's do."""

from __future__ import annotations

from typing import Any

import numpy as np

from irexec.core.types import Array
from irexec.ops.compute.products import sum_dtype
from irexec.ops.matrix.matmul import as_matrix
from irexec.ops.matrix.product import product_shape
from irexec.runtime.lowering.levels import ELEMENT_BYTES
from irexec.runtime.lowering.llvm import compiler
from irexec.runtime.lowering.matrices import CompiledMatrices
from irexec.runtime.lowering.table import Lowered, Site
from irexec.runtime.lowering.work import F32, Work

# Compiled code lays out the right matrix for each task. Larger right matrices, and fewer rows, are left to BLAS.
MOST_RIGHT, LEAST_ROWS = 1 << 20, 4
I32 = np.dtype(np.int32)


def takes(dtype: np.dtype[Any]) -> bool:
    """Return whether products of integers of this type can be computed in 32 bits."""
    return dtype.kind in "iu" and dtype.isbuiltin == 1


class IntegerProduct(Lowered):
    """Products of two integer matrices.

    Integers of up to 32 bits are computed in 32 bits, because the low bits of a sum do not depend on higher bits. The
    lowest byte of a sum does not depend on whether bytes are signed. 64-bit integers are supported if their values
    show that no sum exceeds 32 bits.
    """

    def __init__(self, site: Site, transpose_a: bool, transpose_b: bool) -> None:
        super().__init__(site)
        self._transposed = transpose_a, transpose_b
        self._multiply, self._bytes = CompiledMatrices("numbers"), CompiledMatrices("whole_bytes")

    def shape(self, a: Array, b: Array) -> tuple[int, ...] | None:
        if min(a.ndim, b.ndim) < 2 or not (a.size and b.size):
            return None
        left, right = as_matrix(a, self._transposed[0], 0), as_matrix(b, self._transposed[1], 1)
        (rows, depth), (inner, columns) = left.shape[-2:], right.shape[-2:]
        is_taken = depth == inner and depth * columns <= MOST_RIGHT and rows >= LEAST_ROWS
        # Where products in f32 are exact, BLAS is faster.
        is_taken = is_taken and (in_bytes(a.dtype) or sum_dtype(a.dtype, depth) != F32)
        return product_shape(left.shape, right.shape) if is_taken else None

    def __call__(self, *inputs: Any, out: Array | None = None) -> Any:
        a, b = inputs
        shape = self.shape(a, b)
        if shape is None or (a.dtype.itemsize > I32.itemsize and not _have_31_bits(a, b, self._transposed[0])):
            return self.kernel(a, b, out=out)
        is_direct = out is not None and out.dtype.itemsize == I32.itemsize and out.flags.c_contiguous
        target = out if out is not None and is_direct else np.empty(shape, I32)
        work = Work()
        if in_bytes(a.dtype):
            left, right = as_matrix(a, self._transposed[0], 0), as_matrix(b, self._transposed[1], 1)
            self._bytes.tasks(
                work, _elements(left.swapaxes(-1, -2)).swapaxes(-1, -2), _elements(right), target.view(F32)
            )
        else:
            left, right = (
                as_matrix(np.require(array.astype(I32, copy=False), requirements="A"), self._transposed[side], side)
                for side, array in enumerate((a, b))
            )
            self._multiply.tasks(work, left.view(F32), right.view(F32), target.view(F32))
        work.run()
        if is_direct:
            return target
        if out is None:
            return target.view(a.dtype) if a.dtype.itemsize == I32.itemsize else target.astype(a.dtype)
        np.copyto(out, target, casting="unsafe")
        return out


def in_bytes(dtype: np.dtype[Any]) -> bool:
    """Return whether products of integers of this type are computed in bytes."""
    return dtype.itemsize == 1 and dtype.kind in "iu" and compiler().has_bytes


def _elements(matrix: Array) -> Array:
    """Return bytes `[..., K, N]` as elements `[..., K / 4, N]` of four bytes each, with zeros after the last row."""
    *lead, depth, columns = matrix.shape
    if depth % ELEMENT_BYTES:
        padded = np.zeros((*lead, -(-depth // ELEMENT_BYTES) * ELEMENT_BYTES, columns), matrix.dtype)
        padded[..., :depth, :] = matrix
        matrix = padded
    if matrix.strides[-2] == 1:
        turned: Array = np.ascontiguousarray(matrix.swapaxes(-1, -2)).view(F32)
        return turned.swapaxes(-1, -2)
    parts = matrix.view(np.uint8).reshape(*lead, -1, ELEMENT_BYTES, columns)
    elements = parts[..., 0, :].astype(np.uint32)
    for place in range(1, ELEMENT_BYTES):
        elements |= parts[..., place, :].astype(np.uint32) << np.uint32(8 * place)
    return elements.view(F32)


def _have_31_bits(a: Array, b: Array, transposed: bool) -> bool:
    """Return whether all sums of products have at most 31 bits."""
    depth = a.shape[-2] if transposed else a.shape[-1]
    largest = [max(int(array.max()), -int(array.min())) for array in (a, b)]
    return bool(depth * largest[0] * largest[1] < 1 << 31) and max(largest) < 1 << 31
