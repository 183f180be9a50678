"""RNN, GRU and LSTM of ONNX with features that IR's sequences lack: peepholes, coupled gates, all activations.

Source: ONNX operator pages RNN-22, GRU-22, LSTM-22. The batch is the first axis, as in IR: x is [batch, time, input],
the states are [batch, directions, hidden]. The weights have ONNX's layout.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from irexec.core.types import Array, PartialShape, TensorType
from irexec.ops.compute.precision import narrow, widen
from irexec.ops.rules.axes import in_range
from irexec.ops.rules.extents import Extents
from irexec.ops.spec.attributes import Positive
from irexec.ops.spec.groups import group
from irexec.ops.spec.operator import Check, operator, require, rounded
from irexec.ops.spec.tensors import FloatTensor, IntegerTensor1

Activation = Callable[[Array], Array]


@group
class Recurrence:
    """The attributes of RNN, GRU and LSTM: size of the states, directions, activations of the gates, clipping."""

    hidden_size: Positive
    direction: Literal["forward", "reverse", "bidirectional"]
    activations: tuple[str, ...]
    alphas: tuple[float, ...] = ()
    betas: tuple[float, ...] = ()
    clip: float = 0.0

    @property
    def directions(self) -> int:
        return 2 if self.direction == "bidirectional" else 1


# Name → the function of x, alpha and beta, and the defaults of alpha and beta.
ACTIVATIONS: dict[str, tuple[Callable[[Array, float, float], Array], float, float]] = {
    "relu": (lambda x, a, b: np.maximum(x, 0), 0.0, 0.0),
    "tanh": (lambda x, a, b: np.tanh(x), 0.0, 0.0),
    "sigmoid": (lambda x, a, b: 1 / (1 + np.exp(-x)), 0.0, 0.0),
    "affine": (lambda x, a, b: a * x + b, 1.0, 0.0),
    "leakyrelu": (lambda x, a, b: np.where(x >= 0, x, a * x), 0.01, 0.0),
    "thresholdedrelu": (lambda x, a, b: np.where(x > a, x, 0), 1.0, 0.0),
    "scaledtanh": (lambda x, a, b: a * np.tanh(b * x), 1.0, 1.0),
    "hardsigmoid": (lambda x, a, b: np.clip(a * x + b, 0, 1), 0.2, 0.5),
    "elu": (lambda x, a, b: np.where(x >= 0, x, a * np.expm1(np.minimum(x, 0))), 1.0, 0.0),
    "softsign": (lambda x, a, b: x / (1 + np.abs(x)), 0.0, 0.0),
    "softplus": (lambda x, a, b: np.logaddexp(x, 0), 0.0, 0.0),
}


def _functions(how: Recurrence) -> list[Activation]:
    """Return the activations in order. Each activation that has an alpha or beta takes the next given value for it."""
    left_alphas, left_betas = list(how.alphas), list(how.betas)
    found = []
    for name in how.activations:
        function, alpha, beta = ACTIVATIONS[name]
        if alpha or name == "affine":
            alpha = left_alphas.pop(0) if left_alphas else alpha
        if name in ("affine", "scaledtanh", "hardsigmoid"):
            beta = left_betas.pop(0) if left_betas else beta
        found.append(_bound(function, np.float32(alpha), np.float32(beta)))
    return found


def _bound(function: Callable[[Array, Any, Any], Array], alpha: Any, beta: Any) -> Activation:
    return lambda x: function(x, x.dtype.type(alpha), x.dtype.type(beta))


# One time step of one direction: the input's projection and the states → the new states, the output first.
Step = Callable[[Array, list[Array]], list[Array]]


def _walk(x: Array, states: list[Array], lengths: Array, backwards: bool, step: Step) -> tuple[Array, list[Array]]:
    """Run all time steps of the projected input x [batch, time, n]; return outputs [batch, time, hidden] and states.

    After the end of a sequence its states stay the same, and its outputs are 0.
    """
    times = x.shape[1]
    outputs = np.zeros((len(x), times, states[0].shape[1]), x.dtype)
    for time in range(times):
        alive = lengths > time
        places = np.where(alive, lengths - 1 - time if backwards else time, 0)
        rows = np.arange(len(x))
        made = step(x[rows, places], states)
        states = [np.where(alive[:, None], new, old) for new, old in zip(made, states, strict=True)]
        outputs[rows[alive], places[alive]] = states[0][alive]
    return outputs, states


def _run(
    x: Array,
    initial: list[Array],
    sequence_lens: Array,
    how: Recurrence,
    project: Callable[[int], Array],
    make: Callable[[int], Step],
) -> list[Array]:
    """Run one direction or both; return the outputs [batch, directions, time, hidden] and the last states.

    `project`: number of the direction → the contribution of x and the biases to its gates.
    """
    checked_lengths(sequence_lens, x.shape[1])
    ways = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[how.direction]
    outputs, lasts = [], []
    with np.errstate(all="ignore"):
        for number, backwards in enumerate(ways):
            projected = project(number)
            states = [widen(state[:, number]) for state in initial]
            y, last = _walk(projected, states, sequence_lens, backwards, make(number))
            outputs.append(y)
            lasts.append(last)
    joined = [np.stack(outputs, 1), *(np.stack(parts, 1) for parts in zip(*lasts, strict=True))]
    return [narrow(result, x.dtype) for result in joined]


def checked_lengths(lengths: Array, times: int) -> Array:
    """Return the lengths of sequences as i64. Raises ConstraintError (C1) for lengths beyond the time steps."""
    in_range(require, "C1", "sequence_lens", lengths, 0, times)
    return np.ascontiguousarray(lengths, np.int64)


def _clipped(gates: Array, clip: float) -> Array:
    return np.clip(gates, -clip, clip) if clip > 0 else gates


@operator("RNN", "onnx7", tolerance=rounded(64))
def rnn_7(
    x: FloatTensor,
    initial_h: FloatTensor,
    sequence_lens: IntegerTensor1,
    w: FloatTensor,
    r: FloatTensor,
    b: FloatTensor,
    /,
    *,
    how: Recurrence,
) -> tuple[FloatTensor, FloatTensor]:
    """Y and the last state of an RNN, h = f(x W + h R + Wb + Rb).

    C1: the extents agree, and no sequence is longer than x. C2: the activations are known.
    """
    functions = _functions(how)
    biases = widen(b).reshape(len(w), 2, -1).sum(1)

    def make(number: int) -> Step:
        recurrent = widen(r[number]).T

        def step(x: Array, states: list[Array]) -> list[Array]:
            return [functions[number](_clipped(x + states[0] @ recurrent, how.clip))]

        return step

    y, h = _run(x, [initial_h], sequence_lens, how, lambda d: _projected(x, w[d]) + biases[d], make)
    return y, h


@operator("GRU", "onnx7", tolerance=rounded(64))
def gru_7(
    x: FloatTensor,
    initial_h: FloatTensor,
    sequence_lens: IntegerTensor1,
    w: FloatTensor,
    r: FloatTensor,
    b: FloatTensor,
    /,
    *,
    how: Recurrence,
    linear_before_reset: bool = False,
) -> tuple[FloatTensor, FloatTensor]:
    """Y and the last state of a GRU, with gates z, r and h as on the page. C1 and C2 as in RNN."""
    functions, n = _functions(how), how.hidden_size
    of_input, of_state = np.split(widen(b), 2, axis=1)

    def make(number: int) -> Step:
        f, g = functions[2 * number : 2 * number + 2]
        recurrent, added = widen(r[number]).T, of_state[number]

        def step(x: Array, states: list[Array]) -> list[Array]:
            h = states[0]
            gates = f(_clipped(x[:, : 2 * n] + h @ recurrent[:, : 2 * n] + added[: 2 * n], how.clip))
            z, reset = gates[:, :n], gates[:, n:]
            last, bias = recurrent[:, 2 * n :], added[2 * n :]
            inner = reset * (h @ last + bias) if linear_before_reset else (reset * h) @ last + bias
            return [(1 - z) * g(_clipped(x[:, 2 * n :] + inner, how.clip)) + z * h]

        return step

    y, h = _run(x, [initial_h], sequence_lens, how, lambda d: _projected(x, w[d]) + of_input[d], make)
    return y, h


@operator("LSTM", "onnx7", tolerance=rounded(64))
def lstm_7(
    x: FloatTensor,
    initial_h: FloatTensor,
    initial_c: FloatTensor,
    sequence_lens: IntegerTensor1,
    w: FloatTensor,
    r: FloatTensor,
    b: FloatTensor,
    p: FloatTensor,
    /,
    *,
    how: Recurrence,
    input_forget: bool = False,
) -> tuple[FloatTensor, FloatTensor, FloatTensor]:
    """Y and the last states of an LSTM, with gates i, o, f, c and peepholes p [directions, 3 * hidden] of i, o, f.

    C1 and C2 as in RNN.
    """
    recurrent = [widen(of_one).T for of_one in r]
    return lstm(
        x,
        [initial_h, initial_c],
        sequence_lens,
        b,
        p,
        how,
        input_forget,
        project=lambda d: _projected(x, w[d]),
        recur=lambda d, h: h @ recurrent[d],
    )


def lstm(
    x: Array,
    initial: list[Array],
    sequence_lens: Array,
    b: Array,
    p: Array,
    how: Recurrence,
    input_forget: bool,
    *,
    project: Callable[[int], Array],
    recur: Callable[[int, Array], Array],
) -> tuple[Array, Array, Array]:
    """Run an LSTM. `project`, `recur`: the contributions of x, and of a state h, to the gates of a direction."""
    functions, n = _functions(how), how.hidden_size
    biases = widen(b).reshape(len(b), 2, -1).sum(1)

    def make(number: int) -> Step:
        f, g, k = functions[3 * number : 3 * number + 3]
        pi, po, pf = np.split(widen(p[number]), 3)

        def step(x: Array, states: list[Array]) -> list[Array]:
            h, c = states
            gates = x + recur(number, h)
            i, o, forget, cell = (gates[:, j * n : (j + 1) * n] for j in range(4))
            i = f(_clipped(i + pi * c, how.clip))
            forget = 1 - i if input_forget else f(_clipped(forget + pf * c, how.clip))
            c = forget * c + i * g(_clipped(cell, how.clip))
            o = f(_clipped(o + po * c, how.clip))
            return [o * k(c), c]

        return step

    y, h, c = _run(x, initial, sequence_lens, how, lambda d: project(d) + biases[d], make)
    return y, h, c


def _projected(x: Array, w: Array) -> Array:
    return widen(x) @ widen(w).T


def shapes_of(
    check: Check,
    gates: int,
    how: Recurrence,
    x: TensorType,
    states: Sequence[TensorType],
    rest: Sequence[TensorType],
    *,
    transposed: bool = False,
) -> list[PartialShape]:
    """Return the shapes of the outputs; check C1 and C2. `transposed`: the gates are the last axis of the weights."""
    hidden, directions = how.hidden_size, how.directions
    extents = Extents(check)
    extents.match("C1", "x", x, "batch", "time", "input")
    for state in states:
        extents.match("C1", "initial_h", state, "batch", directions, hidden)
    extents.match("C1", "sequence_lens", rest[0], "batch")
    in_range(check, "C1", "sequence_lens", rest[0].ints, 0, extents["time"].max)
    for name, value, extent in (("w", rest[1], "input"), ("r", rest[2], hidden)):
        extents.match("C1", name, value, directions, *((extent, gates * hidden)[:: 1 if transposed else -1]))
    extents.match("C1", "b", rest[3], directions, 2 * gates * hidden)
    for name in how.activations:
        check(
            "C2",
            name in ACTIVATIONS,
            f"activations names {name!r}, which is not a known function",
            allowed=", ".join(ACTIVATIONS),
        )
    count = {1: 1, 3: 2, 4: 3}[gates] * directions
    message = f"activations has {len(how.activations)} names, expected {count}"
    check("C2", len(how.activations) == count, message, attribute="activations")
    y = extents.shape("batch", directions, "time", hidden)
    return [y, *[extents.shape("batch", directions, hidden)] * len(states)]


@rnn_7.shapes
def _(check: Check, x: TensorType, h: TensorType, *rest: TensorType, how: Recurrence) -> list[PartialShape]:
    return shapes_of(check, 1, how, x, [h], rest)


@gru_7.shapes
def _(check: Check, x: TensorType, h: TensorType, *rest: TensorType, how: Recurrence) -> list[PartialShape]:
    return shapes_of(check, 3, how, x, [h], rest)


@lstm_7.shapes
def _(
    check: Check, x: TensorType, h: TensorType, c: TensorType, *rest: TensorType, how: Recurrence
) -> list[PartialShape]:
    peepholes, expected = rest[4], PartialShape([how.directions, 3 * how.hidden_size])
    message = f"p has shape {peepholes.shape}, expected {expected}"
    check("C1", peepholes.shape.compatible(expected), message, port="p", allowed=str(expected))
    return shapes_of(check, 4, how, x, [h, c], rest)
