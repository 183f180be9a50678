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
from irexec.runtime.lowering.llvm.few_queries import write_few_queries
from irexec.runtime.lowering.llvm.memory import Field, Records
from irexec.runtime.lowering.matrices import F32_BYTES, starts_of
from irexec.runtime.lowering.recent import Recent
from irexec.runtime.lowering.table import Lowered, Site, lowers
from irexec.runtime.lowering.tasks import TASKS, Arranged, Job, pieces_of, run_job, tasks_for
from irexec.runtime.lowering.work import Work

# The number of vectors in a panel of keys, and in a panel of values.
VECTORS = 2
# The cost of a score in multiply-adds, without its products.
SCORE_WORK = 32
# Laying out keys and values takes as long as about 9 queries; with more than two tasks per head, each task has at least
# this many queries.
LEAST_QUERIES = 256
# For fewer queries than this, laying out keys and values costs more than it saves, unless the keys have few elements:
# they are read where they are.
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
        self._factors = Recent[int, Array]()

    def __call__(self, *inputs: Any, out: Array | None = None) -> Any:
        """Compute the newest token of a language model in little time, everything else as any layer is computed."""
        if out is None or self._causal or (known := _with_rows_as_masks(*inputs)) is None:
            return super().__call__(*inputs, out=out)
        arrays, keys = inputs[:4], inputs[1].shape[-2]
        made = self._few("added", out.shape[:-2], known, keys, *arrays)
        shared = made.layer.filled(*arrays, out, self._factor(inputs[0]), keys, keys)
        run_job(Job(made.function, shared, made.tasks, 1, F32_BYTES * (made.scratch + keys)))
        return out

    def shape(
        self, query: Array, key: Array, value: Array, mask: Array | None = None, *others: Array | None
    ) -> tuple[int, ...] | None:
        is_worth_it = query.shape[-2] >= FEW_QUERIES or key.size <= FEW_ELEMENTS or _has_rows(key)
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
        factor = self._factor(query) if scale is None else scale.reshape(1)
        keys = key.shape[-2]
        if query.shape[-2] < FEW_QUERIES and _has_rows(key):
            made = self._few(kind, out.shape[:-2], tuple(map(_places_known_by, arrays)), 1, *arrays)
            made = made._replace(scratch=made.scratch + keys)
        else:
            known = kind, *[(array.shape, array.strides) for array in arrays]
            made = self._arranged.of(known, lambda: _arrange(out.shape[:-2], kind, *arrays))
        work.arranged(made, *arrays, *[0] * (4 - len(arrays)), out, factor, keys, 1)

    def _few(
        self,
        kind: Mask,
        batch: tuple[int, ...],
        places: tuple[object, ...],
        step: int,
        query: Array,
        key: Array,
        *others: Array,
    ) -> Arranged:
        """Return the job for few queries, arranged once for any number of keys, each of which needs scratch memory: a
        cache of keys grows in place. `places`: what determines the places of the inputs. `step`: the stride of which
        the starts of masks are multiples.
        """
        keys, depth = key.shape[-2:]
        wanted = tasks_for(prod(batch) * query.shape[-2] * keys * (depth + others[0].shape[-1] + SCORE_WORK))
        known = kind, wanted, query.shape, others[0].shape[-1], places
        return self._arranged.of(known, lambda: _arrange_few(batch, kind, wanted, step, query, key, *others))

    def _factor(self, query: Array) -> Array:
        """Return the factor of scores without a scale."""
        depth = query.shape[-1]
        return self._factors.of(depth, lambda: np.full(1, 1 / sqrt(depth), np.float32))

    def _mask(self, work: Work, mask: Array, keys: int) -> Array:
        """Return the mask as f32 that are added to scores, with a column for each key."""
        if mask.dtype == np.bool_:
            work.needs_values(self._has_known_mask)
            mask = np.where(mask, np.float32(0), np.float32(-1))
        return work.by_rows(np.broadcast_to(mask, (*mask.shape[:-1], keys)) if mask.shape[-1] == 1 else mask, "mask")


def _has_rows(array: Array) -> bool:
    """Return whether the rows of an array are contiguous; those of an array that stands for any array are."""
    return array.strides[-1] in (F32_BYTES, 0) and array.flags.aligned


def _with_rows_as_masks(
    query: Array, key: Array, value: Array, mask: Array | None = None, *others: Array | None
) -> tuple[object, ...] | None:
    """Return what determines the places of few queries and of any number of keys and values, if each mask is one row of
    numbers, for all queries, and nothing has to be copied; None for other inputs.
    """
    if mask is None or not mask.ndim or any(other is not None for other in others) or query.shape[-2] >= FEW_QUERIES:
        return None
    strides, keys = (query.strides, key.strides, value.strides), key.shape[-2]
    batch = mask.shape[:-2]
    are_rows = mask.shape[-1] == keys and mask.size == prod(batch) * keys and mask.dtype == np.float32
    if not are_rows or any(each[-1:] != (F32_BYTES,) for each in strides) or not (query.size and value.size):
        return None
    is_aligned = query.flags.aligned and key.flags.aligned and value.flags.aligned
    is_mask_whole = mask.flags.c_contiguous and mask.flags.aligned
    return (*strides, key.shape[:-2], value.shape[:-2], batch, mask.ndim) if is_aligned and is_mask_whole else None


def _places_known_by(array: Array) -> tuple[object, ...]:
    """Return what determines the places of rows, for any number of them above 1; strides of extents 1 do not matter."""
    axes = [(extent, stride if extent > 1 else 0) for extent, stride in zip(array.shape, array.strides, strict=True)]
    return (*axes[:-2], axes[-2][1])


def _arrange_few(
    batch: tuple[int, ...],
    kind: Mask,
    wanted: int,
    step: int,
    query: Array,
    key: Array,
    value: Array,
    mask: Array | None = None,
) -> Arranged:
    made = compiler()
    (length, depth), columns = query.shape[-2:], value.shape[-1]
    heads = _heads(batch, length * columns, query, key, value, mask, step)
    scores = -(-depth // made.lanes) * made.lanes
    layer = _layer(heads, query, key, value, mask, scores=scores)
    tasks = Records.of([[*part, 0, length] for part in split(len(heads), wanted)])
    return Arranged(made.written(write_few_queries, kind), layer, tasks, scores + made.lanes)


def _heads(
    batch: tuple[int, ...], size: int, query: Array, key: Array, value: Array, mask: Array | None, step: int = 1
) -> Records:
    """Return the records of all heads, whose results have this size."""
    starts = [starts_of(array, batch) for array in (query, key, value)]
    starts.append(starts[0] * 0 if mask is None else starts_of(mask, batch) // step)
    starts.append(np.arange(prod(batch)) * size)
    return Records(np.stack(starts, axis=1))


def _layer(heads: Records, query: Array, key: Array, value: Array, mask: Array | None, **places: int) -> Records:
    """Return the record of a layer. `places`: its positions in scratch memory."""
    sizes: dict[str, Field] = {
        "heads": heads,
        "depth": query.shape[-1],
        "columns": value.shape[-1],
        "query_row": query.strides[-2] // F32_BYTES,
        "key_row": key.strides[-2] // F32_BYTES,
        "key_column": key.strides[-1] // F32_BYTES,
        "value_row": value.strides[-2] // F32_BYTES,
        "mask_row": 0 if mask is None or mask.shape[-2] == 1 else mask.strides[-2] // F32_BYTES,
    }
    return Records.named(LAYER, [dict.fromkeys(LAYER, 0) | sizes | places])


def _arrange(
    batch: tuple[int, ...], kind: Mask, query: Array, key: Array, value: Array, mask: Array | None = None
) -> Arranged:
    made = compiler()
    (length, depth), (keys, columns) = query.shape[-2:], value.shape[-2:]
    height, across = made.height(length, VECTORS), VECTORS * made.lanes
    heads = _heads(batch, length * columns, query, key, value, mask)
    pitch = -(-keys // made.lanes) * made.lanes
    scores = height * across
    key_panels = scores + height * pitch + height
    value_panels = key_panels + -(-keys // across) * across * depth
    places = {"scores": scores, "pitch": pitch, "key_panels": key_panels, "value_panels": value_panels}
    layer = _layer(heads, query, key, value, mask, **places)
    function = made.written(write_attention, height, VECTORS, kind)
    work = len(heads) * length * keys * (depth + columns + SCORE_WORK)
    tasks = _tasks(len(heads), length, height, tasks_for(work))
    size = value_panels + -(-columns // across) * across * keys
    return Arranged(function, layer, tasks, size)


def _tasks(heads: int, length: int, height: int, wanted: int) -> Records:
    """Return about `wanted` tasks: ranges of heads and, if there are too few heads, ranges of queries.

    Heads are divided first, because each task rearranges all keys of its heads.
    """
    head_parts = split(heads, wanted)
    parts = parts_along(length, max(1, wanted // (TASKS * len(head_parts))), LEAST_QUERIES)
    return Records.of([[*head, *rows] for head, rows in product(head_parts, pieces_of(length, parts, height))])
