"""A mixture of experts after attention with two heads, written for written_pairs.py with switches: see
written_nets.py."""

from __future__ import annotations

from typing import Any

import numpy as np
from written_nets import FAULTS, HARMLESS, F, L, Weights, c, done, net

from irexec import Model
from irexec import opset15 as ops

FAULTS["experts"] = {
    "table not scaled": "scaled",
    "alibi slopes reversed": "biased",
    "bias transposed": "biased",
    "mask before scale": "biased masked scaled_scores",
    "mask along queries": "wide",
    "triangle without diagonal": "causal",
    "softcap outside": "capped",
    "softcap missing": "causal capped",
    "experts swapped": "each",
    "weights not normalized": "shares each_share mixed",
    "one expert fewer": "gates",
    "experts by smallest": "gates",
    "gate of another expert": "turned/back",
    "glu halves": "gated gated/sigmoid",
    "gain on the sum": "added grown",
    "token shift": "shifted",
    "mean over padding": "mean",
    "mask inverted": "kept",
    "temperature not exponential": "similar",
    "norm by maximum": "unit",
    "norm of the other axis": "unit",
    "logarithm epsilon": "logged floor",
    "einsum labels": "crossed",
    "outer product swapped": "outer",
    "one head in f16": "q scores",
    "position from 1": "positions",
}
HARMLESS["experts"] = [
    "table scaled before",
    "alibi from ranges",
    "scale in the weights",
    "cap by products",
    "softmax over chosen",
    "experts one by one",
    "glu by split",
    "gain in the weights",
    "shift by roll",
    "mean by product",
    "norm of the products",
    "norm written out",
    "einsum as product",
    "log softmax written out",
    "mask as booleans",
    "sums in another order",
    "heads one by one",
    "sigmoid by tanh",
    "positions gathered",
    "softplus written out",
]


@net
def experts(f: str) -> tuple[Model, list[list[np.ndarray]]]:
    w = Weights(11)
    n, d, h, e, many = 6, 16, 2, 8, 4
    ids, seen = ops.parameter([1, n], L, name="ids"), ops.parameter([1, n], F, name="seen")
    table = w(50, d)
    if f == "table scaled before":
        x = ops.gather(c(table * F(4)), ids, c(L(0)), name="scaled")
    else:
        x = ops.gather(c(table), ids, c(L(0)), name="table")
        x = ops.multiply(x, c(F(1 if f == "table not scaled" else 4)), name="scaled")
    places = w(n + 1, d)
    first = 1 if f == "position from 1" else 0
    added = c(places[None, first : first + n])
    if f == "positions gathered":
        added = ops.gather(c(places), c(np.arange(n)[None]), c(L(0)))
    x = ops.add(x, added, name="positions")
    last = c(np.array([0], L))
    if f == "shift by roll":
        moved = ops.roll(x, c(np.array([1], L)), c(np.array([1], L)))
        moved = ops.multiply(moved, c((np.arange(n) > 0).astype(F).reshape(1, n, 1)), name="shifted")
    else:
        moved = ops.pad(x, c(np.array([0, 1, 0])), c(np.array([0, -1, 0])), "constant", c(F(0)), name="shifted")
        if f == "token shift":
            moved = ops.pad(x, c(np.array([0, -1, 0])), c(np.array([0, 1, 0])), "constant", c(F(0)), name="shifted")
    x = ops.add(x, ops.multiply(moved, c(F(0.5))), name="mixed_tokens")

    wq, wk, wv, bq = w(d, d), w(d, d), w(d, d), w(d)
    scale = F(e**-0.5)
    folded = f == "scale in the weights"

    def heads(m: np.ndarray, name: str, bias: np.ndarray | None = None) -> Any:
        m, b = (m * scale, None if bias is None else bias * scale) if folded and name == "q" else (m, bias)
        if f == "heads one by one":
            parts = [ops.matmul(x, c(np.ascontiguousarray(m[:, k * e : (k + 1) * e])), False, False) for k in range(h)]
            if b is not None:
                parts = [ops.add(part, c(b[k * e : (k + 1) * e])) for k, part in enumerate(parts)]
            return ops.concat([ops.unsqueeze(part, c(np.array([1], L))) for part in parts], 1, name=name)
        y = ops.matmul(x, c(m), False, False, name=f"{name}/product")
        if b is not None:
            y = ops.add(y, c(b), name=f"{name}/bias")
        y = ops.reshape(y, c(np.array([1, n, h, e], L)), False, name=f"{name}/split")
        return ops.transpose(y, c(np.array([0, 2, 1, 3], L)), name=name)

    q, k, v = heads(wq, "q", bq), heads(wk, "k"), heads(wv, "v")
    if f == "one head in f16":
        one, two = ops.split(q, c(L(1)), 2).outputs
        q = ops.concat([ops.convert(ops.convert(one, "f16"), "f32"), two], 1, name="q")
    scores = ops.matmul(q, k, False, True, name="scores")
    distance = np.arange(n)[None, :] - np.arange(n)[:, None]
    if f == "bias transposed":
        distance = distance.T
    slopes = np.array([0.5, 0.25], F).reshape(1, h, 1, 1)
    alibi = c((slopes[:, ::-1] if f == "alibi slopes reversed" else slopes) * distance.astype(F))
    if f == "alibi from ranges":
        steps = ops.range(c(L(0)), c(L(n)), c(L(1)), "f32")
        apart = ops.subtract(ops.unsqueeze(steps, last), ops.unsqueeze(steps, c(np.array([1], L))))
        alibi = ops.multiply(c(slopes), apart)
    if f == "mask before scale":
        y = ops.multiply(ops.add(scores, alibi), c(scale), name="biased")
    elif folded:
        y = ops.add(scores, alibi, name="biased")
    else:
        y = ops.add(ops.multiply(scores, c(scale), name="scaled_scores"), alibi, name="biased")
    cap = F(2)
    if f == "softcap outside":
        y = ops.tanh(y, name="capped")
    elif f == "cap by products":
        y = ops.multiply(c(cap), ops.tanh(ops.multiply(y, c(F(1) / cap))), name="capped")
    elif f != "softcap missing":
        y = ops.multiply(ops.tanh(ops.divide(y, c(cap))), c(cap), name="capped")
    lower = np.tril(np.ones((n, n), bool), -1 if f == "triangle without diagonal" else 0)
    lower[0, 0] = True
    hidden = c(np.where(lower, 0, -1e4).astype(F))
    wide = ops.reshape(
        seen, c(np.array([1, 1, n, 1] if f == "mask along queries" else [1, 1, 1, n], L)), False, name="wide"
    )
    if f == "mask as booleans":
        both = ops.logical_and(ops.greater(wide, c(F(0))), c(lower))
        y = ops.select(both, y, c(F(-1e9)), name="masked")
    else:
        scored, absent = y, ops.multiply(ops.subtract(c(F(1)), wide), c(F(-1e4)))
        y = ops.add(ops.add(y, hidden, name="causal"), absent, name="masked")
        if f == "sums in another order":
            y = ops.add(ops.add(scored, absent), hidden, name="masked")
    y = ops.matmul(ops.softmax(y, -1, name="attention"), v, False, False, name="context")
    y = ops.reshape(ops.transpose(y, c(np.array([0, 2, 1, 3], L))), c(np.array([1, n, d], L)), False, name="joined")
    gain, out = (w(d) + 1).astype(F), w(d, d)
    if f == "gain in the weights":
        x = ops.add(x, ops.matmul(y, c(out * gain), False, False), name="added")
    elif f == "gain on the sum":
        x = ops.multiply(ops.add(x, ops.matmul(y, c(out), False, False, name="out")), c(gain), name="added")
    else:
        x = ops.add(
            x, ops.multiply(ops.matmul(y, c(out), False, False, name="out"), c(gain), name="grown"), name="added"
        )

    router, up, down = w(d, many), w(many, d, 2 * d), w(many, d, d)
    up, down = (up[[1, 0, 2, 3]], down) if f == "experts swapped" else (up, down)
    logits = ops.matmul(x, c(router), False, False, name="logits")
    count = 1 if f == "one expert fewer" else 2
    mode = "min" if f == "experts by smallest" else "max"
    if f == "softmax over chosen":
        best = ops.topk(logits, c(L(count)), -1, mode, "value", "i64", name="gates")
        shares = ops.softmax(best.output(0), -1, name="shares")
    else:
        best = ops.topk(ops.softmax(logits, -1, name="router"), c(L(count)), -1, mode, "value", "i64", name="gates")
        total = ops.reduce_sum(best.output(0), c(np.array([-1], L)), True, name="total")
        shares = ops.divide(best.output(0), c(F(1)) if f == "weights not normalized" else total, name="shares")
    hot = ops.one_hot(best.output(1), c(L(many)), c(F(1)), c(F(0)), -1, name="hot")
    weights = ops.reduce_sum(ops.multiply(hot, ops.unsqueeze(shares, c(np.array([-1], L)))), c(np.array([2], L)), False)
    weights.friendly_name = "each_share"
    if f == "gate of another expert":
        weights = ops.roll(weights, c(np.array([1], L)), c(np.array([-1], L)), name="chosen")

    def glu(y: Any, name: str) -> Any:
        if f == "glu by split":
            a, b = ops.variadic_split(y, c(L(-1)), c(np.array([d, d], L))).outputs
        else:
            ends = [(0, d), (d, 2 * d)]
            a, b = (
                ops.slice(y, c(np.array([s], L)), c(np.array([t], L)), c(np.array([1], L)), c(np.array([-1], L)))
                for s, t in ends
            )
        a, b = (b, a) if f == "glu halves" else (a, b)
        if f == "sigmoid by tanh":
            half = ops.multiply(ops.add(ops.tanh(ops.multiply(b, c(F(0.5)))), c(F(1))), c(F(0.5)))
            return ops.multiply(a, half, name=name)
        return ops.multiply(a, ops.sigmoid(b, name=f"{name}/sigmoid"), name=name)

    if f == "experts one by one":
        parts = []
        for k in range(many):
            y = glu(ops.matmul(x, c(up[k]), False, False), f"gated{k}")
            parts.append(ops.unsqueeze(ops.matmul(y, c(down[k]), False, False), c(np.array([1], L))))
        y = ops.concat(parts, 1, name="each/down")
    else:
        y = glu(ops.matmul(ops.unsqueeze(x, c(np.array([1], L))), c(up[None]), False, False, name="each"), "gated")
        y = ops.matmul(y, c(down[None]), False, False, name="each/down")
    turned = ops.transpose(weights, c(np.array([0, 2, 1], L)), name="turned/back")
    turned = ops.unsqueeze(turned, c(np.array([-1], L)), name="turned")
    x = ops.add(x, ops.reduce_sum(ops.multiply(y, turned, name="mixed"), c(np.array([1], L)), False), name="summed")

    column = ops.unsqueeze(seen, c(np.array([-1], L)))
    if f == "mask inverted":
        column = ops.subtract(c(F(1)), column)
    if f == "mean by product":
        mean = ops.divide(ops.matmul(ops.unsqueeze(seen, c(np.array([1], L))), x, False, False), c(F(1)))
        mean = ops.squeeze(mean, c(np.array([1], L)))
    else:
        mean = ops.reduce_sum(ops.multiply(x, column, name="kept"), c(np.array([1], L)), False)
    amount = ops.reduce_sum(column, c(np.array([1], L)), False, name="amount")
    mean = ops.divide(mean, c(F(n)) if f == "mean over padding" else amount, name="mean")
    labels = w(5, d)
    if f == "norm of the products":
        square = ops.reduce_sum(ops.multiply(mean, mean), c(np.array([-1], L)), True)
        products = ops.matmul(mean, c(labels), False, True)
        cosine = ops.divide(products, ops.sqrt(ops.add(square, c(F(1e-6)))), name="cosine")
    else:
        axes = np.array([0 if f == "norm of the other axis" else -1], L)
        if f == "norm written out":
            square = ops.reduce_sum(ops.multiply(mean, mean), c(axes), True)
            unit = ops.divide(mean, ops.sqrt(ops.add(square, c(F(1e-6)))), name="unit")
        elif f == "norm by maximum":
            unit = ops.divide(mean, ops.reduce_max(ops.abs(mean), c(axes), True), name="unit")
        else:
            unit = ops.normalize_l2(mean, c(axes), 1e-6, "add", name="unit")
        cosine = ops.matmul(unit, c(labels), False, True, name="cosine")
    heat = c(F(1.5)) if f == "temperature not exponential" else ops.exp(c(F(1.5)))
    similar = ops.multiply(cosine, heat, name="similar")
    if f == "log softmax written out":
        top = ops.subtract(similar, ops.reduce_max(similar, c(np.array([-1], L)), True))
        logs = ops.subtract(top, ops.log(ops.reduce_sum(ops.exp(top), c(np.array([-1], L)), True)), name="logs")
    else:
        logs = ops.log_softmax(similar, -1, name="logs")
    square = w(d, d)
    if f == "einsum as product":
        crossed = ops.matmul(x, c(square), False, True, name="crossed")
    else:
        crossed = ops.einsum([x, c(square)], "bnd,de->bne" if f == "einsum labels" else "bnd,ed->bne", name="crossed")
    one, two = mean, ops.relu(mean, name="positive")
    pair = (two, one) if f == "outer product swapped" else (one, two)
    outer = ops.einsum([*pair], "bi,bj->bij", name="outer")
    if f == "softplus written out":
        soft = ops.log(ops.add(ops.exp(crossed), c(F(1))), name="soft")
    else:
        soft = ops.softplus(crossed, name="soft")
    floor = ops.add(soft, c(F(1e-5 if f == "logarithm epsilon" else 1e-6)), name="floor")
    rng = np.random.default_rng(3)
    given = [rng.integers(1, 49, (1, n)).astype(L), np.array([[1] * 5 + [0]], F)]
    return done([logs, outer, ops.log(floor, name="logged")], [ids, seen]), [given]
