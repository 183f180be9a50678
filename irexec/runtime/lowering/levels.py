"""Values on a grid packed as bytes, and pairs of bf16: the parameters of `llvm.levels`, and weights in the same
form.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from irexec.core.threads.parallel import split
from irexec.core.types import Array
from irexec.runtime.lowering.grids import LEVELS, Grid
from irexec.runtime.lowering.llvm import compiler
from irexec.runtime.lowering.llvm.arithmetic import FOLDS, Arithmetic, Source
from irexec.runtime.lowering.llvm.levels import LAYER, ROUNDER, TASK, write_levels
from irexec.runtime.lowering.llvm.memory import Records
from irexec.runtime.lowering.tasks import tasks_for
from irexec.runtime.lowering.work import Work

ELEMENT_BYTES = 4
# The cost of an element in multiply-adds.
WORK = 16
# Parts of a channel have at least this many pixels.
LEAST_PIXELS = 1 << 10


class Levels:
    """Compiled code that packs data of `groups` times `channels` channels, pixel by pixel, into 32-bit elements.

    An element contains the bytes of four channels on a grid, or, without a grid, the bf16 of two channels. The source
    is f32 or bytes; bytes have the grid of their type.
    """

    def __init__(self, grid: Grid | None, groups: int, channels: int, pixels: int, source: Source = "floats") -> None:
        kind: Arithmetic = "pairs" if grid is None else "bytes"
        packed = -(-channels // FOLDS[kind])
        self._shape = groups * packed, pixels
        numbers = numbers_of_grid(grid or Grid(np.float32(1), 0, 0))
        self._layer = Records.named(
            LAYER,
            [{"source": 0, "result": 0, "grid": numbers, "channels": channels, "packed": packed, "pixels": pixels}],
        )
        wanted = tasks_for(groups * packed * pixels * WORK)
        parts = split(groups * packed, wanted)
        pieces = split(pixels, min(-(-wanted // len(parts)), -(-pixels // LEAST_PIXELS)))
        self._tasks = Records.of([[*part, *piece] for part, piece in product(parts, pieces)])
        assert self._tasks.numbers.shape[1] == len(TASK)
        self._function = compiler().written(write_levels, kind, source)

    def of(self, work: Work, data: Array) -> Array:
        """Add the jobs that pack the data, and return the packed elements, in scratch memory."""
        out = work.scratch("levels", self._shape)
        work.add(
            self._function, self._layer.filled(data if data.itemsize == 1 else work.contiguous(data), out), self._tasks
        )
        return out


def numbers_of_grid(grid: Grid) -> Array:
    """Return the two numbers with which compiled code computes a grid's levels: 1 / step, and ROUNDER - zero."""
    return np.array([1 / float(grid.step), ROUNDER - grid.zero], np.float32)


def fits_32_bits(rows: Array, bias: Array) -> bool:
    """Return whether `bias` consists of integers, and each sum of products of a row with any levels, plus its
    bias, fits into 32 bits. `rows` are signed bytes; a factor (level + zero) is at most LEVELS.
    """
    most = np.abs(rows.astype(np.int64)).sum(1) * (2 * LEVELS) + np.abs(bias)
    return bool((bias == np.rint(bias)).all() and most.max(initial=0) < 1 << 31)


def folded(numbers: Array) -> Array:
    """Return weights `[G, O, I, *K]`, signed bytes or bf16, packed: an element has four or two input channels, padded
    with zeros.
    """
    fold = ELEMENT_BYTES // numbers.itemsize
    groups, outputs, inputs, *kernel = numbers.shape
    padded = np.zeros((groups, outputs, -(-inputs // fold) * fold, *kernel), numbers.dtype)
    padded[:, :, :inputs] = numbers
    parts = padded.reshape(groups, outputs, -1, fold, *kernel)
    return np.ascontiguousarray(np.moveaxis(parts, 3, -1)).view(np.int32)[..., 0]
