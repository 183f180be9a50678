"""The elements of a packed matrix as stored in the file, and their conversion to f32."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from irexec.core.threads.parallel import parallel_for
from irexec.core.types import BF16, F8E4M3, F8E5M2, F16, F32, I4, I8, NF4, U4, U8, Array, ElementType, Stored
from irexec.ir.weights.file import release_pages
from irexec.ir.weights.packing import pack, sign_extended, to_codes, unpack
from irexec.model.graph.model import Node
from irexec.ops.compute.casting import cast
from irexec.ops.compute.half import widen_half_into

INTEGERS = frozenset({I4, U4, I8, U8})
# Types whose values are looked up in a table.
TABLED = frozenset({NF4, F8E4M3, F8E5M2})
TYPES = INTEGERS | TABLED | {F16, BF16}
# The number of columns that are transposed at a time: a cache line of bytes.
_STRIP = 64
RANGES = {I4: (-8, 7), U4: (0, 15), I8: (-128, 127), U8: (0, 255)}


class Codes:
    """A matrix of `rows` by `columns` elements of a type, row by row in `data`, its bytes.

    `arithmetic` is the element type of the first layer that computes with the elements.
    """

    def __init__(self, data: Array, type: ElementType, arithmetic: ElementType, shape: tuple[int, int]) -> None:
        self.data, self.type, self.arithmetic = data, type, arithmetic
        self.rows, self.columns = shape
        # The values in f32 by the bits of an element, for the types in `TABLED`.
        self.table = _table(type, arithmetic) if type in TABLED else None

    @classmethod
    def of(cls, node: Node, arithmetic: ElementType, shape: tuple[int, int]) -> Codes | None:
        """Return the elements of a constant; None if its type is not one of `TYPES`, or its conversion rounds."""
        held, type = node.held, node.outputs[0].type.element_type
        if type not in TYPES or held is None or sys.byteorder != "little":
            return None
        if type in (F16, BF16) and arithmetic is not F32:
            return None
        if isinstance(held, Stored):
            data = np.frombuffer(held.raw, np.uint8)
        elif type.is_packed:
            data = pack(to_codes(held, type), type)
        else:
            data = np.ascontiguousarray(held).reshape(-1).view(np.uint8)
        return cls(data, type, arithmetic, shape)

    def turned(self) -> Codes | None:
        """Return the transposed matrix, in separate memory; None if rows have an odd number of 4-bit elements."""
        is_half = self.type.bitwidth == 4
        if is_half and (self.rows % 2 or self.columns % 2):
            return None
        size = 1 if is_half else self.type.size
        kind, pairs = f"<u{size}", 2 if is_half else 1
        source = self.data[: self.rows * self.columns // pairs * size].view(kind).reshape(self.rows, -1)
        data = np.empty((self.columns, self.rows // pairs), kind)

        def turn(number: int) -> None:
            first = number * _STRIP
            last = min(self.columns, first + _STRIP)
            strip = np.ascontiguousarray(source[:, first // pairs : last // pairs])
            if not is_half:
                data[first:last] = strip.T
                return
            codes = unpack(strip.reshape(-1), self.type, self.rows * (last - first)).reshape(self.rows, -1)
            packed = pack(np.ascontiguousarray(codes.T).reshape(-1), self.type)
            data[first:last] = packed.reshape(last - first, -1)

        parallel_for(-(-self.columns // _STRIP), turn)
        release_pages(self.data)
        return Codes(data.reshape(-1).view(np.uint8), self.type, self.arithmetic, (self.columns, self.rows))

    def part(self, start: int, stop: int) -> Array:
        """Return the rows from `start` to `stop`, as integers or f16; bf16 is returned as its bits."""
        first, last = start * self.columns, stop * self.columns
        if self.type.bitwidth == 4:
            begin = first & ~1
            found = unpack(self.data[begin // 2 : (last + 1) // 2], self.type, last - begin)[first - begin :]
            found = sign_extended(found, self.type)
        else:
            size = self.type.size
            found = self.data[first * size : last * size].view(_DTYPES.get(self.type, np.dtype(np.uint8)))
        return found.reshape(stop - start, self.columns)

    def taken(self, rows: Array) -> Array:
        """Return the rows with these numbers, in the form of `part`."""
        bits = self.columns * self.type.bitwidth
        if bits % 8:
            parts = [self.part(row, row + 1) for row in rows.tolist()]
            return np.concatenate(parts) if parts else self.part(0, 0)
        data = self.data.reshape(self.rows, bits // 8)[rows].reshape(-1)
        return Codes(data, self.type, self.arithmetic, (len(rows), self.columns)).part(0, len(rows))

    def widen_into(self, part: Array, out: Array) -> None:
        """Write to `out` the f32 values of elements in the form that `part` returns."""
        if self.table is not None:
            np.take(self.table, part, out=out, mode="clip")
        elif self.type is F16:
            widen_half_into(part, out)
        elif self.type is BF16:
            bits = out.view(np.uint32)
            np.copyto(bits, part)
            bits <<= 16
        else:
            np.copyto(out, part)


def _table(type: ElementType, arithmetic: ElementType) -> Array:
    bits: Array = np.arange(1 << type.bitwidth, dtype=np.uint8)
    if type is not NF4:
        assert type.dtype is not None
        bits = bits.view(type.dtype)
    return cast(bits, type, arithmetic).astype(np.float32)


_DTYPES: dict[ElementType, np.dtype[Any]] = {
    I8: np.dtype(np.int8),
    F16: np.dtype(np.float16),
    BF16: np.dtype(np.uint16),
}
