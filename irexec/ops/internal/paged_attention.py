"""PagedAttentionExtension: attention of packed sequences whose earlier keys and values are blocks of a cache.

Source: operation page PagedAttentionExtension. The keys and values that OpenVINO writes into its cache are not a result
of the layer: a run takes the earlier ones from its inputs, as the first run in OpenVINO does. The page leaves open how
quantized caches are stored and what the diversity of blocks is. The CPU plugin does not apply `max_context_len`.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from irexec.core.types import Array, Dimension, PartialShape, TensorType
from irexec.ops.compute.precision import narrow, widen
from irexec.ops.rules.axes import in_range, integers, one_element
from irexec.ops.rules.extents import Extents
from irexec.ops.spec.operator import Check, operator, require, rounded
from irexec.ops.spec.tensors import EachFloatTensor, EachIndexTensor, EachTensor, FloatTensor


@operator("PagedAttentionExtension", "ie_internal_opset", tolerance=rounded(64))
def paged_attention(
    query: FloatTensor,
    key: FloatTensor,
    value: FloatTensor,
    key_cache: EachFloatTensor,
    value_cache: EachFloatTensor,
    past_lens: EachIndexTensor,
    subsequence_begins: EachIndexTensor,
    block_indices: EachIndexTensor,
    block_indices_begins: EachIndexTensor,
    scale: EachFloatTensor,
    sliding_window: EachIndexTensor,
    alibi_slopes: EachFloatTensor,
    max_context_len: EachIndexTensor,
    score_aggregation_window: EachIndexTensor | None = None,
    rotated_block_indices: EachIndexTensor | None = None,
    rotation_deltas: EachIndexTensor | None = None,
    rotation_trig_lut: EachFloatTensor | None = None,
    xattention_threshold: EachFloatTensor | None = None,
    xattention_block_size: EachIndexTensor | None = None,
    xattention_stride: EachIndexTensor | None = None,
    sinks: FloatTensor | None = None,
    adaptive_rkv_start_size: EachIndexTensor | None = None,
    adaptive_rkv_evictable_sizes: EachIndexTensor | None = None,
    adaptive_rkv_diversity_block_set_indices: EachIndexTensor | None = None,
    adaptive_rkv_diversity_block_set_indices_begins: EachIndexTensor | None = None,
    token_type_ids: EachIndexTensor | None = None,
    qq_bias: EachTensor | None = None,
    qq_bias_begins: EachIndexTensor | None = None,
    /,
) -> tuple[FloatTensor, FloatTensor, FloatTensor]:
    """Causal attention of each sequence's tokens; the sums of the weights of each position; an empty third result.

    `query` is [tokens, heads * S], `key` [tokens, shared * S], `value` [tokens, shared * V], and the caches are
    [blocks, shared, size, S] and [blocks, shared, size, V]; consecutive heads share keys and values. A sequence has
    `past_lens` positions in its blocks before its tokens. A block -1 has no positions.

    C1: the inputs have these shapes. C2: `subsequence_begins` ascends from 0 to the number of tokens. C3: each
    sequence has blocks for its earlier positions. C4: blocks are rotated by rows of the table. C5: not supported:
    sparse attention (`xattention_threshold`), the diversity of blocks (`adaptive_rkv_evictable_sizes`), `qq_bias` and
    `token_type_ids`, which are not on the page.
    """
    shared, size, width = key_cache.shape[1:]
    unsupported = {
        "xattention_threshold": xattention_threshold,
        "adaptive_rkv_evictable_sizes": adaptive_rkv_evictable_sizes,
        "token_type_ids": token_type_ids,
        "qq_bias": qq_bias,
    }
    for name, tensor in unsupported.items():
        require("C5", not _given(tensor), f"{name} is not supported unless it is empty", port=name)
    q, k, v = (widen(x) for x in (query, key, value))
    kind, tokens = q.dtype, len(q)
    q, k, v = (x.reshape(tokens, x.shape[1] // n, n) for x, n in ((q, width), (k, width), (v, value_cache.shape[-1])))
    heads, starts, pasts = q.shape[1], integers(subsequence_begins), integers(past_lens)
    is_whole = starts[:1] == [0] and starts[-1:] == [tokens] and starts == sorted(starts)
    text = f"subsequence_begins is {starts}, expected numbers that ascend from 0 to {tokens}"
    require("C2", is_whole, text, port="subsequence_begins")
    in_range(require, "C3", "past_lens", past_lens, 0)
    windows = np.broadcast_to(
        0 if score_aggregation_window is None else score_aggregation_window.reshape(-1), len(pasts)
    )
    result, scores = np.empty((tokens, heads, v.shape[-1]), kind), np.zeros(tokens + sum(pasts), kind)
    begins, first = integers(block_indices_begins), 0
    for number, ((start, stop), past) in enumerate(zip(pairwise(starts), pasts, strict=True)):
        blocks = block_indices[begins[number] : begins[number + 1]]
        text = f"{len(blocks)} blocks of {size} positions do not hold {past} positions"
        require("C3", len(blocks) * size >= past, text, port="block_indices")
        in_range(require, "C3", "block_indices", blocks, -1, len(key_cache) - 1)
        places = np.arange(past)
        found = blocks[places // max(size, 1)]
        old_keys, old_values = (_earlier(cache, found, places % max(size, 1)) for cache in (key_cache, value_cache))
        if rotated_block_indices is not None and rotation_deltas is not None and rotation_trig_lut is not None:
            table = widen(rotation_trig_lut).reshape(rotation_trig_lut.size // width, width)
            old_keys = _rotated(old_keys, found, places % size, rotated_block_indices, rotation_deltas, table)
        keys = np.concatenate([old_keys.astype(kind), k[start:stop]]).transpose(1, 2, 0)
        values = np.concatenate([old_values.astype(kind), v[start:stop]]).transpose(1, 0, 2)
        queries = q[start:stop].transpose(1, 0, 2)
        distance = np.arange(past + stop - start) - np.arange(past, past + stop - start)[:, None]
        allowed = distance <= 0
        for limit in (sliding_window.item(), max_context_len.item()):
            allowed = allowed & (distance > -limit) if limit > 0 else allowed
        allowed[:, :past] &= found >= 0
        with np.errstate(all="ignore"):
            logits = queries @ np.repeat(keys, heads // max(shared, 1), 0) * kind.type(scale.item())
            if alibi_slopes.size:
                logits = logits + alibi_slopes.astype(kind).reshape(-1, 1, 1) * distance
            weights = _softmax(np.where(allowed, logits, -np.inf), sinks)
            result[start:stop] = (weights @ np.repeat(values, heads // max(shared, 1), 0)).transpose(1, 0, 2)
        window = windows[number].item()
        last = stop - start if window < 0 else min(window, stop - start)
        scores[first : first + distance.shape[1]] = weights[:, stop - start - last :].sum((0, 1))
        first += distance.shape[1]
    return tuple(narrow(x, query.dtype) for x in (result.reshape(tokens, heads * result.shape[2]), scores, np.zeros(0)))  # type: ignore[return-value]


def _given(tensor: Array | None) -> bool:
    return tensor is not None and tensor.size > 0


def _earlier(cache: Array, blocks: Array, offsets: Array) -> Array:
    """Return the rows [positions, heads, size] of these blocks, with zeros for block -1."""
    there = blocks >= 0
    rows = np.zeros((len(blocks), cache.shape[1], cache.shape[3]), cache.dtype)
    rows[there] = cache[blocks[there], :, offsets[there]]
    return widen(rows)


def _softmax(logits: Array, sinks: Array | None) -> Array:
    """Return the weights of the scores [heads, tokens, positions]; a sink only adds to their sum."""
    top = logits.max(-1, keepdims=True, initial=-np.inf)
    sink = None if sinks is None or not sinks.size else sinks.astype(logits.dtype).reshape(-1, 1, 1)
    top = top if sink is None else np.maximum(top, sink)
    powers = np.exp(logits - np.where(np.isneginf(top), 0, top))
    total = powers.sum(-1, keepdims=True)
    total = total if sink is None else total + np.exp(sink - top)
    return np.asarray(powers / np.where(total == 0, 1, total))


def _rotated(keys: Array, blocks: Array, offsets: Array, chosen: Array, deltas: Array, table: Array) -> Array:
    """Return keys [positions, heads, size], those of the chosen blocks rotated by the rows that `deltas` select."""
    rows = deltas if deltas.ndim == 2 else deltas[:, None]
    in_range(require, "C4", "rotation_deltas", rows, 0, len(table) - 1)
    result, half = keys.copy(), keys.shape[-1] // 2
    for block, row in zip(chosen, rows, strict=True):
        at = np.flatnonzero(blocks == block)
        angles = table[row[offsets[at] if len(row) > 1 else np.zeros_like(at)]][:, None]
        cos, sin, low, high = angles[..., :half], angles[..., half:], keys[at, :, :half], keys[at, :, half:]
        result[at] = np.concatenate([low * cos - high * sin, low * sin + high * cos], -1)
    return result


@paged_attention.shapes
def _(check: Check, *ports: TensorType | None) -> list[PartialShape]:
    given = dict(zip((port.name for port in paged_attention.signature.inputs), ports, strict=False))
    extents = Extents(check)
    extents.match("C1", "key_cache", given["key_cache"], "blocks", "shared", "size", "S")
    extents.match("C1", "value_cache", given["value_cache"], "blocks", "shared", "size", "V")
    for name, columns in (("query", "Q"), ("key", "K"), ("value", "W")):
        extents.match("C1", name, given[name], "tokens", columns)
    extents.match("C1", "past_lens", given["past_lens"], "sequences")
    bounds = extents["sequences"].value + 1 if extents["sequences"].is_static else "bounds"
    for name in ("subsequence_begins", "block_indices_begins"):
        extents.match("C1", name, given[name], bounds)
    extents.match("C1", "block_indices", given["block_indices"], "used")
    for name in ("scale", "sliding_window", "max_context_len"):
        tensor = given[name]
        if tensor is not None:
            one_element(check, "C1", tensor, name)
    known = [extents[name] for name in ("Q", "K", "W", "shared", "S", "V")]
    attention = PartialShape([extents["tokens"], -1])
    if all(extent.is_static for extent in known):
        q, k, w, shared, width, values = (extent.value for extent in known)
        for name, found, parts in (("key", k, (shared, width)), ("value", w, (shared, values))):
            fits = found == parts[0] * parts[1] > 0
            check("C1", fits, f"{name} has {found} columns, expected {parts[0]} * {parts[1]}, not 0", port=name)
        fits = shared * width > 0 and q % (shared * width) == 0
        if check("C1", fits, f"query has {q} columns, expected a multiple of {shared} * {width}", port="query"):
            attention = PartialShape([extents["tokens"], q // width * values])
            _check_heads(check, given, q // width)
    past = given["past_lens"]
    total = Dimension(-1)
    if past is not None and past.ints is not None and extents["tokens"].is_static:
        total = Dimension(extents["tokens"].value + sum(past.ints))
    return [attention, PartialShape([total]), PartialShape([-1])]


def _check_heads(check: Check, given: dict[str, TensorType | None], heads: int) -> None:
    """Check the inputs that have an element for each head, or none."""
    for name in ("alibi_slopes", "sinks"):
        tensor = given.get(name)
        if tensor is not None and tensor.shape.is_static:
            fits = tensor.shape.size.value in (0, heads)
            check("C1", fits, f"{name} has shape {tensor.shape}, expected {heads} elements or none", port=name)
