"""An encoder of text, written for written_pairs.py with switches: see written_nets.py."""

from __future__ import annotations

from typing import Any

import numpy as np
from written_nets import FAULTS, HARMLESS, F, L, Weights, c, done, f16, net

from irexec import Model
from irexec import opset15 as ops

FAULTS["encoder"] = {
    "swapped indices": "table",
    "other row first": "positions",
    "ln axes": "ln1",
    "ln eps": "ln1",
    "ln gain missing": "q/product k/product v/product gain",
    "mask off by one": "both",
    "mask sign": "mask sdpa",
    "wrong scale": "sdpa",
    "no scale": "sdpa",
    "keys for values": "sdpa",
    "heads order": "qh qh/split",
    "heads merged wrongly": "merged",
    "gelu mode": "gelu",
    "gelu as relu": "gelu",
    "residual before norm": "res1",
    "residual dropped": "out res1 ln2 res2",
    "tokens off by one": "tokens table",
    "types narrowed": "tokens table",
    "eps outside": "ln2",
    "variance not normalized": "ln2",
    "pooled last": "first",
    "transposed out": "out/product",
    "k bias": "k",
    "less equal": "visible",
    "select swapped": "chosen",
    "not": "visible chosen",
}
HARMLESS["encoder"] = [
    "ln written out",
    "gelu written out",
    "sdpa written out",
    "transposed weights",
    "f16 weights",
    "split for slices",
    "indices i32",
    "commuted",
    "qkv in one",
    "select as multiply",
    "gather for slice",
    "unsqueeze for reshape",
    "gelu by hand",
    "mask of constants",
]


@net
def encoder(f: str) -> tuple[Model, list[list[np.ndarray]]]:
    w = Weights(2)
    n, d, h, e = 10, 32, 4, 8
    ids = ops.parameter([1, n], L, name="ids")
    seen = ops.parameter([1, n], L, name="seen")
    tokens = ids
    if f == "tokens off by one":
        tokens = ops.add(ids, c(np.array([[1]], L)), name="tokens")
    if f == "types narrowed":
        tokens = ops.convert(ops.convert(ids, "i8"), "i64", name="tokens")
    if f == "indices i32":
        tokens = ops.convert(ids, "i32", name="tokens")
    table = w(300, d)
    if f == "swapped indices":
        table = table.copy()
        table[[7, 9]] = table[[9, 7]]
    y = ops.gather(f16(table) if f == "f16 weights" else c(table), tokens, c(L(0)), name="table")
    p = w(1, n, d)
    p = np.roll(p, 1, 1) if f == "other row first" else p
    y = ops.add(c(p), y, name="positions") if f == "commuted" else ops.add(y, c(p), name="positions")

    def ln(v: Any, name: str, axes: list[int], eps: float, mode: str = "inside_sqrt", normalize: bool = True) -> Any:
        if f == "ln written out":
            a = c(np.array([-1], L))
            centred = ops.subtract(v, ops.reduce_mean(v, a, True))
            squares = ops.reduce_mean(ops.multiply(centred, centred), a, True)
            return ops.divide(centred, ops.sqrt(ops.add(squares, c(F(eps)))), name=name)
        return ops.mvn(v, c(np.array(axes, L)), normalize, eps, mode, name=name)

    one = ln(y, "ln1", [-2] if f == "ln axes" else [-1], 1e-4 if f == "ln eps" else 1e-5)
    gain = w(1, 1, d) + 1
    normed = one if f == "ln gain missing" else ops.multiply(one, c(gain), name="gain")
    wq, wk, wv, bq, bk, bv = w(d, d), w(d, d), w(d, d), w(d), w(d), w(d)

    def linear(v: Any, m: np.ndarray, b: np.ndarray, name: str) -> Any:
        if f == "transposed weights":
            product = ops.matmul(v, c(np.ascontiguousarray(m.T)), False, True, name=f"{name}/product")
        else:
            product = ops.matmul(v, f16(m) if f == "f16 weights" else c(m), False, False, name=f"{name}/product")
        return ops.add(product, c(b.reshape(1, 1, -1)), name=name)

    if f == "qkv in one":
        qkv = linear(normed, np.hstack([wq, wk, wv]), np.hstack([bq, bk, bv]), "qkv")
        q, k, v = ops.split(qkv, c(L(2)), 3, name="parts").outputs
    else:
        q, k, v = (
            linear(normed, wq, bq, "q"),
            linear(normed, wk, bk * (0 if f == "k bias" else 1), "k"),
            linear(normed, wv, bv, "v"),
        )

    def heads(v: Any, name: str) -> Any:
        target = [1, n, e, h] if f == "heads order" and name == "qh" else [1, n, h, e]
        order = [0, 3, 1, 2] if f == "heads order" and name == "qh" else [0, 2, 1, 3]
        return ops.transpose(
            ops.reshape(v, c(np.array(target, L)), False, name=f"{name}/split"), c(np.array(order, L)), name=name
        )

    qh, kh, vh = heads(q, "qh"), heads(k, "kh"), heads(v, "vh")
    lower = np.tril(np.ones((n, n), bool), 1 if f == "mask off by one" else 0)
    if f == "mask of constants":
        causal = ops.less_equal(c(np.arange(n).reshape(1, n)), c(np.arange(n).reshape(n, 1)))
    else:
        causal = c(lower)
    zero = c(np.zeros((1, 1, 1, 1), L))
    wide = ops.reshape(seen, c(np.array([1, 1, 1, n], L)), False, name="wide")
    if f == "unsqueeze for reshape":
        wide = ops.unsqueeze(seen, c(np.array([1, 2], L)), name="wide")
    compare = {"less equal": ops.greater_equal, "not": ops.equal}.get(f, ops.greater)
    visible = ops.logical_and(compare(wide, zero, name="visible"), causal, name="both")
    low, no = c(F(-65504 if f != "mask sign" else 65504)), c(F(0))
    if f == "select as multiply":
        mask = ops.multiply(ops.subtract(c(F(1)), ops.convert(visible, "f32")), low, name="mask")
    else:
        mask = ops.select(visible, no, low, name="mask")
    scale = {"wrong scale": 1 / 8, "no scale": 1.0}.get(f, 1 / np.sqrt(8))
    if f == "sdpa written out":
        scores = ops.multiply(ops.matmul(qh, kh, False, True), c(F(scale)))
        a = ops.matmul(ops.softmax(ops.add(scores, mask), -1), vh, False, False, name="sdpa")
    elif f == "attention causal":
        a = ops.scaled_dot_product_attention(qh, kh, vh, None, c(F(scale)), True, name="sdpa")
    else:
        vv = kh if f == "keys for values" else vh
        a = ops.scaled_dot_product_attention(qh, kh, vv, mask, c(F(scale)), False, name="sdpa")
    if f == "heads merged wrongly":
        merged = ops.reshape(a, c(np.array([1, n, d], L)), False, name="merged")
    else:
        merged = ops.reshape(
            ops.transpose(a, c(np.array([0, 2, 1, 3], L)), name="back"), c(np.array([1, n, d], L)), False, name="merged"
        )
    wo = w(d, d)
    out = linear(merged, wo.T.copy() if f == "transposed out" else wo, w(d), "out")
    res = out if f == "residual dropped" else ops.add(one if f == "residual before norm" else y, out, name="res1")
    two = ln(
        res, "ln2", [-1], 1e-5, "outside_sqrt" if f == "eps outside" else "inside_sqrt", f != "variance not normalized"
    )
    up = linear(two, w(d, 64), w(64), "up")
    if f == "gelu as relu":
        g = ops.relu(up, name="gelu")
    elif f in ("gelu written out", "gelu by hand"):
        er = ops.erf(
            ops.divide(up, c(F(np.sqrt(2)))) if f == "gelu by hand" else ops.multiply(up, c(F(1 / np.sqrt(2))))
        )
        g = ops.multiply(ops.multiply(up, c(F(0.5))), ops.add(er, c(F(1))), name="gelu")
    else:
        g = ops.gelu(up, "tanh" if f == "gelu mode" else "erf", name="gelu")
    res2 = ops.add(res, linear(g, w(64, d), w(d), "down"), name="res2")
    at = -1 if f == "pooled last" else 0
    if f == "gather for slice":
        first = ops.squeeze(
            ops.slice(res2, c(np.array([at], L)), c(np.array([1], L)), c(np.array([1], L)), c(np.array([1], L))),
            c(np.array([1], L)),
            name="first",
        )
    elif f == "split for slices":
        parts = ops.variadic_split(res2, c(L(1)), c(np.array([1, n - 1], L)))
        first = ops.reshape(parts.output(0), c(np.array([1, d], L)), False, name="first")
    else:
        first = ops.gather(res2, c(L(at)), c(L(1)), name="first")
    condition = ops.less(first, c(F(0)), name="negative")
    a, b = (ops.exp(first, name="exp"), first) if f != "select swapped" else (first, ops.exp(first, name="exp"))
    chosen = ops.select(condition, a, b, name="chosen")
    pooled = ops.tanh(
        linear(ops.reshape(chosen, c(np.array([1, 1, d], L)), False), w(d, 6), w(6), "pool"), name="pooled"
    )
    rng = np.random.default_rng(0)
    given = [rng.integers(128 if f == "-" else 1, 299, (1, n)), np.array([[1] * 7 + [0] * 3])]
    given[0][0, 2] = 7
    return done([pooled, res2], [ids, seen]), [[given[0].astype(L), given[1].astype(L)]]
