"""ScaledDotProductAttention of f32 without a sink lowered."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import numpy as np

from irexec.lowering.attention import CompiledAttention, by_rows
from irexec.lowering.capture import captured_all
from irexec.lowering.llvm.attention import Mask
from irexec.lowering.table import Lowered, Site, lowers
from irexec.ops.compute.products import settle, summing_buffer
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
    return Attention(site.kernel, causal, mask is not None) if is_taken else None


class Attention(Lowered):
    """Attention in f32 by compiled code, where compiled code is faster for the extents."""

    def __init__(self, kernel: Callable[..., Array], causal: bool, has_known_mask: bool) -> None:
        self._kernel, self._causal, self._has_known_mask = kernel, causal, has_known_mask
        self._compiled = CompiledAttention()

    def __call__(
        self,
        query: Array,
        key: Array,
        value: Array,
        attention_mask: Array | None = None,
        scale: Array | None = None,
        /,
        *no_sink: None,
        out: Array | None = None,
    ) -> Array:
        is_worth_it = query.shape[-2] >= FEW_QUERIES or key.size <= FEW_ELEMENTS
        if not (is_worth_it and query.size and value.size):
            return self._kernel(query, key, value, attention_mask, scale, *no_sink, out=out)
        has_scalar_mask = attention_mask is not None and attention_mask.ndim == 0 and not self._causal
        if has_scalar_mask:
            assert attention_mask is not None
            check_scalar_mask(require, attention_mask.item())
        arrays, kind = self._arranged(query, key, value, attention_mask)
        arrangement = self._compiled.arranged(arrays, kind, lambda: common_batch(*arrays))
        target = summing_buffer(arrangement.shape, query.dtype, out)
        factor = np.full(1, 1 / sqrt(query.shape[-1]), np.float32) if scale is None else scale.reshape(1)
        self._compiled(arrangement, arrays, factor, target)
        # The value of a computed scalar mask was read, and may change between runs.
        if not has_scalar_mask or self._has_known_mask:
            captured_all()
        return settle(target, query.dtype, out)

    def _arranged(self, query: Array, key: Array, value: Array, mask: Array | None) -> tuple[tuple[Array, ...], Mask]:
        """Return the arrays in the form of compiled code, and the kind of their mask, if any."""
        arrays = by_rows(query), key if key.flags.aligned else np.ascontiguousarray(key), by_rows(value)
        if self._causal or mask is None or mask.ndim == 0:
            return arrays, "causal" if self._causal else "none"
        kind: Mask = "forbidding" if mask.dtype == np.bool_ else "added"
        numbers = np.where(mask, np.float32(0), np.float32(-1)) if kind == "forbidding" else mask
        if mask.shape[-1] == 1:
            numbers = np.broadcast_to(numbers, (*mask.shape[:-1], key.shape[-2]))
        return (*arrays, by_rows(numbers)), kind
