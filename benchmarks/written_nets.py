"""Networks for written_pairs.py, each with switches: a fault that was built in, or another way to write the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import irexec
from irexec import Model
from irexec import opset15 as ops

F, I = np.float32, np.int64
NETS: dict[str, Callable[[str], tuple[Model, list[list[np.ndarray]]]]] = {}
FAULTS: dict[str, dict[str, str]] = {}
"""For each network, its faults and the layers that a verdict may name, separated by spaces."""
HARMLESS: dict[str, list[str]] = {}


def net(build: Callable[[str], tuple[Model, list[list[np.ndarray]]]]) -> Any:
    NETS[build.__name__] = build
    return build


class Weights:
    """The same random constants at every call, rounded to f16, so that they may be stored as such."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def __call__(self, *shape: int, scale: float = 0.3) -> np.ndarray:
        return (self.rng.normal(size=shape) * scale).astype(np.float16).astype(F)


def c(value: Any, kind: Any = None) -> Any:
    return ops.constant(np.asarray(value), kind)


def f16(array: np.ndarray) -> Any:
    return ops.convert(ops.constant(array.astype(np.float16)), "f32")


def done(outputs: list[Any], inputs: list[Any], sinks: list[Any] | None = None) -> Model:
    return irexec.Model([ops.result(o, name=f"r{k}") for k, o in enumerate(outputs)], sinks or [], inputs)


FAULTS["cnn"] = {
    "pad mode": "padded", "pad value": "padded", "clamp max": "clamped", "clamp min": "clamped", "bn epsilon": "bn",
    "prelu slope": "slopes", "coordinate mode": "up", "interpolate mode": "up", "nearest mode": "near",
    "groups of weights": "grouped", "number of groups": "grouped", "mean to sum": "pooled",
    "concat order": "joined", "concat axis": "joined flat", "bias broadcast": "biased", "bias of another": "biased",
    "average pool": "small", "softmax axis": "probabilities", "channels reversed": "ordered conv",
    "mean and std": "centred scaled ordered", "height and width": "turned", "stride and dilation": "conv2",
    "subtract order": "difference", "exclude pad": "averaged", "kernel flipped": "conv", "auto pad": "conv3",
    "normalized axes": "normalized", "flatten order": "flat", "variance for mean": "bn",
}  # fmt: skip
HARMLESS["cnn"] = [
    "f16 weights", "bn as conv", "bn as multiply and add", "prelu as relu", "clamp as min and max", "pad into conv",
    "scales instead of sizes", "mean and reshape", "softmax written out", "subtract as add", "transposes cancelled",
    "bias folded", "group convolution as convolution", "reshape with zeros", "squeeze", "nested concat",
]  # fmt: skip


@net
def cnn(f: str) -> tuple[Model, list[list[np.ndarray]]]:
    w = Weights(1)
    x = ops.parameter([1, 3, 16, 16], F, name="image")
    mean, std = np.array([0.5, 0.4, 0.3], F).reshape(1, 3, 1, 1), np.array([0.2, 0.25, 0.3], F).reshape(1, 3, 1, 1)
    if f == "mean and std":
        mean, std = std, mean
    y = ops.subtract(x, c(mean), name="centred")
    y = ops.divide(y, c(std), name="scaled")
    y = ops.gather(y, c(np.array([2, 1, 0] if f == "channels reversed" else [0, 1, 2], I)), c(I(1)), name="ordered")
    k = w(16, 3, 3, 3)
    k = k[:, :, ::-1].copy() if f == "kernel flipped" else k
    beta, gamma, mu, var = w(16), w(16) + 1, w(16), np.abs(w(16)) + F(0.01)
    if f == "variance for mean":
        mu, var = var, np.abs(mu)
    eps = 1e-2 if f == "bn epsilon" else 1e-3
    if f == "bn as conv":
        s = gamma / np.sqrt(var + F(eps))
        y = ops.convolution(y, c(k * s.reshape(-1, 1, 1, 1)), [1, 1], [1, 1], [1, 1], [1, 1], name="conv")
        y = ops.add(y, c((beta - mu * s).reshape(1, -1, 1, 1)), name="bn")
    else:
        y = ops.convolution(y, f16(k) if f == "f16 weights" else c(k), [1, 1], [1, 1], [1, 1], [1, 1], name="conv")
        if f == "bn as multiply and add":
            s = (gamma / np.sqrt(var + F(eps))).reshape(1, -1, 1, 1)
            y = ops.multiply(y, c(s), name="times")
            y = ops.add(y, c(beta.reshape(s.shape) - mu.reshape(s.shape) * s), name="bn")
        else:
            y = ops.batch_norm_inference(y, c(gamma), c(beta), c(mu), c(var), eps, name="bn")
    slope = np.abs(w(16)) if f != "prelu slope" else np.abs(w(16)) * F(0.5)
    if f == "prelu as relu":
        negative = ops.multiply(ops.relu(ops.negative(y)), c(-slope.reshape(1, -1, 1, 1)))
        y = ops.add(ops.relu(y), negative, name="slopes")
    else:
        y = ops.prelu(y, c(slope), name="slopes")
    bias = w(16)
    shape = (1, 1, 1, 16) if f == "bias broadcast" else (1, 16, 1, 1)
    bias = bias[::-1].copy() if f == "bias of another" else bias
    y = ops.add(y, c(bias.reshape(shape)), name="biased")
    if f == "transposes cancelled":
        y = ops.transpose(ops.transpose(y, c(np.array([0, 2, 3, 1], I))), c(np.array([0, 3, 1, 2], I)))
    turn = [0, 1, 3, 2] if f == "height and width" else [0, 1, 2, 3]
    y = ops.transpose(y, c(np.array(turn, I)), name="turned")
    low, high = (0.0 if f != "clamp min" else -0.25), (2.0 if f != "clamp max" else 1.5)
    if f == "clamp as min and max":
        y = ops.minimum(ops.maximum(y, c(F(low))), c(F(high)), name="clamped")
    else:
        y = ops.clamp(y, low, high, name="clamped")
    if f == "average pool":
        small = ops.avg_pool(y, [2, 2], [0, 0], [0, 0], [2, 2], False, name="small")
    else:
        rounding = "ceil" if f == "ceil" else "floor"
        small = ops.max_pool(y, [2, 2], [1, 1], [0, 0], [0, 0], [2, 2], rounding, name="small").output(0)
    g = w(4, 4, 4, 3, 3)
    g = g[[1, 0, 2, 3]].copy() if f == "groups of weights" else g
    if f == "number of groups":
        g = g.reshape(2, 8, 4, 3, 3).repeat(2, 2)
    if f == "group convolution as convolution":
        full = np.zeros((16, 16, 3, 3), F)
        for i in range(4):
            full[4 * i : 4 * i + 4, 4 * i : 4 * i + 4] = g[i]
        small = ops.convolution(small, c(full), [1, 1], [1, 1], [1, 1], [1, 1], name="grouped")
    else:
        small = ops.group_convolution(small, c(g), [1, 1], [1, 1], [1, 1], [1, 1], name="grouped")
    kernel3 = w(16, 16, 2, 2)
    auto = "same_lower" if f == "auto pad" else "same_upper"
    small = ops.convolution(small, c(kernel3), [1, 1], [0, 0], [0, 0], [1, 1], auto, name="conv3")
    kernel2 = w(16, 16, 3, 3, scale=0.1)
    if f == "pad into conv":
        # Only a padding of zeros can be part of a convolution: here, none is.
        small2 = ops.pad(small, c(np.array([0, 0, 1, 1], I)), c(np.array([0, 0, 1, 1], I)), "reflect", name="padded")
        strides = [1, 1]
    else:
        mode = {"pad mode": "symmetric", "pad value": "constant"}.get(f, "reflect")
        small2 = ops.pad(small, c(np.array([0, 0, 1, 1], I)), c(np.array([0, 0, 1, 1], I)), mode, name="padded")
        strides = [1, 1]
    if f == "stride and dilation":
        small2 = ops.convolution(small2, c(kernel2), strides, [1, 1], [1, 1], [2, 2], name="conv2")
    else:
        small2 = ops.convolution(small2, c(kernel2), strides, [0, 0], [0, 0], [1, 1], name="conv2")
    small2 = ops.avg_pool(small2, [3, 3], [1, 1], [1, 1], [3, 3], f != "exclude pad", "floor", "explicit", name="averaged")\
        if False else ops.avg_pool(small2, [1, 1], [1, 1], [1, 1], [3, 3], f != "exclude pad", name="averaged")
    small2 = ops.mvn(small2, c(np.array([1, 2] if f == "normalized axes" else [2, 3], I)), True, 1e-5, "inside_sqrt",
                     name="normalized")  # fmt: skip
    sizes = c(np.array([16, 16], I))
    mode = "nearest" if f == "interpolate mode" else "linear_onnx"
    coordinates = "asymmetric" if f == "coordinate mode" else "half_pixel"
    if f == "scales instead of sizes":
        up = ops.interpolate(small2, c(np.array([2.0, 2.0], F)), mode, "scales", [0], [0], coordinates,
                             axes=c(np.array([2, 3], I)), name="up")  # fmt: skip
    else:
        up = ops.interpolate(small2, sizes, mode, "sizes", [0], [0], coordinates, axes=c(np.array([2, 3], I)), name="up")
    near = ops.interpolate(small, c(np.array([12, 12], I)), "nearest", "sizes", [0], [0], "asymmetric",
                           "ceil" if f == "nearest mode" else "floor", axes=c(np.array([2, 3], I)), name="near")  # fmt: skip
    near = ops.interpolate(near, sizes, "linear_onnx", "sizes", axes=c(np.array([2, 3], I)), name="nearer")
    order = [up, y, near] if f == "concat order" else [y, up, near]
    if f == "nested concat":
        joined = ops.concat([ops.concat([y, up], 1), near], 1, name="joined")
    else:
        joined = ops.concat(order, 2 if f == "concat axis" else 1, name="joined")
    if f == "subtract order":
        difference = ops.subtract(up, y, name="difference")
    elif f == "subtract as add":
        difference = ops.add(y, ops.multiply(up, c(F(-1))), name="difference")
    else:
        difference = ops.subtract(y, up, name="difference")
    if f == "flatten order":
        flat = ops.reshape(ops.transpose(difference, c(np.array([0, 2, 3, 1], I))), c(np.array([1, 4096], I)), False,
                           name="flat")  # fmt: skip
    elif f == "reshape with zeros":
        flat = ops.reshape(difference, c(np.array([0, -1], I)), True, name="flat")
    else:
        flat = ops.reshape(difference, c(np.array([1, 4096], I)), False, name="flat")
    head = ops.matmul(flat, c(w(4096, 5, scale=0.02)), False, False, name="head")
    axes = c(np.array([2, 3], I))
    if f == "mean to sum":
        pooled = ops.reduce_sum(joined, axes, False, name="pooled")
    elif f == "mean and reshape":
        pooled = ops.reshape(ops.reduce_mean(joined, axes, True), c(np.array([1, 48], I)), False, name="pooled")
    elif f == "squeeze":
        pooled = ops.squeeze(ops.reduce_mean(joined, axes, True), axes, name="pooled")
    else:
        pooled = ops.reduce_mean(joined, axes, False, name="pooled")
    if f == "concat axis":
        pooled = ops.tile(pooled, c(np.array([1, 3], I)), name="tiled")
    b = w(5)
    m = w(48, 5)
    if f == "bias folded":
        logits = ops.matmul(ops.concat([pooled, c(np.ones((1, 1), F))], 1), c(np.vstack([m, b[None]])), False, False,
                            name="logits")  # fmt: skip
    else:
        logits = ops.add(ops.matmul(pooled, c(m), False, False, name="fc"), c(b.reshape(1, 5)), name="logits")
    logits = ops.add(logits, head, name="sum")
    if f == "softmax written out":
        e = ops.exp(ops.subtract(logits, ops.reduce_max(logits, c(I(1)), True)))
        p = ops.divide(e, ops.reduce_sum(e, c(I(1)), True), name="probabilities")
    else:
        p = ops.softmax(logits, 0 if f == "softmax axis" else 1, name="probabilities")
    rng = np.random.default_rng(0)
    return done([p, logits], [x]), [[rng.random((1, 3, 16, 16), dtype=F)]]


FAULTS["encoder"] = {
    "swapped indices": "table", "other row first": "positions", "ln axes": "ln1", "ln eps": "ln1", "ln gain missing": "q/product k/product v/product gain",
    "mask off by one": "both", "mask sign": "mask sdpa", "wrong scale": "sdpa", "no scale": "sdpa", "keys for values": "sdpa",
    "heads order": "qh qh/split", "heads merged wrongly": "merged", "gelu mode": "gelu", "gelu as relu": "gelu", "residual before norm": "res1",
    "residual dropped": "out res1 ln2", "tokens off by one": "tokens table", "types narrowed": "tokens table",
    "eps outside": "ln2", "variance not normalized": "ln2", "pooled last": "first", "attention causal": "sdpa",
    "transposed out": "out/product", "k bias": "k", "less equal": "visible", "select swapped": "chosen", "not": "visible chosen",
}  # fmt: skip
HARMLESS["encoder"] = [
    "ln written out", "gelu written out", "sdpa written out", "transposed weights", "f16 weights", "split for slices",
    "indices i32", "commuted", "qkv in one", "select as multiply", "gather for slice", "unsqueeze for reshape", "where folded",
    "gelu by hand", "mask of constants",
]  # fmt: skip


@net
def encoder(f: str) -> tuple[Model, list[list[np.ndarray]]]:
    w = Weights(2)
    n, d, h, e = 10, 32, 4, 8
    ids = ops.parameter([1, n], I, name="ids")
    seen = ops.parameter([1, n], I, name="seen")
    tokens = ids
    if f == "tokens off by one":
        tokens = ops.add(ids, c(np.array([[1]], I)), name="tokens")
    if f == "types narrowed":
        tokens = ops.convert(ops.convert(ids, "i8"), "i64", name="tokens")
    if f == "indices i32":
        tokens = ops.convert(ids, "i32", name="tokens")
    table = w(300, d)
    if f == "swapped indices":
        table = table.copy()
        table[[7, 9]] = table[[9, 7]]
    y = ops.gather(f16(table) if f == "f16 weights" else c(table), tokens, c(I(0)), name="table")
    p = w(1, n, d)
    p = np.roll(p, 1, 1) if f == "other row first" else p
    y = ops.add(c(p), y, name="positions") if f == "commuted" else ops.add(y, c(p), name="positions")

    def ln(v: Any, name: str, axes: list[int], eps: float, mode: str = "inside_sqrt", normalize: bool = True) -> Any:
        if f == "ln written out":
            a = c(np.array([-1], I))
            centred = ops.subtract(v, ops.reduce_mean(v, a, True))
            squares = ops.reduce_mean(ops.multiply(centred, centred), a, True)
            return ops.divide(centred, ops.sqrt(ops.add(squares, c(F(eps)))), name=name)
        return ops.mvn(v, c(np.array(axes, I)), normalize, eps, mode, name=name)

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
        q, k, v = ops.split(qkv, c(I(2)), 3, name="parts").outputs
    else:
        q, k, v = linear(normed, wq, bq, "q"), linear(normed, wk, bk * (0 if f == "k bias" else 1), "k"), linear(normed, wv, bv, "v")

    def heads(v: Any, name: str) -> Any:
        target = [1, n, e, h] if f == "heads order" and name == "qh" else [1, n, h, e]
        order = [0, 3, 1, 2] if f == "heads order" and name == "qh" else [0, 2, 1, 3]
        return ops.transpose(ops.reshape(v, c(np.array(target, I)), False, name=f"{name}/split"), c(np.array(order, I)), name=name)

    qh, kh, vh = heads(q, "qh"), heads(k, "kh"), heads(v, "vh")
    lower = np.tril(np.ones((n, n), bool), 1 if f == "mask off by one" else 0)
    if f == "mask of constants":
        causal = ops.less_equal(c(np.arange(n).reshape(1, n)), c(np.arange(n).reshape(n, 1)))
    else:
        causal = c(lower)
    zero = c(np.zeros((1, 1, 1, 1), I))
    wide = ops.reshape(seen, c(np.array([1, 1, 1, n], I)), False, name="wide")
    if f == "unsqueeze for reshape":
        wide = ops.unsqueeze(seen, c(np.array([1, 2], I)), name="wide")
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
        merged = ops.reshape(a, c(np.array([1, n, d], I)), False, name="merged")
    else:
        merged = ops.reshape(ops.transpose(a, c(np.array([0, 2, 1, 3], I)), name="back"), c(np.array([1, n, d], I)), False, name="merged")
    wo = w(d, d)
    out = linear(merged, wo.T.copy() if f == "transposed out" else wo, w(d), "out")
    if f == "residual dropped":
        res = out
    else:
        res = ops.add(one if f == "residual before norm" else y, out, name="res1")
    two = ln(res, "ln2", [-1], 1e-5, "outside_sqrt" if f == "eps outside" else "inside_sqrt", f != "variance not normalized")
    up = linear(two, w(d, 64), w(64), "up")
    if f == "gelu as relu":
        g = ops.relu(up, name="gelu")
    elif f in ("gelu written out", "gelu by hand"):
        er = ops.erf(ops.divide(up, c(F(np.sqrt(2)))) if f == "gelu by hand" else ops.multiply(up, c(F(1 / np.sqrt(2)))))
        g = ops.multiply(ops.multiply(up, c(F(0.5))), ops.add(er, c(F(1))), name="gelu")
    else:
        g = ops.gelu(up, "tanh" if f == "gelu mode" else "erf", name="gelu")
    res2 = ops.add(res, linear(g, w(64, d), w(d), "down"), name="res2")
    at = -1 if f == "pooled last" else 0
    if f == "gather for slice":
        first = ops.squeeze(ops.slice(res2, c(np.array([at], I)), c(np.array([1], I)), c(np.array([1], I)), c(np.array([1], I))), c(np.array([1], I)), name="first")
    elif f == "split for slices":
        parts = ops.variadic_split(res2, c(I(1)), c(np.array([1, n - 1], I)))
        first = ops.reshape(parts.output(0), c(np.array([1, d], I)), False, name="first")
    else:
        first = ops.gather(res2, c(I(at)), c(I(1)), name="first")
    condition = ops.less(first, c(F(0)), name="negative")
    a, b = (ops.exp(first, name="exp"), first) if f != "select swapped" else (first, ops.exp(first, name="exp"))
    chosen = ops.select(condition, a, b, name="chosen")
    pooled = ops.tanh(linear(ops.reshape(chosen, c(np.array([1, 1, d], I)), False), w(d, 6), w(6), "pool"), name="pooled")
    rng = np.random.default_rng(0)
    given = [rng.integers(128 if f == "-" else 1, 299, (1, n)), np.array([[1] * 7 + [0] * 3])]
    given[0][0, 2] = 7
    return done([pooled, res2], [ids, seen]), [[given[0].astype(I), given[1].astype(I)]]


FAULTS["decoder"] = {
    "cache order": "keys", "cache order of values": "values", "rms eps": "power2 post_power2", "rope halves": "rotated",
    "rope sign": "rotated negated", "cos and sin": "straight straightk turned turnedk cos sin", "position off by one": "until position",
    "gqa tiled": "shared", "last position": "last", "beam": "kept", "cache of another": "keys values kept kept2",
    "kv swapped": "attended", "theta": "angle", "gate up swapped": "swish gated", "head row": "logits", "rms square root": "inverse root",
    "cache not extended": "store", "softmax temperature": "attended", "argmax": "next", "group heads": "shared",
}  # fmt: skip
HARMLESS["decoder"] = ["rms operator", "swish written out", "rope by slices", "repeat by tile", "f16 weights", "sdpa written out", "rsqrt as power",
                       "assign renamed", "argmax by topk stable", "transposed weights"]  # fmt: skip


@net
def decoder(f: str) -> tuple[Model, list[list[np.ndarray]]]:
    w = Weights(3)
    d, h, g, e, vocabulary = 32, 4, 2, 8, 50
    ids = ops.parameter([1, -1], I, name="ids")
    start = ops.parameter([1], I, name="start")
    beam = ops.parameter([1], np.int32, name="beam")
    table = w(vocabulary, d, scale=0.02)
    y = ops.gather(f16(table) if f == "f16 weights" else c(table), ids, c(I(0)), name="embedded")

    def rms(v: Any, gain: np.ndarray, prefix: str = "") -> Any:
        eps = 1e-4 if f == "rms eps" else 1e-5
        if f == "rms operator" and hasattr(ops, "rms"):
            return ops.rms(v, c(gain), eps, name=f"{prefix}rms")
        mean = ops.add(ops.reduce_mean(ops.multiply(v, v, name=f"{prefix}power"), c(np.array([-1], I)), True), c(F(eps)), name=f"{prefix}power2")
        if f == "rsqrt as power":
            inverse = ops.power(mean, c(F(-0.5)), name=f"{prefix}inverse")
        else:
            inverse = ops.divide(c(F(1)), mean if f == "rms square root" else ops.sqrt(mean, name=f"{prefix}root"), name=f"{prefix}inverse")
        return ops.multiply(ops.multiply(v, inverse), c(gain), name=f"{prefix}rms")

    n = rms(y, w(d) + 1)

    def linear(v: Any, m: np.ndarray, name: str) -> Any:
        if f == "transposed weights":
            return ops.matmul(v, c(np.ascontiguousarray(m.T)), False, True, name=name)
        return ops.matmul(v, f16(m) if f == "f16 weights" else c(m), False, False, name=name)

    def heads(v: Any, count: int, name: str) -> Any:
        return ops.transpose(ops.reshape(v, c(np.array([0, 0, count, e], I)), True), c(np.array([0, 2, 1, 3], I)), name=name)

    q, k, v = heads(linear(n, w(d, h * e), "wq"), h, "q"), heads(linear(n, w(d, g * e), "wk"), g, "k"), heads(linear(n, w(d, g * e), "wv"), g, "v")
    length = ops.gather(ops.shape_of(ids), c(I(1)), c(I(0)), name="length")
    begin = ops.squeeze(start, c(np.array([0], I)))
    if f == "position off by one":
        begin = ops.add(begin, c(I(1)), name="begin")
    position = ops.convert(ops.range(begin, ops.add(begin, length, name="until"), c(I(1)), "i64"), "f32", name="position")
    base = 1000.0 if f == "theta" else 10000.0
    frequencies = (base ** -(np.arange(0, e, 2) / e)).astype(F)
    angle = ops.multiply(ops.unsqueeze(position, c(np.array([1], I))), c(frequencies.reshape(1, -1)), name="angle")
    both = ops.concat([angle, angle], -1, name="angles")
    cos, sin = ops.cos(both, name="cos"), ops.sin(both, name="sin")
    if f == "cos and sin":
        cos, sin = sin, cos

    def rope(v: Any, suffix: str) -> Any:
        if f == "rope by slices":
            at = [c(np.array([x], I)) for x in (0, e // 2, e)]
            one, minus, axis = c(np.array([1], I)), None, c(np.array([-1], I))
            a, b = ops.slice(v, at[0], at[1], one, axis), ops.slice(v, at[1], at[2], one, axis)
        else:
            a, b = ops.split(v, c(I(-1)), 2, name=f"halves{suffix}").outputs
        halves = [ops.negative(b, name=f"negated{suffix}"), a]
        if f == "rope halves" and not suffix:
            halves = halves[::-1]
        if f == "rope sign" and not suffix:
            halves = [b, ops.negative(a, name="negated")]
        rotated = ops.concat(halves, -1, name=f"rotated{suffix}")
        return ops.add(ops.multiply(v, cos, name=f"straight{suffix}"), ops.multiply(rotated, sin, name=f"turned{suffix}"), name=f"roped{suffix}")

    q, k = rope(q, ""), rope(k, "k")
    name = {"K": "cache.k", "V": "cache.v"} if f != "assign renamed" else {"K": "past.0", "V": "past.1"}
    none = c(np.zeros((1, g, 0, e), F))
    past = ops.read_value(none, name["K"], "f32", [1, g, -1, e], name="past")
    past2 = ops.read_value(none, name["V"], "f32", [1, g, -1, e], name="past2")
    kept = past if f == "beam" else ops.gather(past, beam, c(I(0)), name="kept")
    kept2 = ops.gather(past2, beam, c(I(0)), name="kept2")
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
            x = ops.tile(ops.unsqueeze(x, c(I(2))), c(np.array([1, 1, r, 1, 1], I)))
        elif f in ("gqa tiled", "group heads") and not suffix:
            x = ops.tile(ops.unsqueeze(x, c(I(1))), c(np.array([1, r, 1, 1, 1], I)), name="shared/tile")
        else:
            wide = ops.unsqueeze(x, c(I(2)), name=f"shared{suffix}/wide")
            x = ops.broadcast(wide, c(np.array([1, 1, r, 1, 1], I)), broadcast_spec="BIDIRECTIONAL", name=f"shared{suffix}/broadcast")
        return ops.reshape(x, c(np.array([1, h, -1, e], I)), False, name=f"shared{suffix}")

    ks, vs = shared(keys, ""), shared(values, "v")
    if f == "kv swapped":
        ks, vs = vs, ks
    total = ops.gather(ops.shape_of(ks), c(I(2)), c(I(0)), name="total")
    columns = ops.range(c(I(0)), total, c(I(1)), "i64", name="columns")
    rows = ops.unsqueeze(ops.add(ops.range(c(I(0)), length, c(I(1)), "i64"), ops.subtract(total, length)), c(np.array([1], I)), name="rows")
    mask = ops.select(ops.less_equal(columns, rows, name="visible"), c(F(0)), c(F(-3.4e38)), name="mask")
    scale = c(F(1 / np.sqrt(8) if f != "softmax temperature" else 0.5))
    if f == "sdpa written out":
        a = ops.matmul(ops.softmax(ops.add(ops.multiply(ops.matmul(q, ks, False, True), scale), mask), -1), vs, False, False, name="attended")
    else:
        a = ops.scaled_dot_product_attention(q, ks, vs, mask, scale, False, name="attended")
    a = ops.reshape(ops.transpose(a, c(np.array([0, 2, 1, 3], I)), name="back"), c(np.array([0, 0, d], I)), True, name="merged")
    y = ops.add(y, linear(a, w(d, d), "wo"), name="res1")
    n = rms(y, w(d) + 1, "post_")
    gate, up = linear(n, w(d, 48), "gate"), linear(n, w(d, 48), "up")
    if f == "gate up swapped":
        gate, up = up, gate
    activated = ops.multiply(gate, ops.sigmoid(gate), name="swish") if f == "swish written out" else ops.swish(gate, name="swish")
    y = ops.add(y, linear(ops.multiply(activated, up, name="gated"), w(48, d), "down"), name="res2")
    last = ops.gather(y, c(np.array([0 if f == "last position" else -1], I)), c(I(1)), name="last")
    head = w(d, vocabulary)
    head = np.roll(head, 1, 1) if f == "head row" else head
    logits = linear(last, head, "logits")
    top = ops.topk(logits, c(I(1)), -1, "min" if f == "argmax" else "max", "value", "i64", f == "argmax by topk stable", name="next")
    steps = [[np.array([[3, 14, 15, 9, 2, 6]], I), np.array([0], I), np.zeros(1, np.int32)]]
    steps += [[np.array([[5 + k]], I), np.array([6 + k], I), np.zeros(1, np.int32)] for k in range(2)]
    return done([logits, top.output(1)], [ids, start, beam], [store, store2]), steps


FAULTS["recurrent"] = {
    "gate order": "lstm", "direction": "lstm", "hidden and cell": "lstm", "lengths": "lstm", "recurrent transposed": "lstm",
    "reverse axes": "back", "linear before reset": "gru", "gru gates": "gru", "cell output": "taken", "cumsum exclusive": "sums",
    "cumsum reverse": "sums", "clip": "gru", "activations": "lstm", "last step": "end", "reverse lengths": "back", "roll": "rolled",
    "initial state": "lstm", "log base": "logged", "dilated": "tcn", "causal pad": "tcn",
}  # fmt: skip
HARMLESS["recurrent"] = ["cells", "reverse by slice", "cumsum by matmul", "state from shape", "squeeze by reshape", "relu for maximum", "conv1d as conv2d"]


@net
def recurrent(f: str) -> tuple[Model, list[list[np.ndarray]]]:
    w = Weights(4)
    b, t, i, h = 2, 6, 8, 8
    x = ops.parameter([b, t, i], F, name="x")
    y = ops.log(ops.add(ops.abs(x), c(F(1))), name="logged") if f != "log base" else ops.divide(ops.log(ops.add(ops.abs(x), c(F(1)))), c(F(np.log(2))), name="logged")
    y = ops.multiply(y, ops.sign(x), name="signed")
    wx, wr, wb = w(1, 4 * h, i), w(1, 4 * h, h), w(1, 4 * h)
    if f == "gate order":
        order = np.r_[h : 2 * h, 0:h, 2 * h : 4 * h]
        wx, wr, wb = wx[:, order], wr[:, order], wb[:, order]
    if f == "recurrent transposed":
        wr = wr.reshape(1, 4, h, h).swapaxes(2, 3).reshape(1, 4 * h, h).copy()
    h0, c0 = w(b, 1, h), w(b, 1, h)
    if f == "hidden and cell":
        h0, c0 = c0, h0
    if f == "initial state":
        h0 = h0[::-1].copy()
    lengths = np.array([6, 4], I) if f != "lengths" else np.array([6, 6], I)
    activations = ("sigmoid", "tanh", "relu") if f == "activations" else ("sigmoid", "tanh", "tanh")
    lstm = ops.lstm_sequence(y, c(h0), c(c0), c(lengths), c(wx), c(wr), c(wb), h, "reverse" if f == "direction" else "forward", activations, name="lstm")
    out = ops.squeeze(lstm.output(0), c(np.array([1], I)), name="out") if f != "squeeze by reshape" else ops.reshape(lstm.output(0), c(np.array([b, t, h], I)), False, name="out")
    n = np.array([6, 4], np.int32) if f != "reverse lengths" else np.array([4, 6], np.int32)
    if f == "reverse by slice":
        parts = [ops.slice(out, c(np.array([k, s, 0], I)), c(np.array([k + 1, e, h], I)), c(np.array([1, p, 1], I))) for k, s, e, p in
                 ((0, 5, -10, -1), (1, 3, -10, -1), (1, 4, 6, 1))]  # fmt: skip
        back = ops.concat([parts[0], ops.concat(parts[1:], 1)], 0, name="back")
    elif f == "reverse axes":
        back = ops.reverse_sequence(out, c(np.array([6, 4], np.int32)), 0, 2, name="back")
    else:
        back = ops.reverse_sequence(out, c(n), 0, 1, name="back")
    gx, gr, gb = w(1, 3 * h, h), w(1, 3 * h, h), w(1, 4 * h)
    if f == "gru gates":
        order = np.r_[h : 2 * h, 0:h, 2 * h : 3 * h]
        gx, gr = gx[:, order], gr[:, order]
    linear = f != "linear before reset"
    gb = gb if linear else np.ascontiguousarray(gb[:, : 3 * h])
    state = c(np.zeros((b, 1, h), F))
    if f == "state from shape":
        batch = ops.gather(ops.shape_of(x), c(np.array([0], I)), c(I(0)))
        state = ops.broadcast(c(F(0)), ops.concat([batch, c(np.array([1, h], I))], 0))
    gru = ops.gru_sequence(back, state, c(np.array([6, 6], I)), c(gx), c(gr), c(gb), h, "forward", clip=0.5 if f == "clip" else float("inf"), linear_before_reset=linear, name="gru")
    taken = ops.squeeze(gru.output(0), c(np.array([1], I)), name="taken")
    if f == "cell output":
        taken = ops.add(ops.multiply(out, c(F(0))), ops.gather(lstm.output(2), c(np.zeros(t, I)), c(I(1))), name="taken")
    if f == "cumsum by matmul":
        sums = ops.matmul(c(np.tril(np.ones((t, t), F))), taken, False, False, name="sums")
    else:
        sums = ops.cum_sum(taken, c(I(1)), f == "cumsum exclusive", f == "cumsum reverse", name="sums")
    rolled = ops.roll(sums, c(np.array([2 if f == "roll" else 1], I)), c(np.array([1], I)), name="rolled")
    kernel = w(4, h, 3)
    channels = ops.transpose(rolled, c(np.array([0, 2, 1], I)), name="channels")
    if f == "conv1d as conv2d":
        four = ops.unsqueeze(channels, c(np.array([2], I)))
        tcn = ops.squeeze(ops.convolution(four, c(kernel[:, :, None]), [1, 1], [0, 4], [0, 0], [1, 2]), c(np.array([2], I)), name="tcn")
    else:
        pads = ([2], [2]) if f == "causal pad" else ([4], [0]) if f != "dilated" else ([2], [0])
        tcn = ops.convolution(channels, c(kernel), [1], *pads, [1 if f == "dilated" else 2], name="tcn")
    kept = ops.maximum(tcn, c(F(0)), name="kept") if f != "relu for maximum" else ops.relu(tcn, name="kept")
    end = ops.gather(kept, c(I(0 if f == "last step" else -1)), c(I(2)), name="end")
    rng = np.random.default_rng(0)
    return done([end, sums], [x]), [[rng.normal(size=(b, t, i)).astype(F)]]


FAULTS["detector"] = {
    "sort by index": "best", "topk min": "best", "indices swapped": "picked", "one hot values": "hot",
    "split order": "left wide", "split lengths": "sides", "floor to round": "cells", "mod": "inside", "iou": "nms", "score": "nms",
    "corner": "nms", "scatter order": "written", "scatter add": "written", "one hot axis": "hot", "gather elements axis": "elements",
    "depth to space mode": "spread", "shuffle": "shuffled", "pow": "power", "quantise levels": "fq", "quantise range": "fq", "zero point": "zero",
    "dequant scale": "dequantized", "scale of another channel": "dequantized", "i8 wraps": "narrow narrowed", "hard sigmoid": "gate", "gather nd": "nd", "strided slice mask": "strided",
    "grid align": "grid", "logical xor": "either",
}  # fmt: skip
HARMLESS["detector"] = ["split by slices", "shuffle by operator", "depth to space by hand", "dequantize in f16", "gather for strided slice", "mod by floor", "hot by equal", "dequantized constant", "power as multiply",
                        "concat by scatter"]  # fmt: skip


@net
def detector(f: str) -> tuple[Model, list[list[np.ndarray]]]:
    w = Weights(5)
    x = ops.parameter([1, 16, 8, 8], F, name="features")
    boxes = ops.parameter([1, 12, 4], F, name="boxes")
    u = np.random.default_rng(9).integers(-100, 100, (8, 16, 1, 1)).astype(np.int8)
    scales = (np.abs(w(8, 1, 1, 1)) * F(0.02) + F(0.001)).astype(np.float16).astype(F)
    fq_low, fq_high = (F(-3), F(3)) if f != "quantise range" else (F(-2.9), F(3))
    y = ops.fake_quantize(x, c(fq_low), c(fq_high), c(fq_low), c(fq_high), 255 if f == "quantise levels" else 256, name="fq")
    if f == "dequantized constant":
        weights = c((u.astype(F) - F(3)) * scales)
    else:
        zero = ops.subtract(ops.convert(c(u), "f32"), c(F(4 if f == "zero point" else 3)), name="zero")
        s = {"dequant scale": scales * F(1.01), "scale of another channel": scales[[1, 0, *range(2, 8)]]}.get(f, scales)
        weights = ops.multiply(zero, f16(s) if f == "dequantize in f16" else c(s), name="dequantized")
    y = ops.convolution(y, weights, [1, 1], [0, 0], [0, 0], [1, 1], name="conv")
    if f == "shuffle by operator":
        y = ops.shuffle_channels(y, 1, 2, name="shuffled")
    else:
        groups = 4 if f == "shuffle" else 2
        y = ops.reshape(y, c(np.array([1, groups, 8 // groups, 8, 8], I)), False)
        y = ops.reshape(ops.transpose(y, c(np.array([0, 2, 1, 3, 4], I))), c(np.array([1, 8, 8, 8], I)), False, name="shuffled")
    if f == "depth to space by hand":
        z = ops.transpose(ops.reshape(y, c(np.array([1, 2, 2, 2, 8, 8], I)), False), c(np.array([0, 3, 4, 1, 5, 2], I)))
        spread = ops.reshape(z, c(np.array([1, 2, 16, 16], I)), False, name="spread")
    else:
        spread = ops.depth_to_space(y, "depth_first" if f == "depth to space mode" else "blocks_first", 2, name="spread")
    if f == "split by slices":
        left, right = (ops.slice(spread, c(np.array([a], I)), c(np.array([a + 8], I)), c(np.array([1], I)), c(np.array([3], I))) for a in (0, 8))
    else:
        left, right = ops.split(spread, c(I(3)), 2, name="left").outputs
    if f == "split order":
        left, right = right, left
    wide = ops.subtract(left, right, name="wide")
    lengths = [6, 10] if f != "split lengths" else [10, 6]
    sides = ops.variadic_split(wide, c(I(2)), c(np.array(lengths, I)), name="sides")
    top, bottom = (sides.output(0), sides.output(1)) if f != "split lengths" else (sides.output(1), sides.output(0))
    grid = c(np.stack(np.meshgrid(np.linspace(-0.9, 0.8, 5), np.linspace(-0.7, 0.9, 4)), -1)[None].astype(F))
    sampled = ops.grid_sample(bottom, grid, {"align_corners": f == "grid align"}, name="grid")
    score = ops.reduce_max(top, c(np.array([1, 2], I)), False, name="per_column")
    mean = ops.reduce_mean(sampled, c(np.array([1, 2, 3], I)), True)
    flat = ops.reshape(wide, c(np.array([1, 256], I)), False, name="flat")
    k = c(I(12))
    best = ops.topk(flat, k, 1, "min" if f == "topk min" else "max", "index" if f == "sort by index" else "value", "i64", name="best")
    cell = ops.divide(ops.convert(best.output(1), "f32"), c(F(9.5)), name="cell")
    cells = ops.round(cell, "half_to_even", name="cells") if f == "floor to round" else ops.floor(cell, name="cells")
    signed = ops.subtract(cells, c(F(5.5)), name="signed")
    if f == "mod by floor":
        inside = ops.subtract(signed, ops.multiply(ops.floor(ops.divide(signed, c(F(3)))), c(F(3))), name="inside")
    else:
        inside = (ops.mod if f == "mod" else ops.floor_mod)(signed, c(F(3)), name="inside")
    if f == "power as multiply":
        power = ops.multiply(inside, inside, name="power")
    else:
        power = ops.power(inside, c(F(3 if f == "pow" else 2)), name="power")
    scores = ops.sigmoid(ops.multiply(best.output(0), c(F(0.2))), name="scores")
    gate = ops.hard_sigmoid(power, c(F(0.2 if f != "hard sigmoid" else 1 / 6)), c(F(0.5)), name="gate")
    order = np.array([3, 1, 2, 0, *range(4, 12)] if f == "indices swapped" else [0, 1, 2, 3, *range(4, 12)], I)
    picked = ops.gather(boxes, c(order), c(I(1)), name="picked")
    rounded = ops.convert(ops.convert(ops.multiply(picked, c(F(40))), "i32"), "f32", name="rounded")
    if f == "i8 wraps":
        rounded = ops.convert(ops.convert(ops.multiply(picked, c(F(40))), "i8", name="narrow"), "f32", name="narrowed")
    boxed = ops.multiply(rounded, c(F(0.025)), name="boxed")
    nms = ops.non_max_suppression(boxed, ops.unsqueeze(scores, c(np.array([1], I))), c(I(8)), c(F(0.5 if f == "iou" else 0.3)), c(F(0.9 if f == "score" else 0.1)), None,
                                  "center" if f == "corner" else "corner", True, "i64", name="nms")  # fmt: skip
    index = ops.gather(best.output(1), c(np.array([0, 5, 2], I)), c(I(1)), name="three")
    hot_index = ops.floor_mod(index, c(I(4)))
    if f == "hot by equal":
        hot = ops.multiply(ops.convert(ops.equal(ops.unsqueeze(hot_index, c(I(-1))), c(np.arange(4).reshape(1, 1, 4))), "f32"), c(F(0.9)), name="hot")
    else:
        hot = ops.one_hot(hot_index, c(I(4)), c(F(0.9 if f != "one hot values" else 1.0)), c(F(0)), -1, name="hot")
    if f == "one hot axis":
        hot = ops.one_hot(ops.gather(hot_index, c(np.array([0, 1, 2, 0], I)), c(I(1))), c(I(3)), c(F(0.9)), c(F(0)), 1, name="hot")
    updates = ops.reshape(ops.convert(hot, "f32"), c(np.array([1, 12], I)), False, name="updates")
    at = np.array([[0, 3, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1]], I)
    at = at[:, ::-1].copy() if f == "scatter order" else at
    written = ops.scatter_elements_update(scores, c(at), updates, c(I(1)), "sum" if f == "scatter add" else "none", True, name="written")
    elements = ops.gather_elements(ops.reshape(wide, c(np.array([16, 16], I)), False), c(np.random.default_rng(3).integers(0, 16, (16, 16))), 1 if f == "gather elements axis" else 0, name="elements")
    nd_at = np.array([[0, 1], [2, 3], [4, 5]], I)
    nd = ops.gather_nd(elements, c(nd_at[:, ::-1].copy() if f == "gather nd" else nd_at), name="nd")
    if f == "gather for strided slice":
        strided = ops.gather(elements, c(np.arange(1, 15, 2)), c(I(1)), name="strided")
    else:
        ends = [0] if f == "strided slice mask" else [0]
        stop = np.array([16, 15 if f != "strided slice mask" else 15], I)
        strided = ops.strided_slice(elements, c(np.array([0, 1 if f != "strided slice mask" else 0], I)), c(stop if f != "strided slice mask" else np.array([16, 14], I)), c(np.array([1, 2], I)), ends, ends, name="strided")
    either = ops.logical_or(ops.greater(strided, c(F(0))), ops.less(strided, c(F(-1)))) if f != "logical xor" else ops.logical_and(ops.greater(strided, c(F(0))), ops.greater(strided, c(F(0.2))))
    either = ops.logical_not(either, name="either")
    joined = ops.concat([written, ops.multiply(gate, scores), ops.reshape(nd, c(np.array([1, 3], I)), False), ops.reshape(ops.reduce_mean(ops.convert(either, "f32"), c(np.array([0], I)), False), c(np.array([1, 7], I)), False), ops.reshape(mean, c(np.array([1, 1], I)), False), score], 1, name="joined")
    rng = np.random.default_rng(0)
    corner = rng.random((1, 12, 2)) * 2
    given = [rng.normal(size=(1, 16, 8, 8)).astype(F), np.concatenate([corner, corner + 0.5 + rng.random((1, 12, 2)) * 3], 2).astype(F)]
    return done([joined, nms.output(0), boxed], [x, boxes]), [given]
