"""A matrix that is computed from packed weights, some rows at a time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from irexec.engine.constants import Packed
from irexec.engine.packed.codes import INTEGERS, RANGES, Codes
from irexec.ops.compute.elementwise import for_blocks
from irexec.ops.compute.rounding import NORMAL_HALVES, round_to_bf16, round_to_half, round_to_normal_half
from irexec.threads.parallel import scratch
from irexec.types import BF16, F16, Array, ElementType

# The elements that are computed at a time, which stay in the second-level cache.
_BLOCK = 1 << 17
# Whole numbers up to this size are exact in each float type that layers compute in.
_EXACT = 256
F32 = np.dtype(np.float32)


class PackedMatrix(Packed):
    """A matrix whose elements are (code - zero) · scale. Each step is rounded to `codes.arithmetic`, the last one to
    `final`.

    `zero` and `scale` are f32 matrices `[rows or 1, groups or 1]`, or None where there is no such layer; each row of
    the matrix has groups of equal length. `shape` and `dtype` are those of the array that the matrix stands for.
    """

    ndim = 2

    def __init__(self, codes: Codes, zero: Array | None, scale: Array | None, groups: int, final: ElementType) -> None:
        self.codes, self.zero, self.scale, self.groups, self.final = codes, zero, scale, groups, final
        self.shape = codes.rows, codes.columns
        assert final.dtype is not None
        self.dtype = final.dtype
        self.is_zero_exact = zero is None or self._is_exact(zero)
        self._has_normal_halves = self._find_normal_halves()

    @property
    def size(self) -> int:
        return self.codes.rows * self.codes.columns

    def copy(self) -> PackedMatrix:
        """Return the matrix itself, which is read-only."""
        return self

    def _is_exact(self, zero: Array) -> bool:
        """Whether a code minus its zero point is a whole number that every float type holds."""
        if self.codes.type not in INTEGERS or not bool(np.all(zero == np.rint(zero))):
            return False
        low, high = RANGES[self.codes.type]
        return bool(high - zero.min() <= _EXACT and zero.max() - low <= _EXACT)

    def _find_normal_halves(self) -> Array | None:
        """Return for each row (or once for all rows) whether its products are 0 or normal numbers of f16."""
        if self.scale is None or self.codes.type not in INTEGERS or not self.is_zero_exact:
            return None
        low, high = RANGES[self.codes.type]
        furthest = max(abs(low), abs(high)) if self.zero is None else _EXACT
        smallest, largest = NORMAL_HALVES
        fits = (self.scale == 0) | (self.scale >= smallest) & (self.scale * np.float32(furthest) <= largest)
        return np.asarray(fits.all(axis=1))

    def rows(self, start: int, stop: int, out: Array) -> Array:
        """Write some rows in f32."""
        many = max(1, _BLOCK // max(1, self.codes.columns))

        def compute(number: int) -> None:
            first = start + number * many
            last = min(stop, first + many)
            self._compute(self.codes.part(first, last), slice(first, last), out[first - start : last - start])

        for_blocks(-(-(stop - start) // many), compute)
        return out

    def taken(self, numbers: Array) -> Array:
        """Return the rows with these numbers, in the declared type."""
        out = np.empty((len(numbers), self.codes.columns), np.float32)
        with np.errstate(all="ignore"):
            self._compute(self.codes.taken(numbers), numbers, out)
            return out.astype(self.dtype, copy=False)

    def unpacked(self) -> Array:
        """Return the whole matrix in the declared type."""
        with np.errstate(all="ignore"):
            return self.rows(0, self.codes.rows, np.empty(self.shape, np.float32)).astype(self.dtype, copy=False)

    def _compute(self, part: Array, rows: slice | Array, out: Array) -> None:
        """Write the rows whose codes are `part` and whose numbers are `rows`."""
        if not out.size:
            return
        self.codes.widen_into(part, out)
        grouped = out.reshape(len(out), self.groups, -1)
        if self.zero is not None:
            np.subtract(grouped, _of(self.zero, rows), out=grouped)
            if not self.is_zero_exact:
                self._round(out, self.codes.arithmetic, rows)
        if self.scale is not None:
            np.multiply(grouped, _of(self.scale, rows), out=grouped)
            self._round(out, self.codes.arithmetic, rows, is_product=True)
        if self.final is not self.codes.arithmetic:
            self._round(out, self.final, rows, is_product=self.scale is not None)

    def _round(self, out: Array, type: ElementType, rows: slice | Array, *, is_product: bool = False) -> None:
        """Round elements in f32 to a type, in place."""
        round: Callable[[Array], None] | None = None
        if type is F16:
            normal = self._has_normal_halves if is_product else None
            is_normal = normal is not None and bool((normal if len(normal) == 1 else normal[rows]).all())
            round = round_to_normal_half if is_normal else round_to_half
        elif type is BF16:
            round = round_to_bf16
        if round is not None:
            round(out)

    def __repr__(self) -> str:
        return f"{self.dtype}{list(self.shape)} packed as {self.codes.type}"


def _of(parameters: Array, rows: slice | Array) -> Array:
    """Return the parameters of some rows, one for each group."""
    return (parameters if len(parameters) == 1 else parameters[rows])[:, :, None]


class Turned:
    """The transposed matrix, as a product takes it: see irexec.ops.matrix.product.Columns."""

    def __init__(self, matrix: PackedMatrix) -> None:
        self._matrix, self.shape = matrix, (matrix.codes.columns, matrix.codes.rows)

    def columns(self, start: int, stop: int) -> Array:
        return self._matrix.rows(start, stop, scratch("unpacked", (stop - start, self.shape[0]), F32)).T
