"""Recurrent layers and a causal convolution, written for written_pairs.py with switches: see written_nets.py."""

from __future__ import annotations

import numpy as np
from written_nets import FAULTS, HARMLESS, F, L, Weights, c, done, net

from irexec import Model
from irexec import opset15 as ops

FAULTS["recurrent"] = {
    "gate order": "lstm",
    "direction": "lstm",
    "hidden and cell": "lstm",
    "lengths": "lstm",
    "recurrent transposed": "lstm",
    "reverse axes": "back",
    "linear before reset": "gru",
    "gru gates": "gru",
    "cell output": "taken",
    "cumsum exclusive": "sums",
    "cumsum reverse": "sums",
    "clip": "gru",
    "activations": "lstm",
    "last step": "end",
    "reverse lengths": "back",
    "roll": "rolled",
    "initial state": "lstm",
    "log base": "logged signed",
    "dilated": "tcn",
    "causal pad": "tcn",
}
HARMLESS["recurrent"] = [
    "reverse by slice",
    "cumsum by matmul",
    "state from shape",
    "squeeze by reshape",
    "relu for maximum",
    "conv1d as conv2d",
]


@net
def recurrent(f: str) -> tuple[Model, list[list[np.ndarray]]]:
    w = Weights(4)
    b, t, i, h = 2, 6, 8, 8
    x = ops.parameter([b, t, i], F, name="x")
    y = (
        ops.log(ops.add(ops.abs(x), c(F(1))), name="logged")
        if f != "log base"
        else ops.divide(ops.log(ops.add(ops.abs(x), c(F(1)))), c(F(np.log(2))), name="logged")
    )
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
    lengths = np.array([6, 4], L) if f != "lengths" else np.array([6, 6], L)
    activations = ("sigmoid", "tanh", "relu") if f == "activations" else ("sigmoid", "tanh", "tanh")
    lstm = ops.lstm_sequence(
        y,
        c(h0),
        c(c0),
        c(lengths),
        c(wx),
        c(wr),
        c(wb),
        h,
        "reverse" if f == "direction" else "forward",
        activations,
        name="lstm",
    )
    out = (
        ops.squeeze(lstm.output(0), c(np.array([1], L)), name="out")
        if f != "squeeze by reshape"
        else ops.reshape(lstm.output(0), c(np.array([b, t, h], L)), False, name="out")
    )
    n = np.array([6, 4], np.int32) if f != "reverse lengths" else np.array([4, 6], np.int32)
    if f == "reverse by slice":
        parts = [
            ops.slice(out, c(np.array([k, s, 0], L)), c(np.array([k + 1, e, h], L)), c(np.array([1, p, 1], L)))
            for k, s, e, p in ((0, 5, -10, -1), (1, 3, -10, -1), (1, 4, 6, 1))
        ]
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
        batch = ops.gather(ops.shape_of(x), c(np.array([0], L)), c(L(0)))
        state = ops.broadcast(c(F(0)), ops.concat([batch, c(np.array([1, h], L))], 0))
    gru = ops.gru_sequence(
        back,
        state,
        c(np.array([6, 6], L)),
        c(gx),
        c(gr),
        c(gb),
        h,
        "forward",
        clip=0.5 if f == "clip" else float("inf"),
        linear_before_reset=linear,
        name="gru",
    )
    taken = ops.squeeze(gru.output(0), c(np.array([1], L)), name="taken")
    if f == "cell output":
        taken = ops.add(
            ops.multiply(out, c(F(0))), ops.gather(lstm.output(2), c(np.zeros(t, L)), c(L(1))), name="taken"
        )
    if f == "cumsum by matmul":
        sums = ops.matmul(c(np.tril(np.ones((t, t), F))), taken, False, False, name="sums")
    else:
        sums = ops.cum_sum(taken, c(L(1)), f == "cumsum exclusive", f == "cumsum reverse", name="sums")
    rolled = ops.roll(sums, c(np.array([2 if f == "roll" else 1], L)), c(np.array([1], L)), name="rolled")
    kernel = w(4, h, 3)
    channels = ops.transpose(rolled, c(np.array([0, 2, 1], L)), name="channels")
    if f == "conv1d as conv2d":
        four = ops.unsqueeze(channels, c(np.array([2], L)))
        tcn = ops.squeeze(
            ops.convolution(four, c(kernel[:, :, None]), [1, 1], [0, 4], [0, 0], [1, 2]),
            c(np.array([2], L)),
            name="tcn",
        )
    else:
        pads = ([2], [2]) if f == "causal pad" else ([4], [0]) if f != "dilated" else ([2], [0])
        tcn = ops.convolution(channels, c(kernel), [1], *pads, [1 if f == "dilated" else 2], name="tcn")
    kept = ops.maximum(tcn, c(F(0)), name="kept") if f != "relu for maximum" else ops.relu(tcn, name="kept")
    end = ops.gather(kept, c(L(0 if f == "last step" else -1)), c(L(2)), name="end")
    rng = np.random.default_rng(0)
    return done([end, sums], [x]), [[rng.normal(size=(b, t, i)).astype(F)]]
