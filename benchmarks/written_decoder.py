"""A decoder with a cache, written for written_pairs.py with switches: see written_nets.py."""

from __future__ import annotations

from typing import Any

import numpy as np
from written_nets import FAULTS, HARMLESS, F, L, Weights, c, done, f16, net

from irexec import Model
from irexec import opset15 as ops

FAULTS["decoder"] = {
    "cache order": "keys",
    "cache order of values": "values",
    "rms eps": "power2 post_power2",
    "rope halves": "rotated",
    "rope sign": "rotated negated",
    "cos and sin": "straight straightk turned turnedk cos sin",
    "position off by one": "until position",
    "gqa tiled": "shared",
    "last position": "last",
    "beam": "kept",
    "cache of another": "keys values kept kept2",
    "kv swapped": "attended",
    "theta": "angle",
    "gate up swapped": "swish gated",
    "head row": "logits",
    "rms square root": "inverse root",
    "cache not extended": "past store",
    "softmax temperature": "attended",
    "argmax": "next",
}
HARMLESS["decoder"] = [
    "rms operator",
    "swish written out",
    "rope by slices",
    "repeat by tile",
    "f16 weights",
    "sdpa written out",
    "rsqrt as power",
    "assign renamed",
    "argmax by topk stable",
    "transposed weights",
]


@net
def decoder(f: str) -> tuple[Model, list[list[np.ndarray]]]:
    w = Weights(3)
    d, h, g, e, vocabulary = 32, 4, 2, 8, 50
    ids = ops.parameter([1, -1], L, name="ids")
    start = ops.parameter([1], L, name="start")
    beam = ops.parameter([1], np.int32, name="beam")
    table = w(vocabulary, d, scale=0.02)
    y = ops.gather(f16(table) if f == "f16 weights" else c(table), ids, c(L(0)), name="embedded")

    def rms(v: Any, gain: np.ndarray, prefix: str = "") -> Any:
        eps = 1e-4 if f == "rms eps" else 1e-5
        if f == "rms operator" and hasattr(ops, "rms"):
            return ops.rms(v, c(gain), eps, name=f"{prefix}rms")
        mean = ops.add(
            ops.reduce_mean(ops.multiply(v, v, name=f"{prefix}power"), c(np.array([-1], L)), True),
            c(F(eps)),
            name=f"{prefix}power2",
        )
        if f == "rsqrt as power":
            inverse = ops.power(mean, c(F(-0.5)), name=f"{prefix}inverse")
        else:
            inverse = ops.divide(
                c(F(1)),
                mean if f == "rms square root" else ops.sqrt(mean, name=f"{prefix}root"),
                name=f"{prefix}inverse",
            )
        return ops.multiply(ops.multiply(v, inverse), c(gain), name=f"{prefix}rms")

    n = rms(y, w(d) + 1)

    def linear(v: Any, m: np.ndarray, name: str) -> Any:
        if f == "transposed weights":
            return ops.matmul(v, c(np.ascontiguousarray(m.T)), False, True, name=name)
        return ops.matmul(v, f16(m) if f == "f16 weights" else c(m), False, False, name=name)

    def heads(v: Any, count: int, name: str) -> Any:
        return ops.transpose(
            ops.reshape(v, c(np.array([0, 0, count, e], L)), True), c(np.array([0, 2, 1, 3], L)), name=name
        )

    q, k, v = (
        heads(linear(n, w(d, h * e), "wq"), h, "q"),
        heads(linear(n, w(d, g * e), "wk"), g, "k"),
        heads(linear(n, w(d, g * e), "wv"), g, "v"),
    )
    length = ops.gather(ops.shape_of(ids), c(L(1)), c(L(0)), name="length")
    begin = ops.squeeze(start, c(np.array([0], L)))
    if f == "position off by one":
        begin = ops.add(begin, c(L(1)), name="begin")
    position = ops.convert(
        ops.range(begin, ops.add(begin, length, name="until"), c(L(1)), "i64"), "f32", name="position"
    )
    base = 1000.0 if f == "theta" else 10000.0
    frequencies = (base ** -(np.arange(0, e, 2) / e)).astype(F)
    angle = ops.multiply(ops.unsqueeze(position, c(np.array([1], L))), c(frequencies.reshape(1, -1)), name="angle")
    both = ops.concat([angle, angle], -1, name="angles")
    cos, sin = ops.cos(both, name="cos"), ops.sin(both, name="sin")
    if f == "cos and sin":
        cos, sin = sin, cos

    def rope(v: Any, suffix: str) -> Any:
        if f == "rope by slices":
            at = [c(np.array([x], L)) for x in (0, e // 2, e)]
            one, axis = c(np.array([1], L)), c(np.array([-1], L))
            a, b = ops.slice(v, at[0], at[1], one, axis), ops.slice(v, at[1], at[2], one, axis)
        else:
            a, b = ops.split(v, c(L(-1)), 2, name=f"halves{suffix}").outputs
        halves = [ops.negative(b, name=f"negated{suffix}"), a]
        if f == "rope halves" and not suffix:
            halves = halves[::-1]
        if f == "rope sign" and not suffix:
            halves = [b, ops.negative(a, name="negated")]
        rotated = ops.concat(halves, -1, name=f"rotated{suffix}")
        return ops.add(
            ops.multiply(v, cos, name=f"straight{suffix}"),
            ops.multiply(rotated, sin, name=f"turned{suffix}"),
            name=f"roped{suffix}",
        )

    q, k = rope(q, ""), rope(k, "k")
    name = {"K": "cache.k", "V": "cache.v"} if f != "assign renamed" else {"K": "past.0", "V": "past.1"}
    none = c(np.zeros((1, g, 0, e), F))
    past = ops.read_value(none, name["K"], "f32", [1, g, -1, e], name="past")
    past2 = ops.read_value(none, name["V"], "f32", [1, g, -1, e], name="past2")
    kept = past if f == "beam" else ops.gather(past, beam, c(L(0)), name="kept")
    kept2 = ops.gather(past2, beam, c(L(0)), name="kept2")
    if f == "cache of another":
        kept, kept2 = kept2, kept
    keys = ops.concat([k, kept] if f == "cache order" else [kept, k], 2, name="keys")
    values = ops.concat([v, kept2] if f == "cache order of values" else [kept2, v], 2, name="values")
    if f == "cache not extended":
        store = ops.assign(k, name["K"], name="store")
    else:
        store = ops.assign(keys, name["K"], name="store")
    store2 = ops.assign(values, name["V"], name="store2")

    def shared(x: Any, suffix: str) -> Any:
        r = h // g
        if f == "repeat by tile":
            x = ops.tile(ops.unsqueeze(x, c(L(2))), c(np.array([1, 1, r, 1, 1], L)))
        elif f in ("gqa tiled", "group heads") and not suffix:
            x = ops.tile(ops.unsqueeze(x, c(L(1))), c(np.array([1, r, 1, 1, 1], L)), name="shared/tile")
        else:
            wide = ops.unsqueeze(x, c(L(2)), name=f"shared{suffix}/wide")
            x = ops.broadcast(
                wide, c(np.array([1, 1, r, 1, 1], L)), broadcast_spec="BIDIRECTIONAL", name=f"shared{suffix}/broadcast"
            )
        return ops.reshape(x, c(np.array([1, h, -1, e], L)), False, name=f"shared{suffix}")

    ks, vs = shared(keys, ""), shared(values, "v")
    if f == "kv swapped":
        ks, vs = vs, ks
    total = ops.gather(ops.shape_of(ks), c(L(2)), c(L(0)), name="total")
    columns = ops.range(c(L(0)), total, c(L(1)), "i64", name="columns")
    rows = ops.unsqueeze(
        ops.add(ops.range(c(L(0)), length, c(L(1)), "i64"), ops.subtract(total, length)),
        c(np.array([1], L)),
        name="rows",
    )
    mask = ops.select(ops.less_equal(columns, rows, name="visible"), c(F(0)), c(F(-3.4e38)), name="mask")
    scale = c(F(1 / np.sqrt(8) if f != "softmax temperature" else 0.5))
    if f == "sdpa written out":
        a = ops.matmul(
            ops.softmax(ops.add(ops.multiply(ops.matmul(q, ks, False, True), scale), mask), -1),
            vs,
            False,
            False,
            name="attended",
        )
    else:
        a = ops.scaled_dot_product_attention(q, ks, vs, mask, scale, False, name="attended")
    a = ops.reshape(
        ops.transpose(a, c(np.array([0, 2, 1, 3], L)), name="back"), c(np.array([0, 0, d], L)), True, name="merged"
    )
    y = ops.add(y, linear(a, w(d, d), "wo"), name="res1")
    n = rms(y, w(d) + 1, "post_")
    gate, up = linear(n, w(d, 48), "gate"), linear(n, w(d, 48), "up")
    if f == "gate up swapped":
        gate, up = up, gate
    activated = (
        ops.multiply(gate, ops.sigmoid(gate), name="swish")
        if f == "swish written out"
        else ops.swish(gate, name="swish")
    )
    y = ops.add(y, linear(ops.multiply(activated, up, name="gated"), w(48, d), "down"), name="res2")
    last = ops.gather(y, c(np.array([0 if f == "last position" else -1], L)), c(L(1)), name="last")
    head = w(d, vocabulary)
    head = np.roll(head, 1, 1) if f == "head row" else head
    logits = linear(last, head, "logits")
    top = ops.topk(
        logits,
        c(L(1)),
        -1,
        "min" if f == "argmax" else "max",
        "value",
        "i64",
        f == "argmax by topk stable",
        name="next",
    )
    steps = [[np.array([[3, 14, 15, 9, 2, 6]], L), np.array([0], L), np.zeros(1, np.int32)]]
    steps += [[np.array([[5 + k]], L), np.array([6 + k], L), np.zeros(1, np.int32)] for k in range(2)]
    return done([logits, top.output(1)], [ids, start, beam], [store, store2]), steps
