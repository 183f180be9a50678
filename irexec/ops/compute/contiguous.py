"""Arrays as compiled code takes them: one run of memory. Those that lie transposed are turned by compiled code, too."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from irexec.native import compiler, has_begun
from irexec.native.memory import address
from irexec.ops.compute.parallel import num_threads, scratch, split
from irexec.records import NamedTuple
from irexec.types import Array

if TYPE_CHECKING:
    from irexec.native.llvm import Native
    from irexec.ops.compute.team import Tasks

# Smaller arrays are left to NumPy, which begins sooner.
LEAST_SIZE = 1 << 12
# What an element costs, in multiply-adds.
WORK = 16


def contiguous(array: Array, slot: str = "contiguous") -> Array:
    """The elements of an array as one run of memory, which the next call of this thread may take over for its own."""
    if array.flags.c_contiguous:
        return array
    is_f32 = array.dtype == np.float32 and array.flags.aligned and array.size >= LEAST_SIZE
    turning = _turning(array.shape, array.strides, num_threads()) if is_f32 and has_begun() else None
    if turning is None:
        return np.ascontiguousarray(array)
    from irexec.ops.compute.team import run_tasks

    out = scratch(slot, array.shape, np.dtype(np.float32))
    layer = turning.layer.copy()
    layer[0], layer[1] = address(array[(0,) * (array.ndim - 1) + (slice(1),)]), address(out)
    run_tasks(turning.function, layer, turning.tasks, 0)
    return out


def all_contiguous(arrays: Sequence[Array]) -> list[Array]:
    """Several arrays that one kernel reads beside its data; they live as long as the list."""
    return [contiguous(array, f"contiguous {number}") for number, array in enumerate(arrays)]


class _Turning(NamedTuple):
    function: Native
    layer: Array
    starts: Array
    tasks: Tasks


@lru_cache(maxsize=256)
def _turning(shape: tuple[int, ...], strides: tuple[int, ...], threads: int) -> _Turning | None:
    """How to turn an array of f32 in which matrices lie transposed; None for another one."""
    from irexec.native.transposing import LAYER, write_transpose
    from irexec.ops.compute.team import Tasks, threads_for

    axes = _joined(shape, [stride // 4 for stride in strides])
    if len(axes) < 2 or axes[-2][1] != 1:
        return None
    (rows, _), (columns, pitch) = axes[-2:]
    made = compiler()
    lanes = made.lanes
    if rows < lanes or columns < lanes:
        return None
    starts = np.zeros(1, np.int64)
    for extent, stride in axes[:-2]:
        starts = np.add.outer(starts, np.arange(extent) * stride).reshape(-1)
    parts = 1 if threads_for(prod(shape) * WORK) == 1 else 4 * threads
    matrices = split(len(starts), parts)
    pieces = [piece for piece in split(rows, parts // len(matrices), lanes) if piece[1] - piece[0] >= lanes]
    pieces[-1] = (pieces[-1][0], rows)
    tasks = Tasks(np.array([[*matrix, *piece] for matrix, piece in product(matrices, pieces)]))
    layer = np.array([0, 0, address(starts), rows, columns, pitch])
    assert len(layer) == len(LAYER)
    function = made.made("transpose", 4, lambda module, name: write_transpose(module, name, lanes))
    return _Turning(function, layer, starts, tasks)


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
