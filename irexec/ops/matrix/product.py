"""The product of stacks of matrices, divided among the threads."""

from __future__ import annotations

from math import prod
from typing import Any, Protocol

import numpy as np

from irexec.core.threads.parallel import parallel_for, parts_along, parts_for, scratch, split
from irexec.core.types import Array, common_shape
from irexec.ops.compute.half import widen_half_into

# Below this many multiply-adds BLAS uses one thread anyway.
SMALL = 1 << 18
# For fewer rows, the panels of compiled code are as wide as the widest tile of one row.
FEW_ROWS = 4
# A stack of matrices is divided into this many times as many parts as a single matrix.
MATRIX_PARTS = 4
# The bytes of an unaligned matrix that are copied at a time: they stay in the caches until they are multiplied.
COPIED_BYTES = 1 << 21
# NumPy multiplies integers element by element. From this many multiply-adds on, exact products of floats are faster.
LEAST_INTEGER_WORK = 1 << 13
# f64 represents all integers up to this number exactly.
EXACT = 1 << 53
# The bits in each part of an integer. Sums of up to 2²¹ products of two such parts are exact in f64.
LIMB_BITS = 16
# Products with at most TURNED_ROWS rows, each at least TURNED_DEPTH times as long as there are rows, are computed
# transposed, TURNED_COLUMNS columns at a time.
TURNED_ROWS, TURNED_DEPTH, TURNED_COLUMNS = 128, 8, 512


class Columns(Protocol):
    """A matrix `[K, N]` in f32 whose columns are computed when they are multiplied; they are contiguous in memory."""

    @property
    def shape(self) -> tuple[int, int]: ...

    def columns(self, start: int, stop: int) -> Array:
        """Return the columns [start, stop), in memory that the next call in this thread may reuse."""


def multiply_by_columns(a: Array, b: Columns, out: Array) -> None:
    """Multiply like `multiply`, with bit-identical results.

    All columns are in memory at the same time only if `a` has at least as many rows, or if the product is small.
    """
    depth, columns = b.shape
    if a.ndim > 2 and a.flags.c_contiguous and out.flags.c_contiguous:
        count = prod(a.shape[:-1])
        a, out = a.reshape(count, depth), out.reshape(count, columns)
    if a.ndim == 2 and len(a) < columns and out.size * depth > SMALL:
        _by_columns(a, b, out)
    else:
        multiply(a, b.columns(0, columns), out)


def multiply(a: Array, b: Array, out: Array) -> Array:
    """Multiply `a` `[..., M, K]` by `b` `[..., K, N]` into `out` `[..., M, N]`; leading axes broadcast.

    All arrays have the same dtype, except that `b` may be f16 if the others are f32.
    """
    if b.ndim == 2 and a.ndim > 2 and a.flags.c_contiguous and out.flags.c_contiguous:
        count = prod(a.shape[:-1])
        multiply(a.reshape(count, a.shape[-1]), b, out.reshape(count, out.shape[-1]))
        return out
    batch = out.shape[:-2]
    rows, inner, columns = a.shape[-2], a.shape[-1], b.shape[-1]
    if out.dtype.kind in "iu" and out.size * inner >= LEAST_INTEGER_WORK and inner << 2 * LIMB_BITS <= EXACT:
        return _multiply_integers(a, b, out)
    # The parts and their order do not depend on the memory layout of `b`, so that a copy of `b` gives identical bits.
    if a.ndim == b.ndim == 2 and rows < columns and out.size * inner > SMALL:
        return _by_columns(a, b, out)
    if not _is_ready(b, out.dtype):
        b = _copied(b, out.dtype)
    if out.size * inner <= SMALL:
        np.matmul(a, b, out=out)
        return out
    parts = parts_for(out.size * inner)
    axis = max(range(len(batch)), key=batch.__getitem__, default=-1)
    if axis >= 0 and batch[axis] >= parts:
        from_end = axis - len(batch) - 2
        # Dividing between matrices has no cost.
        pieces = split(batch[axis], 1 if parts == 1 else MATRIX_PARTS * parts)
        parallel_for(
            len(pieces),
            lambda i: np.matmul(
                _part(a, from_end, pieces[i]), _part(b, from_end, pieces[i]), out=_part(out, from_end, pieces[i])
            ),
        )
    elif rows >= columns:
        pieces = split(rows, parts_along(rows, parts), 8)
        parallel_for(len(pieces), lambda i: np.matmul(_part(a, -2, pieces[i]), b, out=_part(out, -2, pieces[i])))
    else:
        pieces = split(columns, parts_along(columns, parts), 16)
        parallel_for(len(pieces), lambda i: np.matmul(a, _part(b, -1, pieces[i]), out=_part(out, -1, pieces[i])))
    return out


def _multiply_integers(a: Array, b: Array, out: Array) -> Array:
    """Multiply integers by exact products in f64; the results wrap."""
    if a.shape[-1] * _largest(a) * _largest(b) <= EXACT:
        sums = np.empty(out.shape)
        multiply(a.astype(np.float64), b.astype(np.float64), sums)
        np.copyto(out, sums.astype(np.int64), casting="unsafe")
        return out
    total = np.zeros(out.shape, np.uint64)
    left, right = _limbs(a), _limbs(b)
    for place, x in enumerate(left):
        for other, y in enumerate(right[: len(right) - place]):
            sums = np.empty(out.shape)
            multiply(x, y, sums)
            total += sums.astype(np.uint64) << np.uint64(LIMB_BITS * (place + other))
    np.copyto(out, total, casting="unsafe")
    return out


def _largest(integers: Array) -> int:
    """Return the largest magnitude in a non-empty array of integers."""
    return max(int(integers.max()), -int(integers.min()))


def _limbs(integers: Array) -> list[Array]:
    """Return integers, modulo 2 to the power of their bits, as f64 parts of LIMB_BITS bits, the lowest part first."""
    count = max(1, integers.dtype.itemsize * 8 // LIMB_BITS)
    numbers = integers.astype(np.uint64)
    mask = np.uint64((1 << LIMB_BITS) - 1)
    return [(numbers >> np.uint64(LIMB_BITS * place) & mask).astype(np.float64) for place in range(count)]


def _by_columns(a: Array, b: Array | Columns, out: Array) -> Array:
    """Multiply two matrices by ranges of the columns of `b`.

    If `b` is not aligned or is f16, it is copied range by range, because a full copy would need new memory. If
    `b` is transposed in memory and there are few rows, `bᵀ aᵀ` is computed and transposed: BLAS then lays out each part
    of `b` just before multiplying by it.
    """
    (rows, depth), columns = a.shape, b.shape[1]
    is_turned = not isinstance(b, np.ndarray) or _lies_turned(b)
    turns = is_turned and 1 < rows <= min(TURNED_ROWS, depth // TURNED_DEPTH) and out.dtype.kind == "f"
    most = max(1, COPIED_BYTES // (depth * out.itemsize))
    most = min(most, TURNED_COLUMNS) if turns else most
    parts = parts_along(columns, parts_for(out.size * depth))
    pieces = split(columns, parts * -(-columns // (parts * most)), 16)
    groups = split(len(pieces), 1 if parts == 1 else len(pieces))

    def multiply_group(number: int) -> None:
        for piece in pieces[slice(*groups[number])]:
            part, target = _columns(b, piece, out.dtype), out[:, slice(*piece)]
            if turns:
                sums = scratch("turned sums", target.T.shape, out.dtype)
                np.matmul(part.T, a.T, out=sums)
                np.copyto(target, sums.T)
            else:
                np.matmul(a, part, out=target)

    parallel_for(len(groups), multiply_group)
    return out


def _columns(b: Array | Columns, piece: tuple[int, int], dtype: np.dtype[Any]) -> Array:
    """Return a range of columns in the form that BLAS takes."""
    if not isinstance(b, np.ndarray):
        return b.columns(*piece)
    part = b[:, slice(*piece)]
    return part if _is_ready(b, dtype) else _copied(part, dtype)


def _is_ready(b: Array, dtype: np.dtype[Any]) -> bool:
    """Return whether BLAS can multiply by `b` without a copy."""
    return b.flags.aligned and b.dtype == dtype


def _lies_turned(b: Array) -> bool:
    return b.ndim == 2 and abs(b.strides[0]) < abs(b.strides[1])


def _copied(b: Array, dtype: np.dtype[Any]) -> Array:
    """Return an aligned copy of this dtype, in the same memory order, for use until the next call."""
    copy = scratch("aligned", b.T.shape, dtype).T if _lies_turned(b) else scratch("aligned", b.shape, dtype)
    if b.dtype == dtype:
        np.copyto(copy, b)
    else:
        widen_half_into(b, copy)
    return copy


def _part(array: Array, axis: int, span: tuple[int, int]) -> Array:
    """Return a range along an axis counted from the end; the whole array if the axis broadcasts."""
    if array.ndim < -axis or (axis < -2 and array.shape[axis] == 1):
        return array
    place: Any = (..., slice(*span), *[slice(None)] * (-axis - 1))
    part: Array = array[place]
    return part


def product_shape(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of a product of stacks of matrices."""
    batch = common_shape(a[:-2], b[:-2])
    assert batch is not None
    return (*batch, a[-2], b[-1])
