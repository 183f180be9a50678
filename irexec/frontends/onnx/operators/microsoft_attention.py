"""Attention in com.microsoft: of many heads, of groups of heads, with what was kept of earlier tokens, and rotated.

Source: ONNX Runtime's list of contributed operators. All are ScaledDotProductAttention of IR on [batch, heads, time,
size], with one mask that is added to the scores.
"""

from __future__ import annotations

import numpy as np

from irexec.frontends.onnx.op import Op
from irexec.frontends.onnx.operators.microsoft import microsoft, plus
from irexec.graph.model import Value
from irexec.types import BOOLEAN, I64


def _heads(op: Op, x: Value, count: int) -> Value:
    """[batch, time, heads * size] as [batch, heads, time, size]; what has four axes is so already."""
    if x.type.shape.rank == 4:
        return x
    apart = op.reshape(x, [0, 0, count, -1], zero_copies=True)
    return op.make("Transpose", apart, op.constant(np.array([0, 2, 1, 3])), opset=1)


def _merged(op: Op, x: Value) -> Value:
    turned = op.make("Transpose", x, op.constant(np.array([0, 2, 1, 3])), opset=1)
    return op.reshape(turned, [0, 0, -1], zero_copies=True)


def _extent(op: Op, x: Value, axis: int) -> Value:
    return op.make("Gather", op.shape_of(x), axis, 0, opset=8)


def _places(op: Op, count: Value) -> Value:
    return op.make("Range", 0, count, 1, opset=4, output_type=I64)


def _distances(op: Op, q: Value, k: Value) -> Value:
    """[queries, keys]: how many tokens before the query each key is; the last of both are the same token."""
    queries, keys = _extent(op, q, 2), _extent(op, k, 2)
    rows = op.make("Add", _places(op, queries), op.make("Subtract", keys, queries, opset=1), opset=1)
    return op.make("Subtract", op.make("Unsqueeze", rows, [1], opset=1), _places(op, keys), opset=1)


def _added(op: Op, allowed: Value, like: Value, lowest: float = -np.inf) -> Value:
    """A mask that is added: 0 where it is allowed, else the lowest number."""
    low = max(lowest, float(np.finfo(np.float32).min)) if np.isfinite(lowest) else lowest
    return op.make("Select", allowed, op.number_of(0.0, like), op.number_of(low, like), opset=1)


def _attended(op: Op, q: Value, k: Value, v: Value, masks: list[Value], scale: float) -> Value:
    size = q.type.shape[3] if q.type.shape.rank == 4 else None
    if not scale and (size is None or not size.is_static):
        op.refuse("the size of a head must be known")
    factor = op.number_of(scale or 1 / np.sqrt(float(size.value if size is not None else 1)), q)
    mask = masks[0] if masks else op.number_of(0.0, q)
    for other in masks[1:]:
        mask = op.make("Add", mask, other, opset=1)
    return op.make("ScaledDotProductAttention", q, k, v, mask, factor, opset=13, causal=False)


def _padding(op: Op, mask: Value, q: Value, k: Value) -> Value:
    """[batch, 1, 1, keys] of a mask [batch, keys] (1: a token), or of lengths [batch]."""
    lowest = op.number("mask_filter_value", -10000.0)
    rank = mask.type.shape.rank
    if rank == 1:
        lengths = op.make("Unsqueeze", op.convert(mask, I64), [1], opset=1)
        allowed = op.make("Less", _places(op, _extent(op, k, 2)), lengths, opset=1)
    elif rank == 2:
        allowed = op.convert(mask, BOOLEAN)
    elif rank == 3:
        return _added(op, op.make("Unsqueeze", op.convert(mask, BOOLEAN), [1], opset=1), q, lowest)
    else:
        op.refuse(f"a mask of rank {rank} is not translated")
    return _added(op, op.make("Unsqueeze", allowed, [1, 2], opset=1), q, lowest)


def _causal(op: Op, q: Value, k: Value, lowest: float = -np.inf) -> Value:
    return _added(op, op.make("GreaterEqual", _distances(op, q, k), 0, opset=1), q, lowest)


def _joined(op: Op, past: Value | None, now: Value) -> Value:
    return now if past is None else op.make("Concat", past, now, opset=1, axis=2)


@microsoft("MultiHeadAttention")
def _multi_head(op: Op) -> list[Value]:
    heads, bias = op.integer("num_heads"), op.get(3)
    if op.get(1) is None or op.get(2) is None:
        op.refuse("query, key and value packed into one input are not translated")
    if any(op.get(i) is not None for i in (8, 9)):
        op.refuse("a cache that is shared is not translated")
    parts = [op[0], op[1], op[2]]
    if bias is not None:
        sizes = [part.type.shape[-1] for part in parts]
        if not all(size.is_static for size in sizes) or any(part.type.shape.rank != 3 for part in parts):
            op.refuse("a bias needs inputs of a known size")
        of_each = op.make_node("VariadicSplit", bias, 0, [s.value for s in sizes], opset=1).outputs
        parts = [op.make("Add", part, b, opset=1) for part, b in zip(parts, of_each, strict=True)]
    q, k, v = (_heads(op, part, heads) for part in parts)
    k, v = _joined(op, op.get(6), k), _joined(op, op.get(7), v)
    masks = [value for value in (op.get(5),) if value is not None]
    mask = op.get(4)
    if mask is not None:
        masks.append(_padding(op, mask, q, k))
    if op.flag("unidirectional"):
        masks.append(_causal(op, q, k))
    op.number("mask_filter_value", 0.0)
    return [_merged(op, _attended(op, q, k, v, masks, op.number("scale", 0.0))), k, v]


@microsoft("Attention")
def _attention(op: Op) -> list[Value]:
    heads, sizes = op.integer("num_heads"), op.integers("qkv_hidden_sizes")
    projected = plus(op, op.make("MatMul", op[0], op[1], opset=1), op.get(2))
    if sizes:
        parts = op.make_node("VariadicSplit", projected, -1, sizes, opset=1).outputs
    else:
        parts = op.make_node("Split", projected, -1, opset=1, num_splits=3).outputs
    q, k, v = (_heads(op, part, heads) for part in parts)
    past = op.get(4)
    if past is not None:
        of_keys, of_values = (op.make("Gather", past, i, 0, opset=8) for i in (0, 1))
        k, v = _joined(op, of_keys, k), _joined(op, of_values, v)
    masks = [value for value in (op.get(5),) if value is not None]
    mask, lowest = op.get(3), op.number("mask_filter_value", -10000.0)
    if mask is not None:
        masks.append(_padding(op, mask, q, k))
    if op.flag("unidirectional"):
        masks.append(_causal(op, q, k, lowest))
    results = [_merged(op, _attended(op, q, k, v, masks, op.number("scale", 0.0)))]
    if op.wants(1):
        both = [op.make("Unsqueeze", part, [0], opset=1) for part in (k, v)]
        results.append(op.make("Concat", *both, opset=1, axis=0))
    return results


@microsoft("GroupQueryAttention")
def _group_query(op: Op) -> list[Value]:
    heads, groups = op.integer("num_heads"), op.integer("kv_num_heads")
    parts = _unpacked(op, heads, groups) if op.get(1) is None else [op[0], op[1], op[2]]
    q, k, v = (_heads(op, part, n) for part, n in zip(parts, (heads, groups, groups), strict=True))
    past = op.get(3)
    before = op.constant(np.array(0)) if past is None else _extent(op, past, 2)
    if op.flag("do_rotary"):
        times = _places(op, _extent(op, q, 2))
        places = op.make("Unsqueeze", op.make("Add", times, before, opset=1), [0], opset=1)
        interleaved = op.flag("rotary_interleaved")
        q, k = (rotated(op, x, places, op[7], op[8], interleaved) for x in (q, k))
    op.flag("rotary_interleaved")
    k, v = _joined(op, past, k), _joined(op, op.get(4), v)
    distances = _distances(op, q, k)
    allowed = op.make("GreaterEqual", distances, 0, opset=1)
    window = op.integer("local_window_size", -1)
    if window > 0:
        allowed = op.make("LogicalAnd", allowed, op.make("Less", distances, window, opset=1), opset=1)
    if op.number("softcap", 0.0) or op.flag("smooth_softmax"):
        op.refuse("scores that are bounded are not translated")
    # Every head of a group of queries has the same keys and values.
    wide_k, wide_v = (_repeated(op, x, heads // max(groups, 1)) for x in (k, v))
    return [_merged(op, _attended(op, q, wide_k, wide_v, [_added(op, allowed, q)], op.number("scale", 0.0))), k, v]


def _unpacked(op: Op, heads: int, groups: int) -> list[Value]:
    last = op[0].type.shape[-1]
    if not last.is_static:
        op.refuse("query, key and value in one input need a known size")
    size = last.value // (heads + 2 * groups)
    lengths = [heads * size, groups * size, groups * size]
    return list(op.make_node("VariadicSplit", op[0], -1, lengths, opset=1).outputs)


def _repeated(op: Op, x: Value, times: int) -> Value:
    if times == 1:
        return x
    wide = op.make("Unsqueeze", x, [2], opset=1)
    tiled = op.make("Tile", wide, [1, 1, times, 1, 1], opset=1)
    shape = op.shape_of(x)
    parts = [op.make("Gather", shape, [axis], 0, opset=8) for axis in (0, 2, 3)]
    target = op.make("Concat", parts[0], [-1], parts[1], parts[2], opset=1, axis=0)
    return op.reshape(tiled, target)


@microsoft("RotaryEmbedding")
def _rotary(op: Op) -> Value:
    x, places = op[0], op.convert(op[1], I64)
    if op.number("scale", 1.0) != 1 or op.flag("is_packed_batching"):
        op.refuse("a scale, and packed batches, are not translated")
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
    wide = _heads(op, x, heads)
    if places.type.shape.rank == 1:
        times = _places(op, _extent(op, wide, 2))
        places = op.make("Unsqueeze", op.make("Add", times, places, opset=1), [0], opset=1)
    made = rotated(op, wide, places, op[2], op[3], op.flag("interleaved"))
    return made if x.type.shape.rank == 4 else _merged(op, made)


def rotated(op: Op, x: Value, places: Value, cos: Value, sin: Value, interleaved: bool) -> Value:
    """The first elements of each head, in pairs, turned by the angle of their place; the others as they are."""
    half, size = cos.type.shape[-1], x.type.shape[-1]
    if not (half.is_static and size.is_static):
        op.refuse("the size of a head must be known")
    turned, rest = 2 * half.value, size.value - 2 * half.value
    kept = None
    if rest:
        x, kept = op.make_node("VariadicSplit", x, -1, [turned, rest], opset=1).outputs
    c, s = (op.make("Unsqueeze", op.make("Gather", t, places, 0, opset=8), [1], opset=1) for t in (cos, sin))
    if interleaved:
        pairs = op.reshape(x, [0, 0, 0, half.value, 2], zero_copies=True)
        a, b = (op.make("Gather", pairs, i, 4, opset=8) for i in (0, 1))
    else:
        a, b = op.make_node("Split", x, -1, opset=1, num_splits=2).outputs
    first = op.make("Subtract", op.make("Multiply", a, c, opset=1), op.make("Multiply", b, s, opset=1), opset=1)
    second = op.make("Add", op.make("Multiply", a, s, opset=1), op.make("Multiply", b, c, opset=1), opset=1)
    if interleaved:
        ends = [op.make("Unsqueeze", part, [4], opset=1) for part in (first, second)]
        made = op.reshape(op.make("Concat", *ends, opset=1, axis=4), [0, 0, 0, turned], zero_copies=True)
    else:
        made = op.make("Concat", first, second, opset=1, axis=-1)
    return made if kept is None else op.make("Concat", made, kept, opset=1, axis=-1)
