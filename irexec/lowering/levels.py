"""Values on a grid as bytes: the parameters of `irexec.lowering.llvm.levels`, and weights in the same form."""

from __future__ import annotations

from itertools import product

import numpy as np

from irexec.lowering.grids import Grid
from irexec.lowering.llvm import compiler
from irexec.lowering.llvm.levels import LAYER, ROUNDER, TASK, write_levels
from irexec.lowering.llvm.memory import Records
from irexec.lowering.tasks import tasks_for
from irexec.lowering.work import Work
from irexec.threads.parallel import split
from irexec.types import Array

# Bytes in an element.
FOLD = 4
# The cost of an element in multiply-adds.
WORK = 16
# Parts of a channel have at least this many pixels.
LEAST_PIXELS = 1 << 10


class Levels:
    """The bytes of `groups` times `channels` of f32 on a grid, each of so many pixels, four channels to an element."""

    def __init__(self, grid: Grid, groups: int, channels: int, pixels: int) -> None:
        packed = -(-channels // FOLD)
        self._shape = groups * packed, pixels
        numbers = np.array([1 / np.float64(grid.step), ROUNDER - grid.zero], np.float32)
        self._layer = Records.named(
            LAYER,
            [{"source": 0, "result": 0, "grid": numbers, "channels": channels, "packed": packed, "pixels": pixels}],
        )
        wanted = tasks_for(groups * packed * pixels * WORK)
        parts = split(groups * packed, wanted)
        pieces = split(pixels, min(-(-wanted // len(parts)), -(-pixels // LEAST_PIXELS)))
        self._tasks = Records.of([[*part, *piece] for part, piece in product(parts, pieces)])
        assert self._tasks.numbers.shape[1] == len(TASK)
        made = compiler()
        self._function = made.made("levels", 4, lambda module, name: write_levels(module, name, made.lanes))

    def of(self, work: Work, data: Array) -> Array:
        """Return the elements of the data, in scratch memory."""
        out = work.scratch("levels", self._shape)
        work.add(self._function, self._layer.filled(work.contiguous(data), out), self._tasks)
        return out


def folded(numbers: Array) -> Array:
    """Return signed bytes `[G, O, I, *K]` as elements of four input channels, with zeros after the last channel."""
    groups, outputs, inputs, *kernel = numbers.shape
    padded = np.zeros((groups, outputs, -(-inputs // FOLD) * FOLD, *kernel), np.int8)
    padded[:, :, :inputs] = numbers
    parts = padded.reshape(groups, outputs, -1, FOLD, *kernel)
    return np.ascontiguousarray(np.moveaxis(parts, 3, -1)).view(np.int32)[..., 0]
