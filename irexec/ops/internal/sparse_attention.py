"""Attention to selected blocks of keys, and the selection: SparseAttentionIndexer and BlockSparseAttention.

Source: operation pages SparseAttentionIndexer and BlockSparseAttention. The queries are the last positions of the keys.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from irexec.core.types import ElementType, PartialShape, TensorType
from irexec.ops.compute.precision import narrow, widen
from irexec.ops.rules.axes import in_range, integer, one_element
from irexec.ops.rules.extents import Extents
from irexec.ops.sequence.scaled_dot_product_attention import scaled_dot_product_attention_13
from irexec.ops.spec.attributes import Positive
from irexec.ops.spec.operator import Check, operator, require, rounded
from irexec.ops.spec.tensors import EachIndexTensor, FloatTensor, TensorOfIndexType


@operator("SparseAttentionIndexer", "ie_internal_opset")
def sparse_attention_indexer(
    index_query: FloatTensor,
    index_key_blocks: FloatTensor,
    key_length: EachIndexTensor,
    index_weights: FloatTensor | None = None,
    /,
    *,
    compress_ratio: Positive,
    token_budget: Positive,
    index_element_type: Literal["i32", "i64"] = "i32",
) -> tuple[TensorOfIndexType, TensorOfIndexType]:
    """The blocks with the highest scores for each query, padded with -1, and their numbers.

    The score of a block is the sum over the heads of max(`index_query` · key, 0), times `index_weights` [N, L, H].
    `index_query` is [N, H, L, D], and `index_key_blocks` [N, B, D] has a key for each block of `compress_ratio`
    positions. Blocks that end after the query are not selected; of equal scores the first block is.

    C1: the inputs have these shapes. C2: `key_length` is one number. C3: `compress_ratio` divides
    `token_budget`. C4: `key_length` is at least L, and that of B complete blocks.
    """
    query, keys = (widen(x) for x in (index_query, index_key_blocks))
    batch, _, length, _ = query.shape
    positions, count = integer(key_length), token_budget // compress_ratio
    in_range(require, "C4", "key_length", positions, length)
    text = f"index_key_blocks has {keys.shape[1]} blocks, expected {positions // compress_ratio}"
    require("C4", keys.shape[1] == positions // compress_ratio, text, port="index_key_blocks")
    scores = np.maximum(query @ keys[:, None].swapaxes(-1, -2), 0)
    if index_weights is not None:
        scores = scores * widen(index_weights).transpose(0, 2, 1)[..., None]
    order = scores.sum(1)
    kind = ElementType.by_name[index_element_type].dtype
    indices, counts = np.full((batch, length, count), -1, kind), np.zeros((batch, length), kind)
    for row in range(length):
        visible = (positions - length + row + 1) // compress_ratio
        found = np.argsort(-order[:, row, :visible], axis=-1, kind="stable")[:, :count]
        indices[:, row, : found.shape[1]] = found
        counts[:, row] = found.shape[1]
    return indices, counts


@sparse_attention_indexer.shapes
def _(
    check: Check,
    index_query: TensorType,
    index_key_blocks: TensorType,
    key_length: TensorType,
    index_weights: TensorType | None,
    *,
    compress_ratio: int,
    token_budget: int,
) -> list[PartialShape]:
    extents = Extents(check)
    extents.match("C1", "index_query", index_query, "N", "H", "L", "D")
    extents.match("C1", "index_key_blocks", index_key_blocks, "N", "B", "D")
    extents.match("C1", "index_weights", index_weights, "N", "L", "H")
    one_element(check, "C2", key_length, "key_length")
    fits = token_budget % compress_ratio == 0
    text = f"token_budget is {token_budget}, expected a multiple of {compress_ratio}"
    check("C3", fits, text, attribute="token_budget")
    return [extents.shape("N", "L", token_budget // compress_ratio), extents.shape("N", "L")]


@operator("BlockSparseAttention", "ie_internal_opset", tolerance=rounded(64))
def block_sparse_attention(
    query: FloatTensor,
    key: FloatTensor,
    value: FloatTensor,
    block_indices: EachIndexTensor,
    scale: FloatTensor | None = None,
    /,
    *,
    compress_ratio: Positive,
) -> FloatTensor:
    """Attention of each query to the blocks of `compress_ratio` keys that it selects, and to those of its own block
    up to it, if that block ends after the query.

    `query` is [N, H, L, E], `key` [N, HK, S, E], `value` [N, HK, S, V] and `block_indices` [N, L, K], padded with -1.
    A query that selects nothing has the result 0. `scale` replaces 1 / sqrt(E).

    C1: the inputs have these shapes. C2: HK divides H, and L is at most S. C3: the blocks end at or before the query.
    C4: `scale` has one element.
    """
    length, sources = query.shape[2], key.shape[2]
    allowed = np.zeros((query.shape[0], length, sources), bool)
    for row in range(length):
        position = sources - length + row
        complete = (position + 1) // compress_ratio
        in_range(require, "C3", "block_indices", block_indices[:, row], -1, complete - 1)
        allowed[:, row, complete * compress_ratio : position + 1] = True
        for batch, blocks in enumerate(block_indices[:, row]):
            chosen = blocks[blocks >= 0][:, None] * compress_ratio + np.arange(compress_ratio)
            allowed[batch, row, chosen.ravel()] = True
    q, k, v = (widen(x) for x in (query, key, value))
    groups = q.shape[1] // max(k.shape[1], 1)
    k, v = (np.repeat(x, groups, 1) for x in (k, v))
    given = None if scale is None else widen(scale)
    result = scaled_dot_product_attention_13.kernel(q, k, v, allowed[:, None], given, causal=False)
    seen = np.asarray(allowed.any(-1))[:, None, :, None]
    return narrow(np.where(seen, result, 0), query.dtype)


@block_sparse_attention.shapes
def _(
    check: Check,
    query: TensorType,
    key: TensorType,
    value: TensorType,
    block_indices: TensorType,
    scale: TensorType | None,
) -> PartialShape:
    extents = Extents(check)
    extents.match("C1", "query", query, "N", "H", "L", "E")
    extents.match("C1", "key", key, "N", "HK", "S", "E")
    extents.match("C1", "value", value, "N", "HK", "S", "V")
    extents.match("C1", "block_indices", block_indices, "N", "L", "K")
    heads, shared, length, sources = (extents[name] for name in ("H", "HK", "L", "S"))
    if heads.is_static and shared.is_static:
        fits = shared.value > 0 and heads.value % shared.value == 0
        check("C2", fits, f"key has {shared} heads, which do not divide the {heads} of query", port="key")
    if length.is_static and sources.is_static:
        check("C2", length.value <= sources.value, f"query has L = {length}, but key has S = {sources}", port="query")
    if scale is not None:
        one_element(check, "C4", scale, "scale")
    return extents.shape("N", "H", "L", "V")
