"""RNNCell and RNNSequence: the simple recurrent cell, one step or all steps of a sequence.

Source: operation pages RNNCell-3 (OpenVINO's tables have it from opset 1), RNNSequence-5.
"""

from __future__ import annotations

import numpy as np

from irexec.core.types import Array
from irexec.ops.compute.precision import narrow, widen
from irexec.ops.sequence.recurrent import (
    Activation,
    Direction,
    Gates,
    InPlace,
    SequenceActivations,
    Step,
    activations_of,
    clipped,
    declare_cell,
    declare_sequence,
    run_sequence,
    transposed,
)
from irexec.ops.spec.attributes import Positive
from irexec.ops.spec.groups import group
from irexec.ops.spec.operator import operator, rounded
from irexec.ops.spec.tensors import FloatTensor, FloatTensor1, IntegerTensor2

DEFAULTS: tuple[Activation, ...] = ("tanh",)


@group
class CellGates(Gates):
    activations: tuple[Activation, ...] = DEFAULTS


@group
class SequenceGates(Gates):
    activations: SequenceActivations = DEFAULTS


def rnn_step(r: Array, batch: int, function: InPlace, clip: float) -> Step:
    """Return the step of one direction; it works in its own buffer and updates the state [h] in place."""
    gate = np.empty((r.shape[1], batch), r.dtype)

    def step(projected: Array, states: list[Array]) -> None:
        np.matmul(r, states[0], out=gate)
        np.add(gate, projected, out=gate)
        clipped(gate, clip)
        function(gate)
        states[0][...] = gate

    return step


@operator("RNNCell", "opset1", tolerance=rounded(16))
def rnn_cell_1(
    x: FloatTensor,
    h: FloatTensor,
    w: FloatTensor,
    r: FloatTensor,
    b: FloatTensor,
    /,
    *,
    hidden_size: Positive,
    gates: CellGates,
) -> FloatTensor:
    """One step: Ho [batch, hidden] from X [batch, input], the state H, W, R and the sum of biases B.

    relu, sigmoid and tanh have no parameters, so that activations_alpha and activations_beta change nothing.

    C1: one activation. C2: clip is positive (0: none). C3: X is [batch_size, input_size]. C4: H is
    [batch_size, hidden_size]. C5: W is [hidden_size, input_size]. C6: R is [hidden_size, hidden_size].
    C7: B is [hidden_size].
    """
    hidden = transposed(widen(h))
    projected = np.matmul(widen(w), widen(x).T)
    projected += widen(b)[:, None]
    with np.errstate(over="ignore"):
        rnn_step(widen(r), len(x), activations_of(gates.activations, DEFAULTS)[0], gates.clip)(projected, [hidden])
    return narrow(transposed(hidden), x.dtype)


declare_cell(rnn_cell_1, 1, DEFAULTS)


@operator("RNNSequence", "opset5", tolerance=rounded(16))
def rnn_sequence_5(
    x: FloatTensor1,
    h: FloatTensor1,
    sequence_lengths: IntegerTensor2,
    w: FloatTensor1,
    r: FloatTensor1,
    b: FloatTensor1,
    /,
    *,
    hidden_size: Positive,
    direction: Direction,
    gates: SequenceGates,
) -> tuple[FloatTensor1, FloatTensor1]:
    """All steps of X [batch, time, input]: Y [batch, directions, time, hidden] and Ho [batch, directions, hidden].

    C1: one activation. C2: clip is positive (0: none). C3: X is [batch_size, seq_length, input_size].
    C4: sequence_lengths is [batch_size], each in [0, seq_length]. C5: H is [batch_size, num_directions, hidden_size].
    C6: W is [num_directions, hidden_size, input_size]. C7: R is [num_directions, hidden_size, hidden_size].
    C8: B is [num_directions, hidden_size].
    """
    (function,) = activations_of(gates.activations, DEFAULTS)

    def make_step(r: Array, b: Array, batch: int) -> Step:
        return rnn_step(r, batch, function, gates.clip)

    y, hidden = run_sequence(x, [h], sequence_lengths, w, r, b, slice(None), make_step, direction)
    return y, hidden


declare_sequence(rnn_sequence_5, 1, DEFAULTS)
