"""ScaledDotProductAttention of f32 without a sink lowered."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np

from irexec.lowering.attention import CompiledAttention
from irexec.lowering.llvm.attention import Mask
from irexec.lowering.table import Lowered, Site, lowers
from irexec.lowering.work import Work
from irexec.ops.declare.operator import require
from irexec.ops.sequence.scaled_dot_product_attention import (
    check_scalar_mask,
    common_batch,
    scaled_dot_product_attention_13,
)
from irexec.types import F32, Array

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
        self._compiled = CompiledAttention()

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
        arrangement = self._compiled.arranged(arrays, kind, out.shape[:-2])
        factor = np.full(1, 1 / sqrt(query.shape[-1]), np.float32) if scale is None else scale.reshape(1)
        self._compiled.tasks(work, arrangement, arrays, factor, out)

    def _mask(self, work: Work, mask: Array, keys: int) -> Array:
        """Return the mask as numbers, with a column for each key."""
        if mask.dtype == np.bool_:
            work.needs_values(self._has_known_mask)
            mask = np.where(mask, np.float32(0), np.float32(-1))
        return work.by_rows(np.broadcast_to(mask, (*mask.shape[:-1], keys)) if mask.shape[-1] == 1 else mask, "mask")
