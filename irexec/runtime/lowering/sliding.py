"""Depthwise convolution and MaxPool by compiled code: the taps of a window by column, and the tasks."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np

from irexec.core.threads.parallel import split
from irexec.core.types import Array
from irexec.ops.convolution.columns import Block
from irexec.ops.rules.windows import Windows
from irexec.runtime.lowering.convolver import pad_function
from irexec.runtime.lowering.follow import Operands
from irexec.runtime.lowering.llvm import compiler
from irexec.runtime.lowering.llvm.after import DEAR, After
from irexec.runtime.lowering.llvm.convolution import LINE
from irexec.runtime.lowering.llvm.host import Native
from irexec.runtime.lowering.llvm.memory import Field, Records
from irexec.runtime.lowering.llvm.sliding import LAYER, TASK, write_sliding
from irexec.runtime.lowering.tasks import tasks_for
from irexec.runtime.lowering.work import Work

# Rows of the result that are computed at once, by the number of registers; fewer if many layers follow.
MOST_ROWS = {32: 7, 16: 4}
MOST_LONG_ROWS = 3
# With more taps than this, the generated code becomes long.
MANY_TAPS = 25


class SlidingMean:
    """Compiled code for the mean of each window. `counts` are the divisors of the sums, for each pixel.

    The elements are scaled by a power of two before they are summed, so that no sum overflows.
    """

    def __init__(self, batch: int, channels: int, windows: Windows, counts: Array) -> None:
        taps, plane = prod(windows.kernel), prod(windows.counts)
        part = np.float32(0.5 ** (taps - 1).bit_length())
        self._sums = Sliding(batch, channels, np.full((channels, taps), part), windows)
        divisors = np.ascontiguousarray(np.broadcast_to(counts, windows.counts) * part, np.float32)
        self._divide = (After(np.divide, "plane"),)
        self._operands = Operands([divisors], [(1, plane, 1)])

    def tasks(self, work: Work, data: Array, out: Array) -> None:
        self._sums.tasks(work, data, out, self._divide, self._operands.records([]))


def _work(windows: Windows) -> int:
    """Return the cost of a channel in multiply-adds: its padding, and its rows in complete vectors."""
    lanes = compiler().lanes
    vectors = prod(windows.counts[:-1]) * -(-windows.counts[-1] // lanes)
    return 8 * prod(windows.extents) + vectors * lanes * (2 * prod(windows.kernel) + 16)


class Sliding:
    """Compiled code for windows over each channel of f32 data separately.

    With `weights`, it computes a depthwise convolution; without weights, the largest element of each window.
    """

    def __init__(self, batch: int, channels: int, weights: Array | None, windows: Windows) -> None:
        self.windows = windows = windows.lifted(3)
        planes, rows, width = windows.counts
        self.weights = None if weights is None else np.ascontiguousarray(weights.reshape(channels, -1))
        wanted = tasks_for(batch * channels * _work(windows))
        parts = split(channels, -(-wanted // (batch * planes)))
        self.pieces = split(rows, -(-wanted // (batch * planes * len(parts))))
        self._functions: dict[tuple[After, ...], Native] = {}
        image, plane = prod(windows.extents), prod(windows.counts)
        tasks: list[dict[str, Field]] = []
        self.scratch = 0
        for piece in self.pieces:
            # Each row of the padded input starts at the end of the previous row, including its padding.
            block = Block(windows, piece, (0, width), 1)
            columns = self._columns(block)
            self.scratch = max(self.scratch, block.channel_size + 2 * compiler().lanes)
            for z, n, (first, last) in product(range(planes), range(batch), parts):
                lines = block.lines_of(z)
                tasks.append(
                    {
                        "first": first,
                        "last": last,
                        "first_weights": 0,
                        "input": n * channels * image,
                        "result": n * channels * plane + (z * rows + piece[0]) * width,
                        "offsets": columns,
                        "lines": Records.named(LINE, lines),
                        "line_count": len(lines),
                        "rows": block.height,
                        "width": width,
                        "pitch": block.pitch,
                    }
                )
        self._records = Records.named(TASK, tasks)
        fields: dict[str, Field] = {
            "input": 0,
            "result": 0,
            "operands": 0,
            "weights": 0 if self.weights is None else self.weights,
            "pad": pad_function(0.0 if weights is not None else -np.inf).address,
            "channel_input": image,
            "channel_result": plane,
            "stride": windows.strides[2],
        }
        self.layer = Records.named(LAYER, [fields])

    def tasks(
        self, work: Work, data: Array, out: Array, after: tuple[After, ...] = (), operands: Records | int = 0
    ) -> None:
        """Slide the windows and apply the layers in `after`, given as operand records, see `llvm.epilogue`."""
        layer = self.layer.filled(work.contiguous(data), out, operands)
        work.add(self._function(after), layer, self._records, self.scratch)

    def _function(self, after: tuple[After, ...]) -> Native:
        if (found := self._functions.get(after)) is None:
            lanes = compiler().lanes
            height = self._height(any(step.formula in DEAR for step in after))
            # The width matters only for whether a row has complete vectors and whether it has a remainder.
            extent = self.windows.counts[2]
            width = 1 if extent < lanes else lanes + (extent % lanes > 0)
            arguments = height, width, tuple(self.taps), after, self.weights is None
            found = self._functions[after] = compiler().written(write_sliding, *arguments)
        return found

    def _height(self, is_long: bool) -> int:
        """Return the number of rows to compute at once, at most the rows of the smallest task."""
        most = MOST_LONG_ROWS if is_long or len(self.taps) > MANY_TAPS else MOST_ROWS[compiler().registers]
        least = min(stop - start for start, stop in self.pieces)
        longest = max(stop - start for start, stop in self.pieces)
        reach = max(shift for _, shift in self.taps)
        columns = len({column for column, _ in self.taps})

        def cycles(height: int) -> int:
            # An unaligned vector takes two reads.
            once: int = height * len(self.taps) + 2 * (height + reach) * columns
            return -(-longest // height) * once

        return min(range(min(most, least), 0, -1), key=cycles)

    def _columns(self, block: Block) -> Records:
        """Return the first input column of each column of taps, and the column and row of each of the `taps`."""
        sy, dy = self.windows.strides[1], self.windows.dilations[1]
        shifts = [y * dy // sy for _, y, _ in np.ndindex(self.windows.kernel)]
        begins = [int(place) - shift * block.pitch for place, shift in zip(block.offsets(), shifts, strict=True)]
        columns = {begin: number for number, begin in enumerate(dict.fromkeys(begins))}
        self.taps = [(columns[begin], shift) for begin, shift in zip(begins, shifts, strict=True)]
        return Records(np.array(list(columns)))
