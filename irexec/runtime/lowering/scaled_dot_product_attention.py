"""ScaledDotProductAttention of f32 without a sink, lowered: the memory layout of heads, and tasks of some queries."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod, sqrt
from typing import Any

import numpy as np

from irexec.core.threads.parallel import parts_along, split
from irexec.core.types import F32, Array
from irexec.ops.sequence.scaled_dot_product_attention import (
    check_scalar_mask,
    common_batch,
    scaled_dot_product_attention_13,
)
from irexec.ops.spec.operator import require
from irexec.runtime.lowering.llvm import compiler
from irexec.runtime.lowering.llvm.attention import LAYER, Mask, write_attention
from irexec.runtime.lowering.llvm.memory import Field, Records
from irexec.runtime.lowering.matrices import F32_BYTES, starts_of
from irexec.runtime.lowering.recent import Recent
from irexec.runtime.lowering.table import Lowered, Site, lowers
from irexec.runtime.lowering.tasks import TASKS, Arranged, pieces_of, tasks_for
from irexec.runtime.lowering.work import Work

# The number of vectors in a panel of keys, and in a panel of values.
VECTORS = 2
# The cost of a score in multiply-adds, without its products.
SCORE_WORK = 32
# Laying out keys and values takes as long as about 9 queries; with more than two tasks per head, each task has at least
# this many queries.
LEAST_QUERIES = 256
# For fewer queries than this, preparing compiled code costs more than it saves, unless the keys have few elements.
FEW_QUERIES, FEW_ELEMENTS = 8, 1 << 15


@lowers(scaled_dot_product_attention_13)
def _(site: Site, *, causal: bool) -> Lowered | None:
    types = site.types
    has_sink = len(types.inputs) > 5 and types.inputs[5] is not None
    mask = types.constants[3] if len(types.constants) > 3 else None
    is_taken = types.outputs[0].element_type is F32 and not has_sink
    return Attention(site, causal, mask is not None) if is_taken else None


class Attention(Lowered):
    """Attention in f32 by compiled code, where compiled code is faster for the extents."""

    def __init__(self, site: Site, causal: bool, has_known_mask: bool) -> None:
        super().__init__(site)
        self._causal, self._has_known_mask = causal, has_known_mask
        self._arranged = Recent[tuple[object, ...], Arranged]()

    def shape(
        self, query: Array, key: Array, value: Array, mask: Array | None = None, *others: Array | None
    ) -> tuple[int, ...] | None:
        is_worth_it = query.shape[-2] >= FEW_QUERIES or key.size <= FEW_ELEMENTS
        if not (is_worth_it and query.size and value.size):
            return None
        arrays = (query, key, value) if self._causal or mask is None or mask.ndim == 0 else (query, key, value, mask)
        return (*common_batch(*arrays), query.shape[-2], value.shape[-1])

    def tasks(self, work: Work, inputs: Sequence[Any], out: Array, *_: Any) -> None:
        query, key, value, mask, scale = (*inputs, None, None)[:5]
        arrays = [work.by_rows(query, "query"), key if key.flags.aligned else work.contiguous(key, "key")]
        arrays.append(work.by_rows(value, "value"))
        kind: Mask = "causal" if self._causal else "none"
        if mask is not None and not self._causal:
            if mask.ndim == 0:
                work.needs_values(self._has_known_mask)
                check_scalar_mask(require, mask.item())
            else:
                kind = "forbidding" if mask.dtype == np.bool_ else "added"
                arrays.append(self._mask(work, mask, key.shape[-2]))
        known = kind, *[(array.shape, array.strides) for array in arrays]
        made = self._arranged.of(known, lambda: _arrange(out.shape[:-2], kind, *arrays))
        factor = np.full(1, 1 / sqrt(query.shape[-1]), np.float32) if scale is None else scale.reshape(1)
        work.arranged(made, *arrays, *[0] * (4 - len(arrays)), out, factor)

    def _mask(self, work: Work, mask: Array, keys: int) -> Array:
        """Return the mask as f32 that are added to scores, with a column for each key."""
        if mask.dtype == np.bool_:
            work.needs_values(self._has_known_mask)
            mask = np.where(mask, np.float32(0), np.float32(-1))
        return work.by_rows(np.broadcast_to(mask, (*mask.shape[:-1], keys)) if mask.shape[-1] == 1 else mask, "mask")


def _arrange(
    batch: tuple[int, ...], kind: Mask, query: Array, key: Array, value: Array, mask: Array | None = None
) -> Arranged:
    made = compiler()
    (length, depth), (keys, columns) = query.shape[-2:], value.shape[-2:]
    height, across = made.height(length, VECTORS), VECTORS * made.lanes
    starts = [starts_of(array, batch) for array in (query, key, value)]
    starts.append(starts[0] * 0 if mask is None else starts_of(mask, batch))
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
    return Arranged(function, layer, tasks, size)


def _tasks(heads: int, length: int, height: int, wanted: int) -> Records:
    """Return about `wanted` tasks: ranges of heads and, if there are too few heads, ranges of queries.

    Heads are divided first, because each task rearranges all keys of its heads.
    """
    head_parts = split(heads, wanted)
    parts = parts_along(length, max(1, wanted // (TASKS * len(head_parts))), LEAST_QUERIES)
    return Records.of([[*head, *rows] for head, rows in product(head_parts, pieces_of(length, parts, height))])
