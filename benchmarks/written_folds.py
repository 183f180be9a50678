"""A network whose other forms fold, move and permute constants, written for written_pairs.py: see written_nets.py."""

from __future__ import annotations

import numpy as np
from written_nets import FAULTS, HARMLESS, F, L, Weights, c, done, f16, net

from irexec import Model
from irexec import opset15 as ops

FAULTS["folds"] = {
    "hidden permuted in one": "up up/bias",
    "hidden permuted without bias": "up up/bias",
    "fold with another epsilon": "conv bn",
    "fold without mean": "conv bn",
    "scale moved across sigmoid": "up up/bias",
    "bias of a column": "up/bias",
    "reshape for transpose": "turned",
    "square transpose": "turned",
    "keep dims": "normalized",
    "mean over the other axis": "normalized",
    "variance of n - 1": "normalized",
    "softmax over square axis": "weights",
    "two faults that partly cancel": "up",
    "fault behind a permutation": "up up/bias down",
    "tied weights untied": "second",
    "concat of square axes": "pair",
    "maximum for minimum": "limited",
    "swapped operands of squared difference and subtract": "apart",
    "last value only": "second",
    "fused halves swapped": "query key scores",
    "results swapped": "r1 r2 flat average",
    "subnormal flushed": "tiny",
}
HARMLESS["folds"] = [
    "hidden permuted",
    "bn folded",
    "scale moved across relu",
    "f16 constants",
    "negative axes",
    "dead branch",
    "three products as one",
    "norm written out",
    "power for product",
    "pool flags without effect",
    "one element reduced otherwise",
    "product as convolution",
    "channels last island",
    "int8 weights with exact scales",
    "halves split and joined otherwise",
    "transposed weights of both",
    "bias added later",
]


def _normalized(f: str, x: object) -> object:
    """Return MVN, or its parts as separate layers."""
    if f not in ("norm written out", "keep dims", "mean over the other axis", "variance of n - 1"):
        axes = [-1] if f == "negative axes" else [2]
        return ops.mvn(x, c(np.array(axes, L)), True, 1e-5, "inside_sqrt", name="normalized")
    axis = 1 if f == "mean over the other axis" else 2
    mean = ops.reduce_mean(x, c(np.array([axis], L)), f != "keep dims", name="mean")
    centred = ops.subtract(x, mean, name="centred")
    count = F(7 if f == "variance of n - 1" else 8)
    total = ops.reduce_sum(ops.multiply(centred, centred, name="squares"), c(np.array([2], L)), True, name="sum")
    deviation = ops.sqrt(ops.add(ops.divide(total, c(count)), c(F(1e-5))), name="deviation")
    return ops.divide(centred, deviation, name="normalized")


@net
def folds(f: str) -> tuple[Model, list[list[np.ndarray]]]:
    w = Weights(11)
    x = ops.parameter([1, 8, 8, 8], F, name="image")
    k, beta, gamma, mu, var = w(8, 8, 3, 3), w(8), w(8) + 1, w(8), np.abs(w(8)) + F(0.01)
    if f in ("bn folded", "fold with another epsilon", "fold without mean"):
        s = gamma / np.sqrt(var + F(1e-2 if f == "fold with another epsilon" else 1e-3))
        y = ops.convolution(x, c(k * s.reshape(-1, 1, 1, 1)), [1, 1], [1, 1], [1, 1], [1, 1], name="conv")
        y = ops.add(y, c((beta - (0 if f == "fold without mean" else mu * s)).reshape(1, -1, 1, 1)), name="bn")
    else:
        k = f16(k) if f == "f16 constants" else c(k)
        if f == "channels last island":
            back = ops.transpose(ops.transpose(x, c(np.array([0, 2, 3, 1], L))), c(np.array([0, 3, 1, 2], L)))
            y = ops.convolution(back, k, [1, 1], [1, 1], [1, 1], [1, 1], name="conv")
        else:
            y = ops.convolution(x, k, [1, 1], [1, 1], [1, 1], [1, 1], name="conv")
        y = ops.batch_norm_inference(y, c(gamma), c(beta), c(mu), c(var), 1e-3, name="bn")
    flag = f == "pool flags without effect"
    y = ops.avg_pool(y, [1, 2], [0, 0], [0, 0], [1, 2], not flag, "ceil" if flag else "floor", name="halved")
    y = ops.reshape(y, c(np.array([8, 8, 4], L)), False, name="rows")
    if f == "reshape for transpose":
        y = ops.reshape(y, c(np.array([8, 8, 4], L)), False, name="turned")
    else:
        y = ops.transpose(y, c(np.array([0, 1, 2] if f == "square transpose" else [1, 0, 2], L)), name="turned")
    pair = [y, ops.tanh(y, name="bent")]
    y = ops.concat(pair, 2, name="pair")
    if f == "concat of square axes":
        y = ops.reshape(ops.concat(pair, 1), c(np.array([8, 8, 8], L)), False, name="pair")
    if f == "halves split and joined otherwise":
        y = ops.concat([*ops.split(y, c(L(2)), 2).outputs()], -1)
    y = _normalized(f, y)
    # A product to 16 channels and back to 8, whose hidden values may be permuted and scaled.
    up, bias, down = np.round(w(8, 16) * 64) / F(64), w(16), w(16, 8)
    order = np.random.default_rng(5).permutation(16)
    if f in ("hidden permuted", "hidden permuted in one", "hidden permuted without bias", "fault behind a permutation"):
        up = up[:, order]
        bias = bias if f == "hidden permuted without bias" else bias[order]
        down = down if f == "hidden permuted in one" else down[order]
        down = down * F(1.01) if f == "fault behind a permutation" else down
    if f.startswith("scale moved"):
        up, bias, down = up * F(3), bias * F(3), down / F(3)
    if f == "two faults that partly cancel":
        up, down = up * F(1.05), down / F(1.04)
    if f == "product as convolution":
        z = ops.transpose(y, c(np.array([0, 2, 1], L)))
        z = ops.convolution(z, c(up.T[:, :, None].copy()), [1], [0], [0], [1])
        z = ops.transpose(z, c(np.array([0, 2, 1], L)), name="up")
    elif f == "int8 weights with exact scales":
        whole = (up * 64).astype(np.int8)
        z = ops.matmul(y, ops.multiply(ops.convert(c(whole), "f32"), c(F(1 / 64))), False, False, name="up")
    elif f == "transposed weights of both":
        z = ops.matmul(y, c(up.T.copy()), False, True, name="up")
    else:
        z = ops.matmul(y, c(up), False, False, name="up")
    column = bias[:, None][:8] if f == "bias of a column" else bias
    z = ops.add(z, c(column.astype(F)), name="up/bias")
    kind = ops.sigmoid if f == "scale moved across sigmoid" else ops.relu
    z = kind(z, name="act")
    down_bias = w(8)
    if f == "transposed weights of both":
        z = ops.matmul(z, c(down.T.copy()), False, True, name="down")
    else:
        z = ops.matmul(z, c(down), False, False, name="down")
    z = ops.add(z, c(down_bias), name="down/bias") if f != "bias added later" else z
    y = ops.add(y, z, name="residual")
    y = ops.add(y, c(down_bias), name="later") if f == "bias added later" else y
    y = (ops.maximum if f == "maximum for minimum" else ops.minimum)(y, c(F(1.5)), name="limited")
    # Attention whose query and key may be computed by one product.
    q, k_ = w(8, 8), w(8, 8)
    if f in ("three products as one", "fused halves swapped"):
        both = ops.matmul(y, c(np.concatenate([q, k_], 1)), False, False)
        parts = [*ops.split(both, c(L(2)), 2).outputs()]
        query, key = parts if f == "three products as one" else parts[::-1]
    else:
        query, key = ops.matmul(y, c(q), False, False, name="query"), ops.matmul(y, c(k_), False, False, name="key")
    scores = ops.matmul(query, key, False, True, name="scores")
    weights = ops.softmax(
        scores, 1 if f == "softmax over square axis" else -1 if f == "negative axes" else 2, name="weights"
    )
    y = ops.matmul(weights, y, False, False, name="mixed")
    pooled = ops.reduce_max(y, c(np.array([1], L)), True, name="pooled")
    reduce = ops.reduce_sum if f == "one element reduced otherwise" else ops.reduce_mean
    pooled_ = reduce(pooled, c(np.array([1], L)), False, name="flat")
    mean = ops.reduce_mean(y, c(np.array([1], L)), False, name="average")
    order_of = (mean, pooled_) if f.startswith("swapped operands") else (pooled_, mean)
    apart = ops.subtract(*order_of, name="apart")
    if f == "power for product":
        square = ops.power(apart, c(F(2)), name="square")
    else:
        square = ops.multiply(apart, apart, name="square")
    tiny = ops.multiply(square, c(F(0 if f == "subnormal flushed" else 3e-40)), name="tiny")
    back = ops.multiply(ops.multiply(tiny, c(F(1e20)), name="less tiny"), c(F(1e20)), name="not tiny")
    table = w(8, 64)
    other = table * F(1.001) if f == "tied weights untied" else table
    if f == "last value only":
        other = table.copy()
        other[-1, -1] += F(0.25)
    first = ops.matmul(back, c(table), False, False, name="first")
    logits = ops.add(first, ops.matmul(apart, c(other), False, False, name="second"), name="logits")
    if f == "dead branch":
        ops.relu(ops.matmul(apart, c(w(8, 3)), False, False), name="dead")
    ends = [logits, mean, pooled_] if f == "results swapped" else [logits, pooled_, mean]
    return done(ends, [x]), [[np.random.default_rng(3).normal(size=(1, 8, 8, 8)).astype(F)]]
