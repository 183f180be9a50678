"""A quantized head of a detector, written for written_pairs.py with switches: see written_nets.py."""

from __future__ import annotations

import numpy as np
from written_nets import FAULTS, HARMLESS, F, L, Weights, c, done, f16, net

from irexec import Model
from irexec import opset15 as ops

FAULTS["detector"] = {
    "sort by index": "best",
    "topk min": "best",
    "indices swapped": "picked",
    "one hot values": "hot",
    "split order": "left wide",
    "split lengths": "sides",
    "floor to round": "cells",
    "mod": "inside",
    "iou": "nms",
    "score": "nms",
    "corner": "nms",
    "scatter order": "written",
    "scatter add": "written",
    "one hot axis": "hot",
    "gather elements axis": "elements",
    "depth to space mode": "spread",
    "shuffle": "shuffled grouped",
    "pow": "power",
    "quantize levels": "fq",
    "quantize range": "fq",
    "zero point": "zero conv",
    "dequant scale": "dequantized conv",
    "scale of another channel": "dequantized conv",
    "i8 wraps": "whole",
    "hard sigmoid": "gate",
    "gather nd": "nd",
    "strided slice mask": "strided",
    "grid align": "grid",
    "logical xor": "one",
}
HARMLESS["detector"] = [
    "split by slices",
    "shuffle by operator",
    "depth to space by hand",
    "dequantize in f16",
    "gather for strided slice",
    "mod by floor",
    "hot by equal",
    "dequantized constant",
    "power as multiply",
]


@net
def detector(f: str) -> tuple[Model, list[list[np.ndarray]]]:
    w = Weights(5)
    x = ops.parameter([1, 16, 8, 8], F, name="features")
    boxes = ops.parameter([1, 12, 4], F, name="boxes")
    u = np.random.default_rng(9).integers(-100, 100, (8, 16, 1, 1)).astype(np.int8)
    scales = (np.abs(w(8, 1, 1, 1)) * F(0.02) + F(0.001)).astype(np.float16).astype(F)
    fq_low, fq_high = (F(-3), F(3)) if f != "quantize range" else (F(-2.9), F(3))
    y = ops.fake_quantize(
        x, c(fq_low), c(fq_high), c(fq_low), c(fq_high), 255 if f == "quantize levels" else 256, name="fq"
    )
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
        y = ops.reshape(y, c(np.array([1, groups, 8 // groups, 8, 8], L)), False, name="grouped")
        y = ops.reshape(
            ops.transpose(y, c(np.array([0, 2, 1, 3, 4], L))), c(np.array([1, 8, 8, 8], L)), False, name="shuffled"
        )
    if f == "depth to space by hand":
        z = ops.transpose(ops.reshape(y, c(np.array([1, 2, 2, 2, 8, 8], L)), False), c(np.array([0, 3, 4, 1, 5, 2], L)))
        spread = ops.reshape(z, c(np.array([1, 2, 16, 16], L)), False, name="spread")
    else:
        spread = ops.depth_to_space(
            y, "depth_first" if f == "depth to space mode" else "blocks_first", 2, name="spread"
        )
    if f == "split by slices":
        left, right = (
            ops.slice(spread, c(np.array([a], L)), c(np.array([a + 8], L)), c(np.array([1], L)), c(np.array([3], L)))
            for a in (0, 8)
        )
    else:
        left, right = ops.split(spread, c(L(3)), 2, name="left").outputs
    if f == "split order":
        left, right = right, left
    wide = ops.subtract(left, right, name="wide")
    lengths = [6, 10] if f != "split lengths" else [10, 6]
    sides = ops.variadic_split(wide, c(L(2)), c(np.array(lengths, L)), name="sides")
    top, bottom = (sides.output(0), sides.output(1)) if f != "split lengths" else (sides.output(1), sides.output(0))
    grid = c(np.stack(np.meshgrid(np.linspace(-0.9, 0.8, 5), np.linspace(-0.7, 0.9, 4)), -1)[None].astype(F))
    sampled = ops.grid_sample(bottom, grid, {"align_corners": f == "grid align"}, name="grid")
    score = ops.reduce_max(top, c(np.array([1, 2], L)), False, name="per_column")
    mean = ops.reduce_mean(sampled, c(np.array([1, 2, 3], L)), True)
    flat = ops.reshape(wide, c(np.array([1, 256], L)), False, name="flat")
    k = c(L(12))
    best = ops.topk(
        flat,
        k,
        1,
        "min" if f == "topk min" else "max",
        "index" if f == "sort by index" else "value",
        "i64",
        name="best",
    )
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
    order = np.array([3, 1, 2, 0, *range(4, 12)] if f == "indices swapped" else [0, 1, 2, 3, *range(4, 12)], L)
    picked = ops.gather(boxes, c(order), c(L(1)), name="picked")
    forty = ops.multiply(picked, c(F(40)), name="forty")
    rounded = ops.convert(ops.convert(forty, "i32", name="whole"), "f32", name="rounded")
    if f == "i8 wraps":
        rounded = ops.convert(ops.convert(forty, "i8", name="whole"), "f32", name="rounded")
    boxed = ops.multiply(rounded, c(F(0.025)), name="boxed")
    nms = ops.non_max_suppression(
        boxed,
        ops.unsqueeze(scores, c(np.array([1], L))),
        c(L(8)),
        c(F(0.5 if f == "iou" else 0.3)),
        c(F(0.9 if f == "score" else 0.1)),
        None,
        "center" if f == "corner" else "corner",
        True,
        "i64",
        name="nms",
    )
    index = ops.gather(best.output(1), c(np.array([0, 5, 2], L)), c(L(1)), name="three")
    hot_index = ops.floor_mod(index, c(L(4)))
    if f == "hot by equal":
        hot = ops.multiply(
            ops.convert(ops.equal(ops.unsqueeze(hot_index, c(L(-1))), c(np.arange(4).reshape(1, 1, 4))), "f32"),
            c(F(0.9)),
            name="hot",
        )
    else:
        hot = ops.one_hot(hot_index, c(L(4)), c(F(0.9 if f != "one hot values" else 1.0)), c(F(0)), -1, name="hot")
    if f == "one hot axis":
        hot = ops.one_hot(
            ops.gather(hot_index, c(np.array([0, 1, 2, 0], L)), c(L(1))), c(L(3)), c(F(0.9)), c(F(0)), 1, name="hot"
        )
    updates = ops.reshape(ops.convert(hot, "f32"), c(np.array([1, 12], L)), False, name="updates")
    at = np.array([[0, 3, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1]], L)
    at = at[:, ::-1].copy() if f == "scatter order" else at
    written = ops.scatter_elements_update(
        scores, c(at), updates, c(L(1)), "sum" if f == "scatter add" else "none", True, name="written"
    )
    elements = ops.gather_elements(
        ops.reshape(wide, c(np.array([16, 16], L)), False),
        c(np.random.default_rng(3).integers(0, 16, (16, 16))),
        1 if f == "gather elements axis" else 0,
        name="elements",
    )
    nd_at = np.array([[0, 1], [2, 3], [4, 5]], L)
    nd = ops.gather_nd(elements, c(nd_at[:, ::-1].copy() if f == "gather nd" else nd_at), name="nd")
    if f == "gather for strided slice":
        strided = ops.gather(elements, c(np.arange(1, 15, 2)), c(L(1)), name="strided")
    else:
        begin, stop = ([0, 0], [16, 14]) if f == "strided slice mask" else ([0, 1], [16, 15])
        steps = c(np.array([1, 2], L))
        strided = ops.strided_slice(
            elements, c(np.array(begin, L)), c(np.array(stop, L)), steps, [0, 0], [0, 0], name="strided"
        )
    high, low = ops.greater(strided, c(F(0)), name="high"), ops.less(strided, c(F(-1)), name="low")
    either = (ops.logical_and if f == "logical xor" else ops.logical_or)(high, low, name="one")
    either = ops.logical_not(either, name="either")
    joined = ops.concat(
        [
            written,
            ops.multiply(gate, scores),
            ops.reshape(nd, c(np.array([1, 3], L)), False),
            ops.reshape(
                ops.reduce_mean(ops.convert(either, "f32"), c(np.array([0], L)), False), c(np.array([1, 7], L)), False
            ),
            ops.reshape(mean, c(np.array([1, 1], L)), False),
            score,
        ],
        1,
        name="joined",
    )
    rng = np.random.default_rng(0)
    corner = rng.random((1, 12, 2)) * 2
    given = [
        rng.normal(size=(1, 16, 8, 8)).astype(F),
        np.concatenate([corner, corner + 0.5 + rng.random((1, 12, 2)) * 3], 2).astype(F),
    ]
    return done([joined, nms.output(0), boxed], [x, boxes]), [given]
