"""ScaledDotProductAttention by compiled code: the memory layout of the heads and the division of queries into tasks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from irexec.lowering.llvm import compiler
from irexec.lowering.llvm.attention import LAYER, Mask, write_attention
from irexec.lowering.llvm.host import Native
from irexec.lowering.llvm.memory import Field, Records
from irexec.lowering.recent import Recent
from irexec.lowering.tasks import TASKS, tasks_for
from irexec.lowering.work import Work
from irexec.threads.parallel import parts_along, split
from irexec.types import Array

# The number of vectors in a panel of keys, and in a panel of values.
VECTORS = 2
# The cost of a score in multiply-adds, without its products.
SCORE_WORK = 32
# Laying out keys and values takes as long as about 9 queries; with more than two tasks per head, each task has at least
# this many queries.
LEAST_QUERIES = 256
F32_BYTES = 4


class Arrangement(NamedTuple):
    """The properties of a call that follow from the shapes and strides of its arrays."""

    function: Native
    layer: Records
    tasks: Records
    scratch: int


class CompiledAttention:
    """Attention of f32 arrays `[..., L, E]`, `[..., S, E]`, `[..., S, Ev]`; a mask has S columns."""

    def __init__(self) -> None:
        self._arranged = Recent[tuple[object, ...], Arrangement]()

    def arranged(self, arrays: Sequence[Array], kind: Mask, batch: tuple[int, ...]) -> Arrangement:
        """Return the arrangement of query, key, value and optional mask, whose batches broadcast to `batch`."""
        known = kind, *[(array.shape, array.strides) for array in arrays]
        return self._arranged.of(known, lambda: _arrange(batch, kind, *arrays))

    def tasks(self, work: Work, arrangement: Arrangement, arrays: Sequence[Array], scale: Array, out: Array) -> None:
        """Compute attention into `out`, which is contiguous."""
        no_mask = [0] * (4 - len(arrays))
        layer = arrangement.layer.filled(*arrays, *no_mask, out, scale)
        work.add(arrangement.function, layer, arrangement.tasks, arrangement.scratch)


def _arrange(
    batch: tuple[int, ...], kind: Mask, query: Array, key: Array, value: Array, mask: Array | None = None
) -> Arrangement:
    made = compiler()
    (length, depth), (keys, columns) = query.shape[-2:], value.shape[-2:]
    height, across = made.height(length, VECTORS), VECTORS * made.lanes
    starts = [_starts(array, batch) for array in (query, key, value)]
    starts.append(starts[0] * 0 if mask is None else _starts(mask, batch))
    starts.append(np.arange(prod(batch)) * (length * columns))
    heads = Records(np.stack(starts, axis=1))
    pitch = -(-keys // made.lanes) * made.lanes
    scores = height * across
    key_panels = scores + height * pitch + height
    value_panels = key_panels + -(-keys // across) * across * depth
    sizes: dict[str, Field] = {
        "heads": heads,
        "keys": keys,
        "depth": depth,
        "columns": columns,
        "query_row": query.strides[-2] // F32_BYTES,
        "key_row": key.strides[-2] // F32_BYTES,
        "key_column": key.strides[-1] // F32_BYTES,
        "value_row": value.strides[-2] // F32_BYTES,
        "mask_row": 0 if mask is None or mask.shape[-2] == 1 else mask.strides[-2] // F32_BYTES,
        "scores": scores,
        "pitch": pitch,
        "key_panels": key_panels,
        "value_panels": value_panels,
    }
    function = made.written(write_attention, height, VECTORS, kind)
    work = len(heads) * length * keys * (depth + columns + SCORE_WORK)
    tasks = _tasks(len(heads), length, height, tasks_for(work))
    size = value_panels + -(-columns // across) * across * keys
    layer = Records.named(LAYER, [dict.fromkeys(LAYER, 0) | sizes])
    return Arrangement(function, layer, tasks, size)


def _tasks(heads: int, length: int, height: int, wanted: int) -> Records:
    """Return at most `wanted` tasks. Heads are divided first, because each task rearranges all keys of its heads."""
    head_parts = split(heads, wanted)
    parts = parts_along(length, max(1, wanted // (TASKS * len(head_parts))), LEAST_QUERIES)
    rows = [part for part in split(length, parts, height) if part[1] - part[0] >= height]
    rows[-1] = (rows[-1][0], length)
    return Records.of([[*head, *part] for head, part in product(head_parts, rows)])


def _starts(array: Array, batch: tuple[int, ...]) -> Array:
    """Return the offset of each head in an array that broadcasts to this batch."""
    strides = np.broadcast_to(array, (*batch, *array.shape[-2:])).strides
    starts = np.zeros(batch, np.int64)
    for axis, extent in enumerate(batch):
        steps = np.arange(extent) * (strides[axis] // F32_BYTES)
        starts += steps.reshape(-1, *[1] * (len(batch) - 1 - axis))
    return starts.reshape(-1)
