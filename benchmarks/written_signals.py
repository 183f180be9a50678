"""A network of rarer operators (grids, regions, sequences, rotations, one-hot codes), written for written_pairs.py: see
written_nets.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from written_nets import FAULTS, HARMLESS, F, L, Weights, c, done, net

import irexec
from irexec import Model
from irexec import opset15 as ops

FAULTS["signals"] = {
    "corners not aligned": "sampled",
    "zeros beyond the grid": "sampled",
    "depth first": "spread",
    "groups of channels": "shuffled",
    "other side of the grown image": "grown",
    "cubic coefficient": "resized",
    "dilated pool": "pooled",
    "one sample for a region": "regions",
    "regions without half a pixel": "regions",
    "gates in another order": "recurrent",
    "clipped cells": "recurrent",
    "sequence from the back": "recurrent",
    "lengths swapped": "reversed",
    "collected from the back": "each",
    "rotation interleaved": "rotated rotated/halves rotated/negative rotated/turned",
    "epsilon outside the root": "shifted root normal",
    "gelu by tanh": "gelu",
    "scaled twice": "attended",
    "without causal mask": "attended",
    "contracted over the other axis": "contracted",
    "codes inverted": "codes",
    "replaced instead of added": "scattered",
    "sorted by position": "top",
    "exclusive sum": "running",
    "one level fewer": "quantized",
}
HARMLESS["signals"] = [
    "sequence as cells",
    "sequence as iterations",
    "depth to space by transposing",
    "shuffled by transposing",
    "gelu written out",
    "root as power",
    "attention written out",
    "contraction as product",
    "codes as rows of a table",
    "running sum as product",
    "quantized after reshaping",
    "quantizer written out",
    "product with transposed weights",
    "sums in another order",
    "halves by slices",
    "layers without effect",
    "input that no layer reads",
    "positions by range",
]
T, HIDDEN = 5, 4


def _cell(x: Any, h: Any, s: Any, w: Any, r: Any, b: Any, **options: Any) -> Any:
    return ops.lstm_cell(x, h, s, w, r, b, HIDDEN, ["sigmoid", "tanh", "tanh"], [], [], **options)


def _recurrent(f: str, x: Any, w: Weights) -> Any:
    """Return all hidden states of an LSTM, [1, T, HIDDEN]."""
    gates = [w(HIDDEN, 4, scale=1.0) for _ in range(4)]
    if f == "gates in another order":
        gates = [gates[1], gates[0], *gates[2:]]
    k, r, b = np.concatenate(gates), w(4 * HIDDEN, HIDDEN), w(4 * HIDDEN)
    zero = np.zeros((1, HIDDEN), F)
    if f == "sequence as cells":
        h, s, found = c(zero), c(zero), []
        for part in ops.split(x, c(L(1)), T).outputs():
            row = ops.reshape(part, c(np.array([1, 4], L)), False)
            h, s = _cell(row, h, s, c(k), c(r), c(b)).outputs()
            found.append(ops.unsqueeze(h, c(np.array([1], L))))
        return ops.concat(found, 1)
    if f == "sequence as iterations":
        part, h, s = (ops.parameter([1, *shape], F) for shape in ([1, 4], [HIDDEN], [HIDDEN]))
        cell = _cell(ops.squeeze(part, c(np.array([1], L))), h, s, c(k), c(r), c(b))
        row = ops.unsqueeze(cell.outputs()[0], c(np.array([1], L)))
        ends = [ops.result(v) for v in (row, *cell.outputs())]
        loop = ops.tensor_iterator()
        loop.set_function(irexec.Model(ends, [part, h, s], "body"))
        loop.set_sliced_input(part, x.output(0), 0, 1, 1, -1, 1)
        loop.set_merged_input(h, c(zero).output(0), ends[1].output(0))
        loop.set_merged_input(s, c(zero).output(0), ends[2].output(0))
        return loop.get_concatenated_slices(ends[0].output(0), 0, 1, 1, -1, 1)
    clip = 0.2 if f == "clipped cells" else 0.0
    way = "reverse" if f == "sequence from the back" else "forward"
    start, count = c(zero[:, None]), c(np.array([T], np.int32))
    made = ops.lstm_sequence(
        x, start, start, count, c(k[None]), c(r[None]), c(b[None]), HIDDEN, way, clip=clip, name="recurrent"
    )
    return ops.reshape(made.outputs()[0], c(np.array([1, T, HIDDEN], L)), False, name="states")


def _each(f: str, x: Any, weights: np.ndarray) -> Any:
    """Return a product for each row, computed in a loop."""
    row = ops.parameter([1, 1, 4], F, name="row")
    end = ops.result(ops.tanh(ops.matmul(row, c(weights), False, False, name="each/product"), name="each/bent"))
    loop = ops.tensor_iterator(name="each")
    loop.set_function(irexec.Model([end], [row], "body"))
    loop.set_sliced_input(row, x.output(0) if hasattr(x, "output") else x, 0, 1, 1, -1, 1)
    if f == "collected from the back":
        return loop.get_concatenated_slices(end.output(0), -1, -1, 1, 0, 1)
    return loop.get_concatenated_slices(end.output(0), 0, 1, 1, -1, 1)


def _image(f: str, x: Any, w: Weights) -> Any:
    """Return the regions of an image [1, 8, 8, 8] as one row."""
    grid = np.stack(np.meshgrid(np.linspace(-1.2, 1.1, 8), np.linspace(-1, 1.3, 8)), -1)[None].astype(F)
    beyond = "zeros" if f == "zeros beyond the grid" else "border"
    attributes = {"align_corners": f != "corners not aligned", "mode": "bilinear", "padding_mode": beyond}
    y = ops.grid_sample(x, c(grid), attributes, name="sampled")
    if f == "shuffled by transposing":
        y = ops.reshape(y, c(np.array([1, 2, 4, 64], L)), False)
        y = ops.reshape(ops.transpose(y, c(np.array([0, 2, 1, 3], L))), c(np.array([1, 8, 8, 8], L)), False)
    else:
        y = ops.shuffle_channels(y, 1, 4 if f == "groups of channels" else 2, name="shuffled")
    if f == "depth to space by transposing":
        y = ops.reshape(y, c(np.array([1, 2, 2, 2, 8, 8], L)), False)
        y = ops.transpose(y, c(np.array([0, 3, 4, 1, 5, 2], L)))
        y = ops.reshape(y, c(np.array([1, 2, 16, 16], L)), False)
    else:
        y = ops.depth_to_space(y, "depth_first" if f == "depth first" else "blocks_first", 2, name="spread")
    begin, end = ([0, 0], [1, 1]) if f == "other side of the grown image" else ([1, 1], [0, 0])
    y = ops.convolution_backprop_data(
        y, c(w(2, 4, 3, 3)), strides=[2, 2], pads_begin=begin, pads_end=end, dilations=[1, 1], name="grown"
    )
    sizes = c(np.array([16, 16], L))
    coefficient = -0.5 if f == "cubic coefficient" else -0.75
    y = ops.interpolate(y, sizes, "cubic", "sizes", axes=c(np.array([2, 3], L)), cube_coeff=coefficient, name="resized")
    dilation, pad = ([2, 2], [2, 2]) if f == "dilated pool" else ([1, 1], [1, 1])
    y = ops.max_pool(y, [2, 2], dilation, pad, pad, [3, 3], name="pooled").outputs()[0]
    boxes = c(np.array([[1, 1, 6, 5], [0, 2, 7.5, 7]], F))
    ratio = 1 if f == "one sample for a region" else 2
    mode = "asymmetric" if f == "regions without half a pixel" else "half_pixel_for_nn"
    y = ops.roi_align(y, boxes, c(np.zeros(2, np.int32)), 2, 2, ratio, 1.0, "avg", mode, name="regions")
    return ops.reshape(y, c(np.array([1, -1], L)), False, name="image")


def _rotated(f: str, q: Any, positions: Any) -> Any:
    """Return the rotary embedding of a tensor [1, T, 4]."""
    angle = ops.multiply(positions, c(np.array([1.0, 0.1], F)), name="angles")
    wide = ops.concat([angle, angle], 1, name="wide")
    if f == "rotation interleaved":
        pairs = ops.reshape(q, c(np.array([1, T, 2, 2], L)), False)
        first, second = ops.split(pairs, c(L(3)), 2).outputs()
        turned = ops.reshape(ops.concat([ops.negative(second), first], 3), c(np.array([1, T, 4], L)), False)
    else:
        if f == "halves by slices":
            ends = [(0, 2), (2, 4)]
            first, second = (
                ops.slice(q, *(c(np.array([n], L)) for n in (a, b, 1)), c(np.array([2], L))) for a, b in ends
            )
        else:
            first, second = ops.split(q, c(L(2)), 2, name="rotated/halves").outputs()
        turned = ops.concat([ops.negative(second, name="rotated/negative"), first], 2, name="rotated/turned")
    return ops.add(
        ops.multiply(q, ops.cos(wide, name="cosines"), name="straight"),
        ops.multiply(turned, ops.sin(wide, name="sines"), name="across"),
        name="rotated",
    )


@net
def signals(f: str) -> tuple[Model, list[list[np.ndarray]]]:
    w = Weights(23)
    x = ops.parameter([1, T, 4], F, name="x")
    image = ops.parameter([1, 8, 8, 8], F, name="image")
    ids = ops.parameter([1, T], L, name="ids")
    y = _recurrent(f, x, w)
    if f == "layers without effect":
        y = ops.transpose(y, c(np.array([0, 1, 2], L)))
        y = ops.reshape(y, c(np.array([0, 0, -1], L)), True)
    lengths = np.array([2, 4, 3, 1], np.int32)
    lengths = lengths[::-1].copy() if f == "lengths swapped" else lengths
    y = ops.transpose(y, c(np.array([2, 1, 0], L)), name="first")
    y = ops.transpose(ops.reverse_sequence(y, c(lengths), 0, 1, name="reversed"), c(np.array([2, 1, 0], L)))
    y = _each(f, y, w(4, 4, scale=1.0))
    # Tokens: a one-hot code, its running sum, and a rotation.
    table = w(6, 4)
    if f == "codes as rows of a table":
        codes = ops.gather(c(np.eye(6, dtype=F)), ids, c(L(0)))
    else:
        on, off = (0, 1) if f == "codes inverted" else (1, 0)
        codes = ops.one_hot(ids, c(L(6)), c(F(on)), c(F(off)), 2, name="codes")
    if f == "running sum as product":
        running = ops.matmul(c(np.tril(np.ones((T, T), F))[None]), codes, False, False)
    else:
        running = ops.cumsum(codes, c(L(1)), f == "exclusive sum", False, name="running")
    if f == "product with transposed weights":
        token = ops.matmul(running, c(table.T.copy()), False, True, name="token")
    else:
        token = ops.matmul(running, c(table), False, False, name="token")
    added = w(4)
    if f == "sums in another order":
        y = ops.add(y, ops.add(token, c(added)))
    else:
        y = ops.add(ops.add(y, token, name="both"), c(added), name="shown")
    eps = F(0.05)
    mean = ops.reduce_mean(ops.multiply(y, y, name="squares"), c(np.array([2], L)), True, name="power")
    if f == "root as power":
        y = ops.multiply(y, ops.power(ops.add(mean, c(eps)), c(F(-0.5))), name="normal")
    elif f == "epsilon outside the root":
        y = ops.divide(y, ops.add(ops.sqrt(mean, name="root"), c(eps), name="shifted"), name="normal")
    else:
        y = ops.divide(y, ops.sqrt(ops.add(mean, c(eps), name="shifted"), name="root"), name="normal")
    if f == "positions by range":
        places = ops.range(c(F(0)), c(F(T)), c(F(1)), "f32")
        positions = ops.unsqueeze(places, c(np.array([1], L)))
    else:
        positions = c(np.arange(T, dtype=F)[:, None])
    q = _rotated(f, y, positions)
    if f == "attention written out":
        scores = ops.multiply(ops.matmul(q, y, False, True), c(F(0.5)))
        scores = ops.add(scores, c(np.triu(np.full((T, T), -np.inf, F), 1)))
        y = ops.matmul(ops.softmax(scores, -1), y, False, False, name="attended")
    else:
        causal = f != "without causal mask"
        mask = c(np.zeros((1, T, T), F))
        scale = c(F(0.25 if f == "scaled twice" else 0.5))
        y = ops.scaled_dot_product_attention(q, y, y, mask, scale, causal, name="attended")
    if f == "gelu written out":
        half = ops.multiply(y, c(F(0.5)))
        y = ops.multiply(half, ops.add(ops.erf(ops.multiply(y, c(F(2**-0.5)))), c(F(1))))
    else:
        y = ops.gelu(y, "tanh" if f == "gelu by tanh" else "erf", name="gelu")
    square = w(1, 4, 4, scale=1.0)
    if f == "contraction as product":
        y = ops.matmul(y, c(square), False, False)
    else:
        text = "btk,bjk->btj" if f == "contracted over the other axis" else "btk,bkj->btj"
        y = ops.einsum([y, c(square)], text, name="contracted")
    place = np.array([[[0, 1, 0, 2], [0, 0, 3, 3]]], L)
    how = "none" if f == "replaced instead of added" else "sum"
    y = ops.scatter_elements_update(y, c(place), c(w(1, 2, 4)), c(L(1)), how, True, name="scattered")
    summed = y
    low, high, levels = F(-2), F(1.984375), 255 if f == "one level fewer" else 256
    limits = [c(low), c(high), c(low), c(high)]
    if f == "quantized after reshaping":
        y = ops.fake_quantize(ops.reshape(y, c(np.array([1, -1], L)), False), *limits, levels)
    elif f == "quantizer written out":
        steps = ops.round(ops.multiply(ops.subtract(ops.clamp(y, -2.0, 1.984375), c(low)), c(F(64))), "half_to_even")
        y = ops.reshape(ops.add(ops.multiply(steps, c(F(1 / 64))), c(low)), c(np.array([1, -1], L)), False)
    else:
        y = ops.fake_quantize(y, *limits, levels, name="quantized")
        y = ops.reshape(y, c(np.array([1, -1], L)), False, name="row of all")
    order = "index" if f == "sorted by position" else "value"
    top = ops.topk(y, c(L(6)), 1, "max", order, name="top").outputs()[0]
    seen = _image(f, image, w)
    ranked = ops.multiply(top, c(w(6)), name="ranked")
    rng = np.random.default_rng(8)
    arrays = [rng.normal(size=(1, T, 4)).astype(F), rng.normal(size=(1, 8, 8, 8)).astype(F)]
    arrays.append(rng.integers(0, 6, (1, T)))
    inputs = [x, image, ids]
    if f == "input that no layer reads":
        inputs.append(ops.parameter([1], F, name="spare"))
    return done([ranked, seen, y, summed], inputs), [arrays]
