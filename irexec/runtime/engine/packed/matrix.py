"""A matrix that is computed from packed weights, some rows at a time."""

from __future__ import annotations

import numpy as np

from irexec.core.threads.parallel import scratch
from irexec.core.types import BF16, F16, Array, ElementType
from irexec.ops.compute.elementwise import for_blocks
from irexec.runtime.engine.constants import Packed
from irexec.runtime.engine.packed.codes import INTEGERS, RANGES, Codes
from irexec.runtime.engine.packed.rounding import OF_BF16, OF_HALF, round_raised, round_to_bf16, round_to_half

# The number of elements that are computed at a time: more exceed the second-level cache, fewer take longer in Python.
_BLOCK = 1 << 17
# The size of NumPy's buffer. NumPy copies a scale or zero point to all elements of its group in the buffer, unless the
# group is longer than the buffer; the copy takes as long as a multiplication. Short groups gain from it.
_BUFFERED = 256
# Integers up to this size are exact in each float type that layers compute in.
_EXACT = 256
# Zero points up to this size are subtracted from 4-bit elements in 8 bits.
_SMALL = 64
_DROPPED = {F16: OF_HALF, BF16: OF_BF16}
F32 = np.dtype(np.float32)


class PackedMatrix(Packed):
    """A matrix whose elements are (code - zero) · scale. Each operation is rounded to `codes.arithmetic`, the result to
    `final`.

    `zero` and `scale` are f32 matrices `[rows or 1, groups or 1]`, or None without a Subtract or Multiply; each row of
    the matrix has groups of equal length. `shape` and `dtype` describe the array that the matrix replaces: it is the
    transposed matrix if `is_upright`, and it may have several axes in place of the rows or columns.
    """

    def __init__(
        self,
        codes: Codes,
        zero: Array | None,
        scale: Array | None,
        groups: int,
        final: ElementType,
        shape: tuple[int, ...],
        *,
        is_upright: bool = False,
    ) -> None:
        self.codes, self.zero, self.scale, self.groups, self.final = codes, zero, scale, groups, final
        self.is_upright, self.shape, self.ndim = is_upright, shape, len(shape)
        assert final.dtype is not None
        self.dtype = final.dtype
        self.is_zero_exact = zero is None or is_zero_exact(codes.type, zero)
        # Zero points that are subtracted before the elements are converted to f32.
        self._whole_zero = None if zero is None or not self.is_zero_exact else _whole(zero, codes.type.bitwidth)
        # For each row (or once for all rows) whether round_raised accepts its products; whether it accepts all, or any.
        self._dropped = _DROPPED.get(codes.arithmetic, OF_HALF)
        self._takes_raised = self._find_raised()
        self.takes_raised, self._takes_any = bool(self._takes_raised.all()), bool(self._takes_raised.any())

    @property
    def size(self) -> int:
        return self.codes.rows * self.codes.columns

    def copy(self) -> PackedMatrix:
        """Return the matrix itself, which is read-only."""
        return self

    def _find_raised(self) -> Array:
        """Return for each row (or once for all rows) whether round_raised accepts its products."""
        is_whole = self.codes.type in INTEGERS and self.is_zero_exact
        if self.scale is None or self.codes.arithmetic not in _DROPPED or not is_whole:
            return np.zeros(1, np.bool_)
        low, high = RANGES[self.codes.type]
        furthest = max(abs(low), abs(high)) if self.zero is None else _EXACT
        _, smallest, largest = self._dropped
        fits = (self.scale == 0) | (self.scale >= smallest) & (self.scale <= largest / furthest)
        return np.asarray(fits.all(axis=1))

    def rows(self, start: int, stop: int, out: Array) -> Array:
        """Write the rows from `start` to `stop` to `out`, in f32."""
        many = max(1, _BLOCK // max(1, self.codes.columns))

        def compute(number: int) -> None:
            first = start + number * many
            last = min(stop, first + many)
            if self.codes.columns > _BUFFERED * self.groups:
                # This applies until the end of for_blocks, which has settings of its own.
                np.setbufsize(_BUFFERED)
            self._compute(self.codes.part(first, last), slice(first, last), out[first - start : last - start])

        for_blocks(-(-(stop - start) // many), compute)
        return out

    def taken(self, numbers: Array) -> Array:
        """Return the rows with these numbers, in the declared type."""
        out = np.empty((len(numbers), self.codes.columns), np.float32)
        with np.errstate(all="ignore"):
            self._compute(self.codes.taken(numbers), numbers, out)
            return out.astype(self.dtype, copy=False)

    def all_rows(self) -> Array:
        """Return all rows in f32."""
        return self.rows(0, self.codes.rows, np.empty((self.codes.rows, self.codes.columns), np.float32))

    def unpacked(self) -> Array:
        """Return the whole matrix in the declared type."""
        with np.errstate(all="ignore"):
            found = self.all_rows().astype(self.dtype, copy=False)
            return np.ascontiguousarray(found.T) if self.is_upright else found.reshape(self.shape)

    def _compute(self, part: Array, rows: slice | Array, out: Array) -> None:
        """Write the rows with the numbers `rows`, whose codes are `part`, to `out`, in f32."""
        if not out.size:
            return
        grouped = out.reshape(len(out), self.groups, -1)
        if self._whole_zero is not None:
            part = _less(part, _of(self._whole_zero, rows))
        self.codes.widen_into(part, out)
        if self.zero is not None and self._whole_zero is None:
            np.subtract(grouped, _of(self.zero, rows), out=grouped)
            _round(out, self.codes.arithmetic)
        if self.scale is not None:
            scale = _of(self.scale, rows)
            if self.takes_raised or (self._takes_any and bool(self._takes_raised[rows].all())):
                np.multiply(grouped, scale * self._dropped.factor, out=grouped)
                round_raised(out, self._dropped)
            else:
                np.multiply(grouped, scale, out=grouped)
                _round(out, self.codes.arithmetic)
        if self.final is not self.codes.arithmetic:
            _round(out, self.final)

    def __repr__(self) -> str:
        return f"{self.dtype}{list(self.shape)} packed as {self.codes.type}"


def is_zero_exact(type: ElementType, zero: Array) -> bool:
    """Return whether a code of a type minus its zero point is an integer that every float type holds."""
    if type not in INTEGERS or not bool(np.all(zero == np.rint(zero))):
        return False
    low, high = RANGES[type]
    return bool(high - zero.min() <= _EXACT and zero.max() - low <= _EXACT)


def _round(out: Array, type: ElementType) -> None:
    """Round elements in f32 to a type, in place."""
    if type is F16:
        round_to_half(out)
    elif type is BF16:
        round_to_bf16(out)


def _less(part: Array, zeros: Array) -> Array:
    """Return elements minus the zero points of their rows and groups, as integers of the zero points' type."""
    whole = scratch("whole", part.shape, zeros.dtype)
    np.copyto(whole, part, casting="unsafe")
    in_groups = whole.reshape(len(whole), zeros.shape[1], -1)
    np.subtract(in_groups, zeros, out=in_groups)
    return whole


def _whole(zero: Array, bits: int) -> Array:
    """Return exact zero points as integers wide enough for their differences from elements of `bits` bits."""
    is_small = bits == 4 and np.abs(zero).max(initial=0) <= _SMALL
    return zero.astype(np.int8 if is_small else np.int16)


def _of(parameters: Array, rows: slice | Array) -> Array:
    """Return the scales or zero points of some rows, one for each group."""
    return (parameters if len(parameters) == 1 else parameters[rows])[:, :, None]


class Turned:
    """The transposed matrix, as a product takes it: see irexec.ops.matrix.product.Columns."""

    def __init__(self, matrix: PackedMatrix) -> None:
        self._matrix, self.shape = matrix, (matrix.codes.columns, matrix.codes.rows)

    def columns(self, start: int, stop: int) -> Array:
        rows = self._matrix.rows(start, stop, scratch("unpacked", (stop - start, self.shape[0]), F32))
        return (rows.astype(np.float64) if self._matrix.dtype == np.float64 else rows).T
