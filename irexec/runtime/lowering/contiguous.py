"""Copies of strided arrays in contiguous memory by compiled code."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import product
from math import prod

import numpy as np

from irexec.core.threads.parallel import split
from irexec.core.types import Array
from irexec.runtime.lowering.llvm import compiler
from irexec.runtime.lowering.llvm.memory import Records
from irexec.runtime.lowering.llvm.transposing import LAYER, write_copy, write_transpose
from irexec.runtime.lowering.tasks import Arranged, pieces_of, tasks_for

# The cost of an element, in multiply-adds.
WORK = 16
# With more matrices than this, the table of their offsets would be as large as the matrices: NumPy copies them.
MOST_MATRICES = 1 << 14


@lru_cache(maxsize=256)
def copying(shape: tuple[int, ...], strides: tuple[int, ...]) -> Arranged | None:
    """Return the jobs that copy an array of f32, matrix by matrix of its last axes; None for too many matrices."""
    axes = [(1, 0), (1, 0), *_joined(shape, [stride // 4 for stride in strides])]
    (rows, step), (columns, pitch) = axes[-2:]
    made = compiler()
    lanes = made.lanes
    count = prod(extent for extent, _ in axes[:-2])
    if count > MOST_MATRICES:
        return None
    starts = starts_along(axes[:-2])
    parts = tasks_for(prod(shape) * WORK)
    matrices = split(len(starts), parts)
    layer = Records.of([[0, 0, starts, rows, columns, step, pitch]])
    assert layer.numbers.shape == (1, len(LAYER))
    if step == 1 and rows >= lanes and columns >= lanes:
        pieces = pieces_of(rows, parts // len(matrices), lanes)
        function = made.written(write_transpose)
    else:
        pieces = split(rows, parts // len(matrices))
        function = made.written(write_copy)
    tasks = Records.of([[*matrix, *piece] for matrix, piece in product(matrices, pieces)])
    return Arranged(function, layer, tasks)


def starts_along(axes: Iterable[tuple[int, int]]) -> Array:
    """Return the offset in memory of every combination of positions along axes given as (extent, stride)."""
    starts = np.zeros(1, np.int64)
    for extent, stride in axes:
        starts = np.add.outer(starts, np.arange(extent) * stride).reshape(-1)
    return starts


def _joined(shape: tuple[int, ...], strides: list[int]) -> list[tuple[int, int]]:
    """Return (extent, stride) of the axes, with axes merged that are contiguous in memory."""
    axes: list[tuple[int, int]] = []
    for extent, stride in zip(shape, strides, strict=True):
        if extent == 1:
            continue
        if axes and axes[-1][1] == extent * stride:
            axes[-1] = (axes[-1][0] * extent, stride)
        else:
            axes.append((extent, stride))
    return axes
