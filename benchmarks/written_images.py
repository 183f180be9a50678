"""A convolutional network, written for written_pairs.py with switches: see written_nets.py."""

from __future__ import annotations

import numpy as np
from written_nets import FAULTS, HARMLESS, F, L, Weights, c, done, f16, net

from irexec import Model
from irexec import opset15 as ops

FAULTS["cnn"] = {
    "pad mode": "padded",
    "pad value": "padded",
    "clamp max": "clamped",
    "clamp min": "clamped",
    "bn epsilon": "bn",
    "prelu slope": "slopes",
    "coordinate mode": "up",
    "interpolate mode": "up",
    "nearest mode": "near",
    "groups of weights": "grouped",
    "number of groups": "grouped",
    "mean to sum": "pooled",
    "concat order": "joined",
    "concat axis": "joined flat",
    "bias broadcast": "biased",
    "bias of another": "biased",
    "average pool": "small",
    "softmax axis": "probabilities",
    "channels reversed": "ordered conv",
    "mean and std": "centred scaled ordered",
    "height and width": "turned",
    "stride and dilation": "conv2",
    "subtract order": "difference",
    "exclude pad": "averaged",
    "kernel flipped": "conv",
    "auto pad": "conv3",
    "normalized axes": "normalized",
    "flatten order": "flat",
    "variance for mean": "bn",
}
HARMLESS["cnn"] = [
    "f16 weights",
    "bn as conv",
    "bn as multiply and add",
    "prelu as relu",
    "clamp as min and max",
    "pad into conv",
    "scales instead of sizes",
    "mean and reshape",
    "softmax written out",
    "subtract as add",
    "transposes cancelled",
    "bias folded",
    "group convolution as convolution",
    "reshape with zeros",
    "squeeze",
    "nested concat",
]


@net
def cnn(f: str) -> tuple[Model, list[list[np.ndarray]]]:
    w = Weights(1)
    x = ops.parameter([1, 3, 16, 16], F, name="image")
    mean, std = np.array([0.5, 0.4, 0.3], F).reshape(1, 3, 1, 1), np.array([0.2, 0.25, 0.3], F).reshape(1, 3, 1, 1)
    if f == "mean and std":
        mean, std = std, mean
    y = ops.subtract(x, c(mean), name="centred")
    y = ops.divide(y, c(std), name="scaled")
    y = ops.gather(y, c(np.array([2, 1, 0] if f == "channels reversed" else [0, 1, 2], L)), c(L(1)), name="ordered")
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
        y = ops.transpose(ops.transpose(y, c(np.array([0, 2, 3, 1], L))), c(np.array([0, 3, 1, 2], L)))
    turn = [0, 1, 3, 2] if f == "height and width" else [0, 1, 2, 3]
    y = ops.transpose(y, c(np.array(turn, L)), name="turned")
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
    mode = {"pad mode": "symmetric", "pad value": "constant"}.get(f, "reflect")
    one = c(np.array([0, 0, 1, 1], L))
    small2 = ops.pad(small, one, one, mode, name="padded")
    strides = [1, 1]
    if f == "stride and dilation":
        small2 = ops.convolution(small2, c(kernel2), strides, [1, 1], [1, 1], [2, 2], name="conv2")
    else:
        small2 = ops.convolution(small2, c(kernel2), strides, [0, 0], [0, 0], [1, 1], name="conv2")
    small2 = (
        ops.avg_pool(small2, [3, 3], [1, 1], [1, 1], [3, 3], f != "exclude pad", "floor", "explicit", name="averaged")
        if False
        else ops.avg_pool(small2, [1, 1], [1, 1], [1, 1], [3, 3], f != "exclude pad", name="averaged")
    )
    small2 = ops.mvn(
        small2,
        c(np.array([1, 2] if f == "normalized axes" else [2, 3], L)),
        True,
        1e-5,
        "inside_sqrt",
        name="normalized",
    )
    sizes = c(np.array([16, 16], L))
    mode = "nearest" if f == "interpolate mode" else "linear_onnx"
    coordinates = "asymmetric" if f == "coordinate mode" else "half_pixel"
    if f == "scales instead of sizes":
        up = ops.interpolate(
            small2,
            c(np.array([2.0, 2.0], F)),
            mode,
            "scales",
            [0],
            [0],
            coordinates,
            axes=c(np.array([2, 3], L)),
            name="up",
        )
    else:
        up = ops.interpolate(
            small2, sizes, mode, "sizes", [0], [0], coordinates, axes=c(np.array([2, 3], L)), name="up"
        )
    near = ops.interpolate(
        small,
        c(np.array([12, 12], L)),
        "nearest",
        "sizes",
        [0],
        [0],
        "asymmetric",
        "ceil" if f == "nearest mode" else "floor",
        axes=c(np.array([2, 3], L)),
        name="near",
    )
    near = ops.interpolate(near, sizes, "linear_onnx", "sizes", axes=c(np.array([2, 3], L)), name="nearer")
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
        flat = ops.reshape(
            ops.transpose(difference, c(np.array([0, 2, 3, 1], L))), c(np.array([1, 4096], L)), False, name="flat"
        )
    elif f == "reshape with zeros":
        flat = ops.reshape(difference, c(np.array([0, -1], L)), True, name="flat")
    else:
        flat = ops.reshape(difference, c(np.array([1, 4096], L)), False, name="flat")
    head = ops.matmul(flat, c(w(4096, 5, scale=0.02)), False, False, name="head")
    axes = c(np.array([2, 3], L))
    if f == "mean to sum":
        pooled = ops.reduce_sum(joined, axes, False, name="pooled")
    elif f == "mean and reshape":
        pooled = ops.reshape(ops.reduce_mean(joined, axes, True), c(np.array([1, 48], L)), False, name="pooled")
    elif f == "squeeze":
        pooled = ops.squeeze(ops.reduce_mean(joined, axes, True), axes, name="pooled")
    else:
        pooled = ops.reduce_mean(joined, axes, False, name="pooled")
    if f == "concat axis":
        pooled = ops.tile(pooled, c(np.array([1, 3], L)), name="tiled")
    b = w(5)
    m = w(48, 5)
    if f == "bias folded":
        logits = ops.matmul(
            ops.concat([pooled, c(np.ones((1, 1), F))], 1), c(np.vstack([m, b[None]])), False, False, name="logits"
        )
    else:
        logits = ops.add(ops.matmul(pooled, c(m), False, False, name="fc"), c(b.reshape(1, 5)), name="logits")
    logits = ops.add(logits, head, name="sum")
    if f == "softmax written out":
        e = ops.exp(ops.subtract(logits, ops.reduce_max(logits, c(L(1)), True)))
        p = ops.divide(e, ops.reduce_sum(e, c(L(1)), True), name="probabilities")
    else:
        p = ops.softmax(logits, 0 if f == "softmax axis" else 1, name="probabilities")
    rng = np.random.default_rng(0)
    return done([p, logits], [x]), [[rng.random((1, 3, 16, 16), dtype=F)]]
