"""Translators of com.microsoft's group query attention with a cache, and of rotary embeddings.

Source: ONNX Runtime's list of contributed operators.
"""

from __future__ import annotations

import numpy as np

from irexec.core.types import F32, I8, I64
from irexec.frontends.onnx.op import Op
from irexec.frontends.onnx.operators.microsoft import microsoft, root_mean_square
from irexec.frontends.onnx.operators.microsoft_attention import added, attended, heads_of, merged, places_of
from irexec.model.graph.model import Value


@microsoft(
    "GroupQueryAttention",
    shapes="query: B S _; key: B L _; value: B L _; past_key: B kv_num_heads P _; past_value: B kv_num_heads P _;"
    " seqlens_k: B | B 1 | 1 B; total_sequence_length: scalar; cos_cache: M R; sin_cache: M R; position_ids: B S;"
    " attention_bias: _ _ S _; head_sink: num_heads; k_scale:; v_scale:; q_norm_weight: _; k_norm_weight: _",
)
def _group_query(op: Op) -> list[Value]:
    """Translate attention of rows that may differ in length: elements after a row's end are padding."""
    heads, groups = op.count("num_heads"), op.count("kv_num_heads")
    if heads % groups:
        op.refuse(f"num_heads is {heads}, which is not a multiple of kv_num_heads {groups}", attribute="num_heads")
    _refuse_what_is_not_translated(op)
    parts = _unpacked(op, heads, groups) if op.get(1) is None else [op[0], op[1], op[2]]
    q, k, v = (heads_of(op, part, n) for part, n in zip(parts, (heads, groups, groups), strict=True))
    times = op.extent(q, 2)
    total = op.convert(op.reshape(op[6], []), I64)
    ends = op.make("Unsqueeze", op.convert(op.reshape(op[5], [-1]), I64), [1])
    ends = op.make("Add", ends, 1)
    before = op.make("Subtract", ends, times)
    # If the new tokens are all tokens, the cache contains no earlier tokens.
    before = op.make("Select", op.make("Equal", times, total), 0, before)
    places = op.make("Add", before, places_of(op, times))
    interleaved, epsilon = op.flag("rotary_interleaved"), op.number("qk_norm_epsilon", 1e-6)
    if op.get(14) is not None:
        q, k = (root_mean_square(op, x, op[i], [-1], epsilon)[0] for x, i in ((q, 14), (k, 15)))
    if op.flag("do_rotary"):
        turned_at = places if op.get(9) is None else op.convert(op[9], I64)
        q, k = (rotated(op, x, turned_at, op[7], op[8], interleaved) for x in (q, k))
    kept = [_stored(op, new, i) for i, new in enumerate((k, v))]
    if op.get(3) is not None:
        op.check_shapes("query: B S _; key: B S _; value: B S _")
        kept = [_continued(op, op[3 + i], new, before, total) for i, new in enumerate(kept)]
        whole = op.make("Unsqueeze", total, [0])
        k, v = (op.make("Slice", x, [0], whole, [1], [2], opset=8) for x in kept)
    k, v = (_dequantized(op, x, i, q) for i, x in enumerate((k, v)))
    masks = [added(op, _seen(op, places, ends, op.extent(k, 2)), q)]
    masks += [bias for bias in (op.get(10),) if bias is not None]
    sink = op.get(11)
    if sink is not None:
        sink = op.reshape(sink, [1, heads, 1, 1])
    elif op.integer("smooth_softmax", 0) > 0:
        sink = op.constant(np.zeros((1, 1, 1, 1), q.element_type.dtype), q.element_type)
    # All heads of a group of queries share the same keys and values.
    k, v = (repeated(op, x, heads // groups) for x in (k, v))
    return [merged(op, attended(op, q, k, v, masks, op.number("softcap", 0.0), sink)), *kept]


def _refuse_what_is_not_translated(op: Op) -> None:
    for name in ("qk_output", "sliding_window_cache"):
        if op.integer(name, 0):
            op.refuse(f"{name} is not supported", attribute=name)
    if op.integer("kv_cache_bit_width", 0) == 4:
        op.refuse("a 4-bit cache is not supported", attribute="kv_cache_bit_width")


def _stored(op: Op, new: Value, which: int) -> Value:
    """Return keys (0) or values (1) as in the cache: quantized to 8 bits with k_quant_type and v_quant_type."""
    if op.text(f"{'kv'[which]}_quant_type", "NONE") == "NONE":
        return new
    ratio = op.make("Divide", op.convert(new, F32), _spread(op, which))
    rounded = op.make("Round", ratio, opset=5, mode="half_to_even")
    return op.convert(op.make("Clamp", rounded, min=-128.0, max=127.0), I8)


def _dequantized(op: Op, x: Value, which: int, like: Value) -> Value:
    """Return the dequantized keys or values of a cache."""
    if x.element_type is like.element_type:
        return x
    return op.convert(op.make("Multiply", op.convert(x, F32), _spread(op, which)), like.element_type)


def _spread(op: Op, which: int) -> Value:
    """Return the scale of the keys or values: a scalar, or [1, groups, 1, size] with a scale for each element."""
    scale, groups = op.convert(op[12 + which], F32), op.integer("kv_num_heads")
    per_tensor = op.text(f"{'kv'[which]}_quant_type", "NONE") == "PER_TENSOR"
    return op.reshape(scale, [] if per_tensor else [1, groups, 1, -1])


def _continued(op: Op, past: Value, new: Value, before: Value, total: Value) -> Value:
    """Return [batch, groups, time, size]: for each row its past, followed by the new values, followed by zeros.

    Its length is the length of the past's buffer, or of the longest row.
    """
    room, times = op.extent(past, 2), op.extent(new, 2)
    nothing = op.make("Multiply", op.make("Slice", new, [0], [1], [1], [2], opset=8), op.number_of(0, new))
    all_of = op.make("Concat", past, new, nothing, axis=2)
    places = places_of(op, op.make("Maximum", room, total))
    since = op.make("Subtract", places, before)
    taken = op.make("Add", room, op.make("Minimum", since, times))
    taken = op.make("Select", op.make("Less", since, 0), places, taken)
    return op.make("Gather", all_of, taken, 2, opset=8, batch_dims=1)


def _seen(op: Op, places: Value, ends: Value, keys: Value) -> Value:
    """Return [batch, 1, queries, keys]: the keys visible to a query at a position: none after the row's end, none
    before the window and, unless causal is 0, none after the query."""
    distances = op.make("Subtract", op.make("Unsqueeze", places, [2]), places_of(op, keys))
    inside = op.make("Less", places_of(op, keys), op.make("Unsqueeze", ends, [2]))
    window, allowed = op.integer("local_window_size", -1), inside
    if op.flag("causal", True):
        allowed = op.make("LogicalAnd", op.make("GreaterEqual", distances, 0), inside)
    if window > 0:
        allowed = op.make("LogicalAnd", allowed, op.make("Less", distances, window))
    return op.make("Unsqueeze", allowed, [1])


def _unpacked(op: Op, heads: int, groups: int) -> list[Value]:
    last = op[0].type.shape[-1]
    if not last.is_static:
        op.refuse("query, key and value in one input need a known size")
    size = last.value // (heads + 2 * groups)
    lengths = [heads * size, groups * size, groups * size]
    return list(op.make_node("VariadicSplit", op[0], -1, lengths).outputs)


def repeated(op: Op, x: Value, times: int) -> Value:
    if times == 1:
        return x
    wide = op.make("Unsqueeze", x, [2])
    tiled = op.make("Tile", wide, [1, 1, times, 1, 1])
    shape = op.shape_of(x)
    parts = [op.make("Gather", shape, [axis], 0, opset=8) for axis in (0, 2, 3)]
    target = op.make("Concat", parts[0], [-1], parts[1], parts[2], axis=0)
    return op.reshape(tiled, target)


@microsoft("RotaryEmbedding", shapes="input: B S _ | B _ S _; position_ids: 1 | B S; cos_cache: M R; sin_cache: M R")
def _rotary(op: Op) -> Value:
    x, places = op[0], op.convert(op[1], I64)
    if op.number("scale", 1.0) != 1 or op.flag("is_packed_batching"):
        op.refuse("scale and packed batches are not supported")
    size, heads = op.integer("rotary_embedding_dim", 0), op.integer("num_heads", 0)
    half = op[2].type.shape[-1] if op.rank(2) == 2 else None
    if x.type.shape.rank == 3:
        if not heads:
            if half is None or not half.is_static or size:
                op.refuse("the number of heads must be known", attribute="num_heads")
            last = x.type.shape[-1]
            heads = last.value // (2 * half.value) if last.is_static else 0
        if heads < 1:
            op.refuse("the number of heads must be known", attribute="num_heads")
    wide = heads_of(op, x, heads)
    if places.type.shape.rank == 1:
        times = places_of(op, op.extent(wide, 2))
        places = op.make("Unsqueeze", op.make("Add", times, places), [0])
    made = rotated(op, wide, places, op[2], op[3], op.flag("interleaved"))
    return made if x.type.shape.rank == 4 else merged(op, made)


def rotated(op: Op, x: Value, places: Value, cos: Value, sin: Value, interleaved: bool) -> Value:
    """Return each head with its first elements rotated in pairs, by the angle of their position. Further elements are
    unchanged."""
    half, size = cos.type.shape[-1], x.type.shape[-1]
    if not (half.is_static and size.is_static):
        op.refuse("the size of a head must be known")
    turned, rest = 2 * half.value, size.value - 2 * half.value
    kept = None
    if rest:
        x, kept = op.make_node("VariadicSplit", x, -1, [turned, rest]).outputs
    c, s = (op.make("Unsqueeze", op.make("Gather", t, places, 0, opset=8), [1]) for t in (cos, sin))
    if interleaved:
        pairs = op.reshape(x, [0, 0, 0, half.value, 2], zero_copies=True)
        a, b = (op.make("Gather", pairs, i, 4, opset=8) for i in (0, 1))
    else:
        a, b = op.make_node("Split", x, -1, num_splits=2).outputs
    first = op.make("Subtract", op.make("Multiply", a, c), op.make("Multiply", b, s))
    second = op.make("Add", op.make("Multiply", a, s), op.make("Multiply", b, c))
    if interleaved:
        ends = [op.make("Unsqueeze", part, [4]) for part in (first, second)]
        made = op.reshape(op.make("Concat", *ends, axis=4), [0, 0, 0, turned], zero_copies=True)
    else:
        made = op.make("Concat", first, second, axis=-1)
    return made if kept is None else op.make("Concat", made, kept, axis=-1)
