"""An image network with attention in shifted windows, written for written_pairs.py with switches: see
written_nets.py."""

from __future__ import annotations

from typing import Any

import numpy as np
from written_nets import FAULTS, HARMLESS, F, L, Weights, c, done, net

from irexec import Model
from irexec import opset15 as ops

FAULTS["windows"] = {
    "windows transposed": "parts/turned",
    "square windows mixed": "parts/turned",
    "roll forwards": "rolled",
    "roll not undone": "undone",
    "shift of one axis": "rolled",
    "window mask missing": "attention masked",
    "window mask of another": "masked",
    "relative index flipped": "biased",
    "table of the other head": "biased",
    "cubic coefficient": "enlarged",
    "corners aligned": "enlarged",
    "output padding": "grown",
    "transposed kernel not flipped": "grown",
    "group of one": "grouped",
    "shuffle order": "shuffled shuffled/split",
    "patch order": "patches",
    "flattened by columns": "flat normed",
    "merged patches order": "merged",
    "time sin and cos": "embedded",
    "time frequencies": "angle",
    "scale plus one missing": "scaled_by_time",
    "shift and scale swapped": "modulated parts_of_time one_more",
    "zero point per tensor": "dequantized",
    "scale axis of square weights": "dequantized",
}
HARMLESS["windows"] = [
    "roll by slices",
    "windows by split",
    "transposed convolution by zeros",
    "groups by mvn",
    "shuffle by operator",
    "pool by convolution",
    "patches by convolution",
    "merge by slices",
    "bias gathered",
    "time table",
    "scale plus one before",
    "dequantized before",
    "nearest by tile",
    "mean by product",
    "mask added to the bias",
    "residual first",
]


@net
def windows(f: str) -> tuple[Model, list[list[np.ndarray]]]:
    w = Weights(12)
    size, d, h = 8, 8, 2
    image, when = ops.parameter([1, 3, 16, 16], F, name="image"), ops.parameter([1], F, name="when")

    def ints(*values: int) -> Any:
        return c(np.array(values, L))

    kernel = w(d, 3, 2, 2)
    if f == "patches by convolution":
        x = ops.convolution(image, c(kernel), [2, 2], [0, 0], [0, 0], [1, 1])
        x = ops.reshape(x, ints(1, d, size * size), False)
        x = ops.transpose(x, ints(0, 2, 1), name="embedding")
    else:
        x = ops.reshape(image, ints(1, 3, size, 2, size, 2), False)
        order = (0, 2, 4, 1, 5, 3) if f == "patch order" else (0, 2, 4, 1, 3, 5)
        x = ops.reshape(ops.transpose(x, ints(*order), name="patches"), ints(1, size * size, 12), False)
        x = ops.matmul(x, c(kernel.reshape(d, 12)), False, True, name="embedding")
    x = ops.reshape(x, ints(1, size, size, d), False, name="flat")
    if f == "flattened by columns":
        x = ops.transpose(x, ints(0, 2, 1, 3), name="flat")

    rates = np.exp(-np.arange(4, dtype=F) * np.log(F(100 if f == "time frequencies" else 1000)) / 4).astype(F)
    angle = ops.multiply(ops.unsqueeze(when, ints(1)), c(rates[None]), name="angle")
    if f == "time table":
        exponents = ops.exp(ops.multiply(c(np.arange(4, dtype=F)[None]), c(F(-np.log(F(1000)) / 4))))
        angle = ops.multiply(ops.unsqueeze(when, ints(1)), exponents, name="angle")
    waves = [ops.sin(angle), ops.cos(angle)]
    embedded = ops.concat(waves[::-1] if f == "time sin and cos" else waves, 1, name="embedded")
    both = ops.matmul(embedded, c(w(8, 2 * d)), False, False, name="time")
    shift, scale = ops.split(both, c(L(1)), 2, name="parts_of_time").outputs
    shift, scale = (scale, shift) if f == "shift and scale swapped" else (shift, scale)
    shift, scale = (ops.reshape(y, ints(1, 1, 1, d), False) for y in (shift, scale))
    normed = ops.mvn(x, ints(-1), True, 1e-5, "inside_sqrt", name="normed")
    if f == "scale plus one before":
        y = ops.add(ops.add(ops.multiply(normed, scale), normed), shift, name="modulated")
    else:
        more = scale if f == "scale plus one missing" else ops.add(scale, c(F(1)), name="one_more")
        y = ops.add(ops.multiply(normed, more, name="scaled_by_time"), shift, name="modulated")

    step = 2 if f == "roll forwards" else -2
    axes = (1,) if f == "shift of one axis" else (1, 2)
    if f == "roll by slices":
        for axis in (1, 2):
            head = ops.slice(y, ints(0), ints(2), ints(1), ints(axis))
            tail = ops.slice(y, ints(2), ints(size), ints(1), ints(axis))
            y = ops.concat([tail, head], axis, name=f"rolled{axis}")
    else:
        y = ops.roll(y, ints(*[step] * len(axes)), ints(*axes), name="rolled")
    if f == "windows by split":
        rows = [ops.split(row, c(L(2)), 2).outputs for row in ops.split(y, c(L(1)), 2).outputs]
        y = ops.concat([ops.reshape(part, ints(1, 16, d), False) for row in rows for part in row], 0, name="parts")
    else:
        y = ops.reshape(y, ints(1, 2, 4, 2, 4, d), False)
        order = {"windows transposed": (0, 3, 1, 2, 4, 5), "square windows mixed": (0, 1, 3, 4, 2, 5)}
        y = ops.transpose(y, ints(*order.get(f, (0, 1, 3, 2, 4, 5))), name="parts/turned")
        y = ops.reshape(y, ints(4, 16, d), False, name="parts")
    qkv = ops.matmul(y, c(w(d, 3 * d)), False, False, name="qkv")
    qkv = ops.transpose(ops.reshape(qkv, ints(4, 16, 3, h, d // h), False), ints(2, 0, 3, 1, 4), name="qkv/turned")
    q, k, v = (ops.squeeze(part, ints(0)) for part in ops.split(qkv, c(L(0)), 3).outputs)
    scores = ops.multiply(ops.matmul(q, k, False, True, name="scores"), c(F((d // h) ** -0.5)), name="scaled")
    place = np.stack(np.meshgrid(np.arange(4), np.arange(4), indexing="ij")).reshape(2, -1)
    apart = place[:, :, None] - place[:, None, :] + 3
    index = apart[0] * 7 + apart[1] if f != "relative index flipped" else apart[1] * 7 + apart[0]
    table = w(49, h, scale=1.0)
    table = table[:, ::-1] if f == "table of the other head" else table
    bias = c(np.ascontiguousarray(table[index].transpose(2, 0, 1)[None]))
    if f == "bias gathered":
        bias = ops.unsqueeze(ops.transpose(ops.gather(c(table), c(index), c(L(0))), ints(2, 0, 1)), ints(0))
    region = np.array([[(r >= 4) + (r >= 6) for r in range(8)]])
    zones = (region.T * 3 + region).reshape(2, 4, 2, 4).transpose(0, 2, 1, 3).reshape(4, 16)
    hidden = np.where(zones[:, None] == zones[:, :, None], 0, -100).astype(F)[:, None]
    hidden = hidden[[0, 2, 1, 3]] if f == "window mask of another" else hidden
    if f == "mask added to the bias":
        y = ops.add(scores, ops.add(bias, c(hidden)), name="masked")
    else:
        y = ops.add(scores, bias, name="biased")
        y = y if f == "window mask missing" else ops.add(y, c(hidden), name="masked")
    y = ops.matmul(ops.softmax(y, -1, name="attention"), v, False, False, name="context")
    y = ops.reshape(ops.transpose(y, ints(0, 2, 1, 3)), ints(1, 2, 2, 4, 4, d), False)
    y = ops.reshape(ops.transpose(y, ints(0, 1, 3, 2, 4, 5)), ints(1, size, size, d), False, name="whole")
    back = 2 * (-1 if f == "roll not undone" else 1)
    y = ops.roll(y, ints(back, back), ints(1, 2), name="undone")
    x = ops.add(y, x, name="residual") if f == "residual first" else ops.add(x, y, name="residual")

    q8 = np.clip(np.round(w(d, d) * 60), -100, 100).astype(np.int8)
    zero, steps = np.arange(-4, 4, dtype=np.int8)[:, None], (w(d, 1, scale=0.05) + F(0.1)).astype(F)
    if f == "zero point per tensor":
        zero = np.full((d, 1), zero[0], np.int8)
    if f == "scale axis of square weights":
        steps = steps.T
    weights = ops.subtract(ops.convert(c(q8), "f32"), ops.convert(c(zero), "f32"))
    weights = ops.multiply(weights, c(steps))
    if f == "dequantized before":
        weights = c((q8.astype(F) - zero.astype(F)) * steps)
    x = ops.matmul(x, weights, False, True, name="dequantized")
    x = ops.transpose(x, ints(0, 3, 1, 2), name="channels")

    groups = 1 if f == "group of one" else 2
    gain, offset = (w(d) + 1).astype(F), w(d)
    if f == "groups by mvn":
        y = ops.mvn(ops.reshape(x, ints(1, 2, -1), False), ints(2), True, 1e-5, "inside_sqrt")
        y = ops.multiply(ops.reshape(y, ints(1, d, size, size), False), c(gain.reshape(1, d, 1, 1)))
        y = ops.add(y, c(offset.reshape(1, d, 1, 1)), name="grouped")
    else:
        y = ops.group_normalization(x, c(gain), c(offset), groups, 1e-5, name="grouped")
    swapped = w(d, d, 3, 3)
    if f == "transposed convolution by zeros":
        y = ops.reshape(y, ints(1, d, size, 1, size, 1), False)
        y = ops.pad(y, ints(0, 0, 0, 0, 0, 0), ints(0, 0, 0, 1, 0, 1), "constant", c(F(0)))
        y = ops.reshape(y, ints(1, d, 16, 16), False)
        turned = np.ascontiguousarray(swapped.transpose(1, 0, 2, 3)[:, :, ::-1, ::-1])
        y = ops.convolution(y, c(turned), [1, 1], [1, 1], [1, 1], [1, 1], name="grown")
    else:
        swapped = swapped[:, :, ::-1, ::-1] if f == "transposed kernel not flipped" else swapped
        less = 0 if f == "output padding" else 1
        y = ops.convolution_backprop_data(
            y, c(np.ascontiguousarray(swapped)), [2, 2], None, [less, less], [1, 1], [1, 1], "explicit",
            [less, less], name="grown",
        )  # fmt: skip
    if f == "shuffle by operator":
        y = ops.shuffle_channels(y, 1, 2, name="shuffled")
    else:
        first = (1, 4, 2, 16, 16) if f == "shuffle order" else (1, 2, 4, 16, 16)
        y = ops.reshape(y, ints(*first), False, name="shuffled/split")
        y = ops.transpose(y, ints(0, 2, 1, 3, 4))
        y = ops.reshape(y, ints(1, d, 16, 16), False, name="shuffled")
    if f == "pool by convolution":
        quarter = np.full((d, 1, 1, 2, 2), 0.25, F)
        y = ops.group_convolution(y, c(quarter), [2, 2], [0, 0], [0, 0], [1, 1], name="pooled")
    else:
        y = ops.avg_pool(y, [2, 2], [0, 0], [0, 0], [2, 2], True, "floor", name="pooled")
    cubic = -0.5 if f == "cubic coefficient" else -0.75
    small = ops.slice(y, ints(0), ints(4), ints(1), ints(2))
    small = ops.interpolate(
        small, c(np.array([6, 12], L)), "cubic", "sizes", [0, 0], [0, 0],
        "align_corners" if f == "corners aligned" else "half_pixel", "floor", False, cubic, ints(2, 3), name="enlarged",
    )  # fmt: skip
    if f == "nearest by tile":
        doubled = ops.tile(ops.reshape(y, ints(1, d, 8, 1, 8, 1), False), ints(1, 1, 1, 2, 1, 2))
        doubled = ops.reshape(doubled, ints(1, d, 16, 16), False, name="doubled")
    else:
        doubled = ops.interpolate(
            y, ints(16, 16), "nearest", "sizes", [0, 0], [0, 0], "asymmetric", "floor", False, -0.75, ints(2, 3),
            name="doubled",
        )  # fmt: skip
    rest = ops.transpose(doubled, ints(0, 2, 3, 1))
    if f == "merge by slices":
        corners = []
        for column in (0, 1):
            for row in (0, 1):
                corners.append(ops.slice(rest, ints(row, column), ints(16, 16), ints(2, 2), ints(1, 2)))
        merged = ops.concat(corners, -1, name="merged")
    else:
        rest = ops.reshape(rest, ints(1, 8, 2, 8, 2, d), False)
        order = (0, 1, 3, 2, 4, 5) if f == "merged patches order" else (0, 1, 3, 4, 2, 5)
        merged = ops.reshape(ops.transpose(rest, ints(*order), name="merged"), ints(1, 8, 8, 4 * d), False)
    if f == "mean by product":
        tokens = ops.reshape(merged, ints(1, 64, 4 * d), False)
        mean = ops.matmul(c(np.full((1, 1, 64), 1 / 64, F)), tokens, False, False)
        mean = ops.reshape(mean, ints(1, 4 * d), False, name="mean")
    else:
        mean = ops.reduce_mean(merged, ints(1, 2), False, name="mean")
    rng = np.random.default_rng(4)
    given = [rng.random((1, 3, 16, 16)).astype(F), np.array([7], F)]
    # The mean of merged patches alone would not distinguish them.
    return done([mean, small, ops.matmul(merged, c(w(4 * d, 3)), False, False, name="head")], [image, when]), [given]
