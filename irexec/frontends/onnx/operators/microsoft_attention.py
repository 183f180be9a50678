"""Translators of com.microsoft's attention: multi-head and grouped-query attention, with a cache of earlier tokens and
rotary embeddings.

Source: ONNX Runtime's list of contributed operators. Each becomes IR's ScaledDotProductAttention on [batch, heads,
time, size], with one mask that is added to the scores.
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from irexec.core.types import BOOLEAN, I64
from irexec.frontends.onnx.errors import Refused
from irexec.frontends.onnx.op import Op
from irexec.frontends.onnx.operators.microsoft import microsoft, plus
from irexec.frontends.onnx.operators.microsoft_quantized import scaled_product
from irexec.model.graph.model import Value


def heads_of(op: Op, x: Value, count: int) -> Value:
    """Return [batch, time, heads * size] as [batch, heads, time, size]; a value with four axes stays the same."""
    if x.type.shape.rank == 4:
        return x
    apart = op.reshape(x, [0, 0, count, -1], zero_copies=True)
    return op.make("Transpose", apart, [0, 2, 1, 3])


def merged(op: Op, x: Value) -> Value:
    turned = op.make("Transpose", x, [0, 2, 1, 3])
    return op.reshape(turned, [0, 0, -1], zero_copies=True)


def places_of(op: Op, count: Value) -> Value:
    return op.make("Range", 0, count, 1, opset=4, output_type=I64)


def _distances(op: Op, q: Value, k: Value) -> Value:
    """Return [queries, keys]: the distance from each key to each query, in tokens. The last key and the last query
    belong to the same token."""
    queries, keys = op.extent(q, 2), op.extent(k, 2)
    rows = op.make("Add", places_of(op, queries), op.make("Subtract", keys, queries))
    return op.make("Subtract", op.make("Unsqueeze", rows, [1]), places_of(op, keys))


def added(op: Op, allowed: Value, like: Value, lowest: float = -np.inf) -> Value:
    """Return an additive mask: 0 where `allowed` is true, elsewhere `lowest`."""
    low = max(lowest, float(np.finfo(np.float32).min)) if np.isfinite(lowest) else lowest
    return op.make("Select", allowed, op.number_of(0.0, like), op.number_of(low, like))


def attended(
    op: Op, q: Value, k: Value, v: Value, masks: list[Value], softcap: float = 0.0, sink: Value | None = None
) -> Value:
    """Return attention with additive masks; if `softcap` is not 0, it bounds the scores.

    `sink`: scores [1, heads, 1, 1] of a key without a value, one for each head.
    """
    size, scale = q.type.shape[3] if q.type.shape.rank == 4 else None, op.number("scale", 0.0)
    if not scale and (size is None or not size.is_static):
        op.refuse("the size of a head must be known")
    factor = op.number_of(scale or 1 / np.sqrt(float(size.value if size is not None else 1)), q)
    if not softcap and sink is None:
        mask = _sum(op, masks) if masks else op.number_of(0.0, q)
        return op.make("ScaledDotProductAttention", q, k, v, mask, factor, opset=13, causal=False)
    scores = op.make("Multiply", op.make("MatMul", q, k, transpose_b=True), factor)
    if softcap:
        bound = op.number_of(softcap, q)
        scores = op.make("Multiply", op.make("Tanh", op.make("Divide", scores, bound)), bound)
    scores = _sum(op, [scores, *masks])
    if sink is None:
        return op.make("MatMul", op.make("SoftMax", scores, opset=8, axis=-1), v)
    shape = op.shape_of(scores)
    rows = op.make("Concat", op.make("Gather", shape, [0, 1, 2], 0, opset=8), [1], axis=0)
    wide = op.make("Concat", scores, op.make("Broadcast", sink, rows, opset=3), axis=3)
    weights = op.make("SoftMax", wide, opset=8, axis=-1)
    kept = op.make("Slice", weights, [0], op.make("Gather", shape, [3], 0, opset=8), [1], [3], opset=8)
    return op.make("MatMul", kept, v)


def _sum(op: Op, values: list[Value]) -> Value:
    return reduce(lambda a, b: op.make("Add", a, b), values)


def _padding(op: Op, mask: Value, q: Value, k: Value, begins: bool = False) -> Value:
    """Return an additive mask from a mask [batch, keys] or [batch, queries, keys] (1: a token), or from the positions
    where tokens end.

    The ends [batch] may be followed by other numbers; with `begins`, [2 * batch] also contains the positions where the
    tokens begin.
    """
    lowest = op.number("mask_filter_value", -10000.0)
    rank = mask.type.shape.rank
    if rank == 1:
        _check_ends(op, mask, q, begins)
        batch, places = op.extent(q, [0]), places_of(op, op.extent(k, 2))
        both = op.convert(mask, I64)
        ends = op.make("Unsqueeze", op.make("Slice", both, [0], batch, [1], opset=8), [1])
        allowed = op.make("Less", places, ends)
        if begins and mask.type.shape[0] != q.type.shape[0]:
            both = op.make("Concat", both, op.make("Broadcast", 0, batch, opset=3), axis=0)
            first = op.make("Slice", both, batch, op.make("Multiply", batch, 2), [1], opset=8)
            behind = op.make("GreaterEqual", places, op.make("Unsqueeze", first, [1]))
            allowed = op.make("LogicalAnd", allowed, behind)
    elif rank == 2:
        allowed = op.convert(mask, BOOLEAN)
    elif rank == 3:
        return added(op, op.make("Unsqueeze", op.convert(mask, BOOLEAN), [1]), q, lowest)
    else:
        op.refuse(f"a mask of rank {rank} is not supported")
    return added(op, op.make("Unsqueeze", allowed, [1, 2]), q, lowest)


def _check_ends(op: Op, ends: Value, q: Value, begins: bool) -> None:
    """Check the number of the positions where tokens end, for each batch. Raises Refused."""
    given, batch = ends.type.shape[0], q.type.shape[0]
    if not (given.is_static and batch.is_static):
        return
    allowed = [batch.value, *([2 * batch.value] if begins else []), 3 * batch.value + 2]
    if given.value not in allowed:
        expected = " or ".join(map(str, allowed))
        message = f"a mask of rank 1 has {given.value} elements, expected {expected} for {batch.value} batches"
        raise Refused("O001", message, found=str(given.value), allowed=expected)


def _causal(op: Op, q: Value, k: Value) -> Value:
    return added(op, op.make("GreaterEqual", _distances(op, q, k), 0), q)


def joined(op: Op, past: Value | None, now: Value) -> Value:
    return now if past is None else op.make("Concat", past, now, axis=2)


def _with_past(op: Op, past: Value | None, now: Value, before: Value | None) -> Value:
    """Return the new values appended to the past, or written into it after the `before` tokens that it contains."""
    if past is None or before is None:
        return joined(op, past, now)
    places = op.make("Add", places_of(op, op.extent(now, 2)), op.reshape(op.convert(before, I64), [1]))
    return op.make("ScatterUpdate", past, places, now, 2, opset=3)


@microsoft(
    "MultiHeadAttention",
    shapes="query: B S _ | B S num_heads 3 _; key: B L _ | B num_heads L _ | B L num_heads 2 _;"
    " value: B L _ | B num_heads L _; bias: _; key_padding_mask: _ | B _ | B S _; attention_bias: _ _ S _;"
    " past_key: B num_heads P _; past_value: B num_heads P _; past_sequence_length: scalar; cache_indirection:",
)
def _multi_head(op: Op) -> list[Value]:
    if op.get(9) is not None:
        op.refuse("beams that share a cache (cache_indirection) are not supported", port="cache_indirection")
    return _of_many_heads(op, op.get(3), op.get(4), op.get(5), op.get(8))


@microsoft("DecoderMaskedMultiHeadAttention")
def _decoder(op: Op) -> list[Value]:
    """Translate MultiHeadAttention of one new token, whose other inputs are in a different order."""
    if op.get(8) is not None or op.get(9) is not None:
        op.refuse("beams that share a cache (cache_indirection) are not supported", port="cache_indirection")
    op.flag("output_qk")
    shared = op.get(7) if op.flag("past_present_share_buffer") else None
    return _of_many_heads(op, op.get(10), op.get(3), op.get(4), shared)


def _of_many_heads(
    op: Op, bias: Value | None, mask: Value | None, added_bias: Value | None, before: Value | None
) -> list[Value]:
    """Translate attention of several heads. `before`: the tokens in the cache, if new values are written into it."""
    heads = op.count("num_heads")
    if op.get(1) is None or op.get(2) is None:
        op.refuse("query, key and value packed into one input are not supported")
    parts = [op[0], op[1], op[2]]
    if bias is not None:
        parts = _biased(op, parts, bias)
    q, k, v = (heads_of(op, part, heads) for part in parts)
    caches = (6, 7) if op.type == "MultiHeadAttention" else (5, 6)
    k, v = kept = [_with_past(op, op.get(i), new, before) for i, new in zip(caches, (k, v), strict=True)]
    if before is not None:
        count = op.make("Add", op.reshape(op.convert(before, I64), [1]), op.reshape(op.extent(q, 2), [1]))
        k, v = (op.make("Slice", x, [0], count, [1], [2], opset=8) for x in kept)
    masks = [value for value in (added_bias,) if value is not None]
    if mask is not None:
        masks.append(_padding(op, mask, q, k))
    if op.flag("unidirectional"):
        masks.append(_causal(op, q, k))
    op.number("mask_filter_value", 0.0)
    return [merged(op, attended(op, q, k, v, masks)), *kept]


def _biased(op: Op, parts: list[Value], bias: Value) -> list[Value]:
    """Return query, key and value with their parts of the bias; keys and values split into heads include it."""
    biased = [part for part in parts if part.type.shape.rank == 3]
    sizes = [part.type.shape[-1] for part in biased]
    if len(biased) not in (1, 3) or not all(size.is_static for size in sizes):
        op.refuse("a bias requires inputs of a known size")
    lengths = [size.value for size in sizes] + [-1] * (len(biased) == 1)
    of_each = op.make_node("VariadicSplit", bias, 0, lengths).outputs
    added = [op.make("Add", part, of_one) for part, of_one in zip(biased, of_each, strict=False)]
    return added + parts[len(added) :]


@microsoft(
    "Attention",
    shapes="input: B S I; weights: I P; bias: P; mask_index: _ | B _ | B S _ | B 1 _ _; past: 2 B num_heads _ _;"
    " attention_bias: _ _ S _; past_sequence_length: scalar",
)
def _attention(op: Op) -> list[Value]:
    projected = plus(op, op.make("MatMul", op[0], op[1]), op.get(2))
    if op.get(6) is not None:
        op.refuse("a shared cache is not supported")
    return _of_projected(op, projected, op.get(3), op.get(4), op.get(5))


@microsoft(
    "QAttention",
    shapes="input: B S I; weight: I P; bias: P; input_scale: scalar; weight_scale: scalar | P;"
    " mask_index: _ | B _ | B S _ | B 1 _ _; input_zero_point: scalar; weight_zero_point: scalar | P;"
    " past: 2 B num_heads _ _",
)
def _quantized_attention(op: Op) -> list[Value]:
    projected = scaled_product(op, (op[0], op[3], op.get(6)), (op[1], op[4], op.get(7)), op[2])
    return _of_projected(op, projected, op.get(5), op.get(8), None)


def _of_projected(op: Op, projected: Value, mask: Value | None, past: Value | None, bias: Value | None) -> list[Value]:
    """Return the attention of projected [batch, time, query, key and value]. `past`: [key and value, batch, heads,
    time, size].
    """
    heads, sizes = op.count("num_heads"), op.integers("qkv_hidden_sizes")
    if sizes:
        parts = op.make_node("VariadicSplit", projected, -1, sizes).outputs
    else:
        parts = op.make_node("Split", projected, -1, num_splits=3).outputs
    q, k, v = (heads_of(op, part, heads) for part in parts)
    if past is not None:
        of_keys, of_values = (op.make("Gather", past, i, 0, opset=8) for i in (0, 1))
        k, v = joined(op, of_keys, k), joined(op, of_values, v)
    masks = [] if bias is None else [bias]
    op.number("mask_filter_value", 0.0)
    if mask is not None:
        masks.append(_padding(op, mask, q, k, begins=True))
    if op.flag("unidirectional"):
        masks.append(_causal(op, q, k))
    results = [merged(op, attended(op, q, k, v, masks))]
    if op.wants(1):
        both = [op.make("Unsqueeze", part, [0]) for part in (k, v)]
        results.append(op.make("Concat", *both, axis=0))
    return results
