"""Arrays as compiled code takes them: one run of memory. Those that are none are copied by compiled code, too."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from irexec.native import compiler, has_begun
from irexec.native.memory import Records
from irexec.native.notes import more_is_done, notes
from irexec.ops.compute.parallel import num_threads, scratch, split
from irexec.records import NamedTuple
from irexec.types import Array

if TYPE_CHECKING:
    from irexec.native.llvm import Native

# Smaller arrays are left to NumPy, which begins sooner.
LEAST_SIZE = 1 << 12
# What an element costs, in multiply-adds.
WORK = 16
# More matrices than this are left to NumPy: the table of where they begin would be as large as they are.
MOST_MATRICES = 1 << 14


def contiguous(array: Array, slot: str = "contiguous") -> Array:
    """The elements of an array as one run of memory, which the next call of this thread may take over for its own."""
    if array.flags.c_contiguous:
        return array
    if array.dtype == np.float32 and array.flags.aligned and array.size and has_begun():
        is_worth_it = array.size >= LEAST_SIZE or notes() is not None
        if is_worth_it and (copying := _copying(array.shape, array.strides, num_threads())) is not None:
            out = scratch(slot, array.shape, np.dtype(np.float32))
            copying.run(array, out)
            return out
    more_is_done()
    return np.ascontiguousarray(array)


def copied_by_tasks(array: Array, out: Array) -> bool:
    """Copy f32 into `out`, which is contiguous, by compiled code; False where that cannot be done."""
    fits = array.dtype == np.float32 and array.flags.aligned and array.size and has_begun()
    copying = _copying(array.shape, array.strides, num_threads()) if fits else None
    if copying is not None:
        copying.run(array, out)
    return copying is not None


def all_contiguous(arrays: Sequence[Array]) -> list[Array]:
    """Several arrays that one kernel reads beside its data; they live as long as the list."""
    return [contiguous(array, f"contiguous {number}") for number, array in enumerate(arrays)]


class _Copying(NamedTuple):
    function: Native
    layer: Records
    tasks: Records

    def run(self, array: Array, out: Array) -> None:
        from irexec.ops.compute.team import run_tasks

        run_tasks(self.function, self.layer.filled(array, out), self.tasks, 0)


@lru_cache(maxsize=256)
def _copying(shape: tuple[int, ...], strides: tuple[int, ...], threads: int) -> _Copying | None:
    """How to copy an array of f32, matrix by matrix of its last axes; None where there are too many of them."""
    from irexec.native.transposing import LAYER, write_copy, write_transpose
    from irexec.ops.compute.team import threads_for

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
    parts = 1 if threads_for(prod(shape) * WORK) == 1 else 4 * threads
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
    """(extent, stride) of the axes, where those that follow one another in memory are one."""
    axes: list[tuple[int, int]] = []
    for extent, stride in zip(shape, strides, strict=True):
        if extent == 1:
            continue
        if axes and axes[-1][1] == extent * stride:
            axes[-1] = (axes[-1][0] * extent, stride)
        else:
            axes.append((extent, stride))
    return axes
