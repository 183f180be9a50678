"""A transducer for speech (frames and labels, joined by broadcasting), written for written_pairs.py: see
written_nets.py."""

from __future__ import annotations

from typing import Any

import numpy as np
from written_nets import FAULTS, HARMLESS, F, L, Weights, c, done, net

from irexec import Model
from irexec import opset15 as ops

FAULTS["transducer"] = {
    "padding at the end": "subsampled",
    "reset before the product": "encoder",
    "directions joined along time": "directions turned",
    "lengths of the input": "encoder halved kept",
    "labels not shifted": "embedded shifted",
    "start is another symbol": "shifted",
    "gates of another framework": "predictor",
    "state not zero": "predictor",
    "joint by product": "joint",
    "relu in the joint": "bent",
    "softmax over labels": "scores",
    "blank is last": "logits",
    "best label instead of symbol": "best",
    "mask off by one": "kept",
    "deviation without epsilon": "centred",
}
HARMLESS["transducer"] = [
    "joint by concatenating",
    "log softmax written out",
    "convolution as products",
    "two sequences",
    "predictor as cells",
    "halves rounded in another way",
    "best of the probabilities",
    "mask as a sum",
]
FRAMES, STEPS, LABELS, HIDDEN, SYMBOLS = 12, 6, 4, 8, 10


def _encoded(f: str, frames: Any, lengths: Any, w: Weights) -> Any:
    """Return the frames after the encoder, [1, STEPS, 2 * HIDDEN]."""
    kernel = w(16, 8, 3)
    moved = ops.transpose(frames, c(np.array([0, 2, 1], L)), name="moved")
    if f == "convolution as products":
        padded = ops.pad(frames, c(np.array([0, 1, 0], L)), c(np.array([0, 1, 0], L)), "constant", c(F(0)))
        parts = []
        for tap in range(3):
            rows = c(np.arange(tap, tap + 2 * STEPS, 2).astype(L))
            rows = ops.gather(padded, rows, c(L(1)))
            parts.append(ops.matmul(rows, c(kernel[:, :, tap].T.copy()), False, False))
        x = ops.relu(ops.add(ops.add(parts[0], parts[1]), parts[2]))
    else:
        begin, end = ([0], [2]) if f == "padding at the end" else ([1], [1])
        x = ops.convolution(moved, c(kernel), [2], begin, end, [1], name="subsampled")
        x = ops.transpose(ops.relu(x, name="positive"), c(np.array([0, 2, 1], L)), name="timed")
    k, r, b = w(2, 3 * HIDDEN, 16), w(2, 3 * HIDDEN, HIDDEN), w(2, 4 * HIDDEN)
    start = np.zeros((1, 2, HIDDEN), F)
    if f == "two sequences":
        made = []
        for side, way in enumerate(("forward", "reverse")):
            part = (c(a[side : side + 1]) for a in (k, r, b))
            made.append(
                ops.gru_sequence(x, c(start[:, :1]), lengths, *part, HIDDEN, way, linear_before_reset=True).outputs()[0]
            )
        return ops.concat([ops.squeeze(y, c(np.array([1], L))) for y in made], 2)
    before = f != "reset before the product"
    weights = [c(k), c(r), c(b if before else b[:, : 3 * HIDDEN])]
    made = ops.gru_sequence(
        x, c(start), lengths, *weights, HIDDEN, "bidirectional", linear_before_reset=before, name="encoder"
    ).outputs()[0]
    if f != "directions joined along time":
        made = ops.transpose(made, c(np.array([0, 2, 1, 3], L)), name="turned")
    return ops.reshape(made, c(np.array([1, STEPS, 2 * HIDDEN], L)), False, name="directions")


def _predicted(f: str, labels: Any, w: Weights) -> Any:
    """Return the labels after the predictor, [1, LABELS, HIDDEN]."""
    table = w(SYMBOLS, HIDDEN, scale=0.8)
    start = c(np.array([[3 if f == "start is another symbol" else 0]], L))
    before = ops.slice(labels, c(np.array([0], L)), c(np.array([-1], L)), c(np.array([1], L)), c(np.array([1], L)))
    shifted = ops.concat([start, before], 1, name="shifted")
    x = ops.gather(c(table), labels if f == "labels not shifted" else shifted, c(L(0)), name="embedded")
    gates = [w(HIDDEN, HIDDEN, scale=0.8) for _ in range(4)]
    gates = [gates[1], gates[0], *gates[2:]] if f == "gates of another framework" else gates
    k, r, b = np.concatenate(gates), w(4 * HIDDEN, HIDDEN), w(4 * HIDDEN)
    zero = np.full((1, HIDDEN), 0.5 if f == "state not zero" else 0, F)
    if f == "predictor as cells":
        h, s, rows = c(zero), c(zero), []
        for part in ops.split(x, c(L(1)), LABELS).outputs():
            row = ops.squeeze(part, c(np.array([1], L)))
            h, s = ops.lstm_cell(row, h, s, c(k), c(r), c(b), HIDDEN, ["sigmoid", "tanh", "tanh"], [], []).outputs()
            rows.append(ops.unsqueeze(h, c(np.array([1], L))))
        return ops.concat(rows, 1)
    state, count = c(zero[:, None]), c(np.array([LABELS], np.int32))
    made = ops.lstm_sequence(
        x, state, state, count, c(k[None]), c(r[None]), c(b[None]), HIDDEN, "forward", name="predictor"
    )
    return ops.squeeze(made.outputs()[0], c(np.array([1], L)), name="states")


def _joint(f: str, x: Any, y: Any, w: Weights) -> Any:
    """Return a row for each frame and label, [1, STEPS, LABELS, 16]."""
    one, two = w(2 * HIDDEN, 16), w(HIDDEN, 16)
    if f == "joint by concatenating":
        x = ops.broadcast(ops.unsqueeze(x, c(np.array([2], L))), c(np.array([1, STEPS, LABELS, 2 * HIDDEN], L)))
        y = ops.broadcast(ops.unsqueeze(y, c(np.array([1], L))), c(np.array([1, STEPS, LABELS, HIDDEN], L)))
        return ops.matmul(ops.concat([x, y], 3), c(np.concatenate([one, two])), False, False)
    x = ops.unsqueeze(ops.matmul(x, c(one), False, False, name="of frames"), c(np.array([2], L)), name="frames/wide")
    y = ops.unsqueeze(ops.matmul(y, c(two), False, False, name="of labels"), c(np.array([1], L)), name="labels/wide")
    return (ops.multiply if f == "joint by product" else ops.add)(x, y, name="joint")


@net
def transducer(f: str) -> tuple[Model, list[list[np.ndarray]]]:
    w = Weights(41)
    frames, labels = ops.parameter([1, FRAMES, 8], F, name="frames"), ops.parameter([1, LABELS], L, name="labels")
    lengths = ops.parameter([1], np.int32, name="lengths")
    one, two = c(np.int32(1)), c(np.int32(2))
    if f == "lengths of the input":
        halved = ops.minimum(lengths, c(np.int32(STEPS)), name="halved")
    elif f == "halves rounded in another way":
        halved = ops.add(ops.divide(ops.subtract(lengths, one), two), one)
    else:
        halved = ops.divide(ops.add(lengths, one, name="one more"), two, name="halved")
    x = _encoded(f, frames, halved, w)
    epsilon = 1e-12 if f == "deviation without epsilon" else 1e-2
    x = ops.mvn(x, c(np.array([2], L)), True, epsilon, "inside_sqrt", name="centred")
    x = ops.multiply(x, c(1 + w(2 * HIDDEN)), name="gained")
    joint = _joint(f, x, _predicted(f, labels, w), w)
    bent = (ops.relu if f == "relu in the joint" else ops.tanh)(joint, name="bent")
    weights = w(16, SYMBOLS, scale=0.8)
    weights = np.roll(weights, -1, 1) if f == "blank is last" else weights
    logits = ops.matmul(bent, c(weights), False, False, name="logits")
    axis = 2 if f == "softmax over labels" else 3
    if f == "log softmax written out":
        y = ops.subtract(logits, ops.reduce_max(logits, c(np.array([3], L)), True))
        scores = ops.subtract(y, ops.log(ops.reduce_sum(ops.exp(y), c(np.array([3], L)), True)))
    else:
        scores = ops.log_softmax(logits, axis, name="scores")
    places = c(np.arange(STEPS, dtype=np.int32))
    kept = (ops.less_equal if f == "mask off by one" else ops.less)(places, halved, name="kept")
    kept = ops.reshape(kept, c(np.array([1, STEPS, 1, 1], L)), False, name="kept/wide")
    if f == "mask as a sum":
        number = ops.convert(kept, "f32")
        most = ops.multiply(ops.subtract(c(F(1)), number), c(F(-1e4)))
        scores = ops.add(ops.multiply(scores, number), most)
    else:
        scores = ops.select(kept, scores, c(F(-1e4)), name="masked")
    read = ops.softmax(scores, 3) if f == "best of the probabilities" else scores
    axis = 2 if f == "best label instead of symbol" else 3
    best = ops.topk(read, c(L(1)), axis, "max", "value", "i64", name="best").outputs()[1]
    rng = np.random.default_rng(5)
    given = [rng.normal(size=(1, FRAMES, 8)).astype(F), np.array([[4, 7, 1, 9]], L), np.array([9], np.int32)]
    return done([scores, best], [frames, labels, lengths]), [given]
