"""Contiguous arrays for compiled code; other arrays are copied, also by compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irexec.lowering.capture import current_capture, note_uncaptured_work, scratch
from irexec.lowering.llvm import compiler
from irexec.lowering.llvm.memory import Records
from irexec.threads.parallel import split
from irexec.types import Array

if TYPE_CHECKING:
    from irexec.lowering.llvm.host import Native

# Smaller arrays are left to NumPy, which has less overhead.
LEAST_SIZE = 1 << 12
# The cost of an element, in multiply-adds.
WORK = 16
# More matrices than this are left to NumPy: the table of their offsets would be as large as the matrices.
MOST_MATRICES = 1 << 14


def contiguous(array: Array, slot: str = "contiguous") -> Array:
    """Return the elements of an array in contiguous memory, which the next call in this thread may reuse."""
    if array.flags.c_contiguous:
        return array
    if array.dtype == np.float32 and array.flags.aligned and array.size:
        is_worth_it = array.size >= LEAST_SIZE or current_capture() is not None
        if is_worth_it and (copying := _copying(array.shape, array.strides)) is not None:
            out = scratch(slot, array.shape, np.dtype(np.float32))
            copying.run(array, out)
            return out
    note_uncaptured_work()
    return np.ascontiguousarray(array)


def copied_by_tasks(array: Array, out: Array) -> bool:
    """Copy f32 into `out`, which is contiguous, by compiled code; return False if that is not possible."""
    fits = array.dtype == np.float32 and array.flags.aligned and array.size
    copying = _copying(array.shape, array.strides) if fits else None
    if copying is not None:
        copying.run(array, out)
    return copying is not None


def all_contiguous(arrays: Sequence[Array]) -> list[Array]:
    """Return contiguous versions of arrays that one kernel reads besides its data; they live as long as the list."""
    return [contiguous(array, f"contiguous {number}") for number, array in enumerate(arrays)]


class _Copying(NamedTuple):
    function: Native
    layer: Records
    tasks: Records

    def run(self, array: Array, out: Array) -> None:
        from irexec.lowering.tasks import run_tasks

        run_tasks(self.function, self.layer.filled(array, out), self.tasks, 0)


@lru_cache(maxsize=256)
def _copying(shape: tuple[int, ...], strides: tuple[int, ...]) -> _Copying | None:
    """Return the way to copy an array of f32, matrix by matrix of its last axes; None for too many matrices."""
    from irexec.lowering.llvm.transposing import LAYER, write_copy, write_transpose
    from irexec.lowering.tasks import tasks_for

    axes = [(1, 0), (1, 0), *_joined(shape, [stride // 4 for stride in strides])]
    (rows, step), (columns, pitch) = axes[-2:]
    made = compiler()
    lanes = made.lanes
    count = prod(extent for extent, _ in axes[:-2])
    if count > MOST_MATRICES:
        return None
    starts = np.zeros(1, np.int64)
    for extent, stride in axes[:-2]:
        starts = np.add.outer(starts, np.arange(extent) * stride).reshape(-1)
    parts = tasks_for(prod(shape) * WORK)
    matrices = split(len(starts), parts)
    layer = Records.of([[0, 0, starts, rows, columns, step, pitch]])
    assert layer.numbers.shape == (1, len(LAYER))
    if step == 1 and rows >= lanes and columns >= lanes:
        pieces = [piece for piece in split(rows, parts // len(matrices), lanes) if piece[1] - piece[0] >= lanes]
        pieces[-1] = (pieces[-1][0], rows)
        function = made.made("transpose", 4, lambda module, name: write_transpose(module, name, lanes))
    else:
        pieces = split(rows, parts // len(matrices))
        function = made.made("copy", 4, lambda module, name: write_copy(module, name, lanes))
    tasks = Records.of([[*matrix, *piece] for matrix, piece in product(matrices, pieces)])
    return _Copying(function, layer, tasks)


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
