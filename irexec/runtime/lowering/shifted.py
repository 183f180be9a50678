"""The padded input of some output pixels in which the pixels under each kernel tap are contiguous in memory.

There is a plane for each column of the kernel and each remainder of its rows under the stride: the input shifted by
that column, with the width of the output. Taps in the same column then read the same plane, a few rows apart.
"""

from __future__ import annotations

from itertools import product

from irexec.ops.convolution.columns import Phase, Range, phases
from irexec.ops.rules.windows import Windows


class Shifted:
    """The padded input of a rectangle of output pixels: complete rows, or a part of one row."""

    def __init__(self, windows: Windows, rows: Range, span: Range) -> None:
        self.windows, self.rows, self.span = windows, rows, span
        (_, ky, kx), (_, sy, sx), (_, dy, dx) = windows.kernel, windows.strides, windows.dilations
        self.height, self.width = rows[1] - rows[0], span[1] - span[0]
        self.pixels = self.height * self.width
        self.lines = self.height + (ky - 1) * dy // sy
        top, left = rows[0] * sy - windows.begins[1], span[0] * sx - windows.begins[2]
        self.phases = {p: Phase(top + p, sy, self.lines, windows.extents[1]) for p in phases(ky, dy, sy)}
        self.shifts = [Phase(left + x * dx, sx, self.width, windows.extents[2]) for x in range(kx)]
        self.plane = self.lines * self.width
        self.channel_size = windows.kernel[0] * len(self.phases) * kx * self.plane

    def offsets(self) -> list[int]:
        """Return, for each kernel tap, the offset in a channel of the pixels that it reads."""
        (kz, ky, kx), (_, sy, _), (_, dy, _) = self.windows.kernel, self.windows.strides, self.windows.dilations
        order = list(self.phases)
        return [
            ((z * len(order) + order.index(y * dy % sy)) * kx + x) * self.plane + y * dy // sy * self.width
            for z, y, x in product(range(kz), range(ky), range(kx))
        ]

    def lines_of(self, z: int) -> list[dict[str, int]]:
        """Return a channel's lines for the output plane `z`: the start of each, its pixels, and the zeros around."""
        kz, sz, dz = self.windows.kernel[0], self.windows.strides[0], self.windows.dilations[0]
        sy, (depths, height, width) = self.windows.strides[1], self.windows.extents
        found = []
        planes = product(range(kz), self.phases.values(), self.shifts)
        for number, (tap, row, shift) in enumerate(planes):
            depth = z * sz - self.windows.begins[0] + tap * dz
            for line in range(self.lines):
                meets = 0 <= depth < depths and row.first <= line < row.last and shift.first < shift.last
                before, count = (shift.first, shift.last - shift.first) if meets else (0, 0)
                source = (depth * height + row.start + (line - row.first) * sy) * width + shift.start
                found.append(
                    {
                        "target": number * self.plane + line * self.width,
                        "before": before,
                        "source": source if meets else 0,
                        "count": count,
                        "after": self.width - before - count,
                    }
                )
        return found
