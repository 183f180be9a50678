"""Products of two matrices computed at run time, by compiled code: their memory layout and the division into tasks."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from irexec.core.threads.parallel import parts_along, split
from irexec.core.types import Array
from irexec.runtime.lowering.contiguous import starts_along
from irexec.runtime.lowering.llvm import compiler
from irexec.runtime.lowering.llvm.matrices import LAYER, PLACE, write_matrices
from irexec.runtime.lowering.llvm.memory import Records
from irexec.runtime.lowering.recent import Recent
from irexec.runtime.lowering.tasks import TASKS, Arranged, pieces_of, tasks_for
from irexec.runtime.lowering.work import Work

if TYPE_CHECKING:
    from irexec.runtime.lowering.llvm.arithmetic import Arithmetic

# The number of vectors in a panel of the right matrix.
VECTORS = 2
# Laying out the right matrix costs as much as some rows; with more than two tasks per matrix, each task has at least
# this many rows.
LEAST_ROWS = 256
F32_BYTES = 4


class CompiledMatrices:
    """Products of matrices `[..., M, K]` and `[..., K, N]` of f32, or of other 32-bit elements in f32 arrays.

    The matrices are not empty, and their leading axes broadcast.
    """

    def __init__(self, kind: Arithmetic = "floats") -> None:
        self._kind: Arithmetic = kind
        self._arranged = Recent[tuple[object, ...], Arranged]()

    def tasks(self, work: Work, left: Array, right: Array, out: Array) -> None:
        """Multiply into `out` `[..., M, N]`, which is contiguous."""
        left = work.by_rows(left, "left")
        known = left.shape, left.strides, right.shape, right.strides
        made = self._arranged.of(known, lambda: _arrange(left, right, out.shape[:-2], self._kind))
        work.arranged(made, left, right, out)


def _arrange(left: Array, right: Array, batch: tuple[int, ...], kind: Arithmetic) -> Arranged:
    made = compiler()
    (rows, depth), columns = left.shape[-2:], right.shape[-1]
    height, across = made.height(rows, VECTORS), VECTORS * made.lanes
    starts = [starts_of(left, batch), starts_of(right, batch), np.arange(prod(batch)) * (rows * columns)]
    places = Records(np.stack(starts, axis=1))
    assert places.numbers.shape[1] == len(PLACE)
    strides = [left.strides[-2] // F32_BYTES, right.strides[-2] // F32_BYTES, right.strides[-1] // F32_BYTES]
    zeros = np.zeros(across, np.float32)
    layer = Records.of([[0, 0, 0, places, rows, depth, columns, *strides, height * across, zeros]])
    assert layer.numbers.shape == (1, len(LAYER))
    wanted = tasks_for(len(places) * rows * depth * columns)
    parts = split(len(places), wanted)
    row_parts = parts_along(rows, max(1, wanted // (TASKS * len(parts))), LEAST_ROWS)
    pieces = pieces_of(rows, row_parts, height)
    tasks = Records.of([[*part, *piece] for part, piece in product(parts, pieces)])

    function = made.written(write_matrices, height, VECTORS, kind)
    return Arranged(function, layer, tasks, height * across + -(-columns // across) * across * depth)


def starts_of(array: Array, batch: tuple[int, ...]) -> Array:
    """Return the offset of each matrix in an array of f32 that broadcasts to this batch."""
    strides = np.broadcast_to(array, (*batch, *array.shape[-2:])).strides
    return starts_along((extent, stride // F32_BYTES) for extent, stride in zip(batch, strides, strict=False))
