"""The columns of a convolution: for a block of output pixels, the input pixels under each kernel tap."""

from __future__ import annotations

from itertools import product
from math import gcd
from typing import Any

import numpy as np

from irexec.core.threads.parallel import scratch
from irexec.core.types import Array
from irexec.ops.rules.windows import Windows

Range = tuple[int, int]


# Starting the copy of a row of columns costs about as much as 32 multiply-adds.
WORTH_GAPS = 32


class Block:
    """A rectangle of output pixels, represented by `pixels` columns.

    Input rows and columns are sorted by phase (their remainder modulo the stride), so that each tap reads neighbours.
    The padding at the end of an input row is also the padding at the start of the next row. With few `outputs` per
    group, every row of output pixels except the last is followed by a gap that makes it as long (`pitch`) as an input
    row: the pixels under one kernel tap are then contiguous in memory and copied at once. The results for the gaps are
    discarded.
    """

    def __init__(self, windows: Windows, rows: Range, span: Range, outputs: int) -> None:
        self.windows, self.rows, self.span = windows, rows, span
        (_, ky, kx), (_, sy, sx), (_, dy, dx) = windows.kernel, windows.strides, windows.dilations
        self.height, self.width = rows[1] - rows[0], span[1] - span[0]
        top, left = rows[0] * sy - windows.begins[1], span[0] * sx - windows.begins[2]
        self.lines = self.height + (ky - 1) * dy // sy
        longest = self.width + (kx - 1) * dx // sx
        self.row_phases = {p: Phase(top + p, sy, self.lines, windows.extents[1]) for p in phases(ky, dy, sy)}
        self.column_phases = {p: Phase(left + p, sx, longest, windows.extents[2]) for p in phases(kx, dx, sx)}
        paddings = [min(p.first, longest - p.last) for p in self.column_phases.values()]
        self.shared = min(*paddings, longest - self.width)
        self.pitch = longest - self.shared
        self.gap = self.pitch - self.width if outputs * (self.pitch - self.width) <= WORTH_GAPS else 0
        self.pixels = (self.height - 1) * (self.width + self.gap) + self.width
        # The pixels under one tap: one run of memory in total, or one run per row.
        self.runs = (1, self.pixels) if self.width + self.gap == self.pitch else (self.height, self.width)

    def columns(self, image: Array, z: int, dtype: np.dtype[Any], out: Array | None = None) -> Array:
        """Return `[channels, taps, pixels]` of `image` `[channels, Z, Y, X]` for output plane `z`, in `out` if any."""
        w = self.windows
        (kz, ky, kx), (_, sy, sx), (_, dy, dx) = w.kernel, w.strides, w.dilations
        padded = self._padded(image, z, dtype)
        if out is None:
            if kz * ky * kx == 1 and self.runs[0] == 1:
                return padded[:, 0, 0, :, : self.pixels]
            out = scratch("columns", (len(image), kz * ky * kx, self.pixels), dtype)
        taps = out.reshape(len(image), kz, ky, kx, *self.runs)
        channel, plane, row_phase, column_phase, item = padded.strides
        # The phases repeat after this many taps.
        every_y, every_x = sy // gcd(sy, dy), sx // gcd(sx, dx)
        for y, x in product(range(min(every_y, ky)), range(min(every_x, kx))):
            target = taps[:, :, y::every_y, x::every_x]
            phase = list(self.row_phases).index(y * dy % sy) * row_phase
            phase += list(self.column_phases).index(x * dx % sx) * column_phase
            start = phase + (y * dy // sy * self.pitch + x * dx // sx) * item
            down, right = every_y * dy // sy * self.pitch * item, every_x * dx // sx * item
            strides = (channel, plane, down, right, self.pitch * item, item)
            source = np.ndarray(target.shape, dtype, padded, start, strides)
            np.copyto(target, source)
        return out

    def _padded(self, image: Array, z: int, dtype: np.dtype[Any]) -> Array:
        """Return the padded input of the block: `[channels, kz, row phase, column phase, lines * pitch + shared]`."""
        kz, sz, dz = self.windows.kernel[0], self.windows.strides[0], self.windows.dilations[0]
        sy, sx = self.windows.strides[1:]
        phases = len(self.row_phases), len(self.column_phases)
        size = self.lines * self.pitch
        padded = scratch("padded", (len(image), kz, *phases, size + self.shared), dtype)
        # Zeroing everything in one call is faster than one call for each edge.
        padded[...] = 0
        lines = padded[..., :size].reshape(*padded.shape[:-1], self.lines, self.pitch)
        for tap in range(kz):
            depth = z * sz - self.windows.begins[0] + tap * dz
            if not 0 <= depth < self.windows.extents[0]:
                continue
            plane = image[:, depth]
            for (i, row), (j, column) in product(
                enumerate(self.row_phases.values()), enumerate(self.column_phases.values())
            ):
                target = lines[:, tap, i, j, row.first : row.last, column.first : column.last]
                np.copyto(target, plane[:, row.start : row.stop : sy, column.start : column.stop : sx])
        return padded

    # The same padded input, as offsets for compiled code.

    @property
    def channel_size(self) -> int:
        """The number of elements of one channel of the padded input."""
        return self.windows.kernel[0] * len(self.row_phases) * len(self.column_phases) * self._run

    @property
    def _run(self) -> int:
        return self.lines * self.pitch + self.shared

    def offsets(self) -> Array:
        """Return `[taps]`: the offset of the pixels under each tap in a channel of the padded input."""
        (kz, ky, kx), (_, sy, sx), (_, dy, dx) = self.windows.kernel, self.windows.strides, self.windows.dilations
        rows, columns = list(self.row_phases), list(self.column_phases)
        places = []
        for z, y, x in product(range(kz), range(ky), range(kx)):
            phase = (z * len(rows) + rows.index(y * dy % sy)) * len(columns) + columns.index(x * dx % sx)
            places.append(phase * self._run + y * dy // sy * self.pitch + x * dx // sx)
        return np.array(places)

    def lines_of(self, z: int) -> list[dict[str, int]]:
        """Return, for each line of a channel of the padded input, its start, its pixels and the zeros around them."""
        kz, sz, dz = self.windows.kernel[0], self.windows.strides[0], self.windows.dilations[0]
        _, sy, _ = self.windows.strides
        depths, height, width = self.windows.extents
        found = []
        phases = product(range(kz), self.row_phases.values(), self.column_phases.values())
        for number, (tap, row, column) in enumerate(phases):
            depth = z * sz - self.windows.begins[0] + tap * dz
            for line in range(self.lines):
                meets = 0 <= depth < depths and row.first <= line < row.last and column.first < column.last
                before, count = (column.first, column.last - column.first) if meets else (0, 0)
                source = (depth * height + row.start + (line - row.first) * sy) * width + column.start
                length = self.pitch + (self.shared if line == self.lines - 1 else 0)
                target = number * self._run + line * self.pitch
                found.append(
                    {
                        "target": target,
                        "before": before,
                        "source": source if meets else 0,
                        "count": count,
                        "after": length - before - count,
                    }
                )
        return found

    def multiply(self, matrix: Array, columns: Array, out: Array) -> None:
        """Multiply `matrix` `[G, O, taps]` by the columns `[G, taps, pixels]` into `out` `[G, O, height, width]`."""
        if not self.gap and out.strides[2] == self.width * out.itemsize:
            np.matmul(matrix, columns, out=out.reshape(*out.shape[:2], self.pixels))
            return
        rows = scratch("rows", (*out.shape[:3], self.width + self.gap), columns.dtype)
        np.matmul(matrix, columns, out=rows.reshape(*out.shape[:2], -1)[..., : self.pixels])
        np.copyto(out, rows[..., : self.width])


class Phase:
    """`count` positions from `origin` in steps of `stride`, of which those numbered [first, last) lie in [0, extent).

    The positions in [0, extent) are range(start, stop, stride).
    """

    def __init__(self, origin: int, stride: int, count: int, extent: int) -> None:
        self.first = min(count, max(0, -(origin // stride)))
        self.last = max(self.first, min(count, -(-(extent - origin) // stride)))
        self.start = origin + self.first * stride
        self.stop = origin + (self.last - 1) * stride + 1


def phases(kernel: int, dilation: int, stride: int) -> list[int]:
    """Return the phases of the kernel's taps: their positions modulo the stride."""
    return sorted({tap * dilation % stride for tap in range(kernel)})
