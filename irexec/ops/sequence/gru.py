"""GRUCell and GRUSequence: gated recurrent units, one step or all steps of a sequence.

Source: operation pages GRUCell-3, GRUSequence-5. Gates are ordered z, r, h.
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
from irexec.ops.spec.traits import NeedsOptional

DEFAULTS: tuple[Activation, ...] = ("sigmoid", "tanh")


@group
class CellGates(Gates):
    activations: tuple[Activation, ...] = DEFAULTS


@group
class SequenceGates(Gates):
    activations: SequenceActivations = DEFAULTS


def gru_step(r: Array, b: Array, batch: int, functions: list[InPlace], clip: float, linear_before_reset: bool) -> Step:
    """Return the step of one direction; it works in its own buffers and updates the state [h] in place."""
    f, g = functions
    size = r.shape[1]
    update_reset = np.empty((2 * size, batch), r.dtype)
    update, reset = update_reset[:size], update_reset[size:]
    candidate, mixed = np.empty((size, batch), r.dtype), np.empty((size, batch), r.dtype)
    r_gates, r_candidate = r[: 2 * size], r[2 * size :]
    recurrent_bias = b[3 * size :, None]

    def step(projected: Array, states: list[Array]) -> None:
        (hidden,) = states
        np.matmul(r_gates, hidden, out=update_reset)
        np.add(update_reset, projected[: 2 * size], out=update_reset)
        clipped(update_reset, clip)
        f(update_reset)
        if linear_before_reset:
            np.matmul(r_candidate, hidden, out=candidate)
            np.add(candidate, recurrent_bias, out=candidate)
            np.multiply(candidate, reset, out=candidate)
        else:
            np.multiply(hidden, reset, out=mixed)
            np.matmul(r_candidate, mixed, out=candidate)
        np.add(candidate, projected[2 * size :], out=candidate)
        clipped(candidate, clip)
        g(candidate)
        np.subtract(1, update, out=mixed)
        np.multiply(mixed, candidate, out=mixed)
        hidden *= update
        hidden += mixed

    return step


@operator("GRUCell", "opset3", NeedsOptional, tolerance=rounded(16))
def gru_cell_3(
    x: FloatTensor,
    initial_hidden_state: FloatTensor,
    w: FloatTensor,
    r: FloatTensor,
    b: FloatTensor | None = None,
    /,
    *,
    hidden_size: Positive,
    gates: CellGates,
    linear_before_reset: bool = False,
) -> FloatTensor:
    """One step: Ho [batch, hidden] from X [batch, input], the state, W, R and the biases B.

    relu, sigmoid and tanh have no parameters, so that activations_alpha and activations_beta change nothing.

    C1: two activations. C2: clip is positive (0: none). C3: X is [batch_size, input_size]. C4: the state is
    [batch_size, hidden_size]. C5: W is [3 * hidden_size, input_size]. C6: R is [3 * hidden_size, hidden_size].
    C7: B is [3 * hidden_size], with linear_before_reset [4 * hidden_size].
    """
    size = r.shape[1]
    bias = np.zeros(4 * size, widen(x).dtype) if b is None else widen(b)
    hidden = transposed(widen(initial_hidden_state))
    projected = np.matmul(widen(w), widen(x).T)
    projected += bias[: 3 * size, None]
    functions = activations_of(gates.activations, DEFAULTS)
    with np.errstate(over="ignore"):
        gru_step(widen(r), bias, len(x), functions, gates.clip, linear_before_reset)(projected, [hidden])
    return narrow(transposed(hidden), x.dtype)


declare_cell(gru_cell_3, 3, DEFAULTS)


@operator("GRUSequence", "opset5", tolerance=rounded(16))
def gru_sequence_5(
    x: FloatTensor1,
    initial_hidden_state: FloatTensor1,
    sequence_lengths: IntegerTensor2,
    w: FloatTensor1,
    r: FloatTensor1,
    b: FloatTensor1,
    /,
    *,
    hidden_size: Positive,
    direction: Direction,
    gates: SequenceGates,
    linear_before_reset: bool = False,
) -> tuple[FloatTensor1, FloatTensor1]:
    """All steps of X [batch, time, input]: Y [batch, directions, time, hidden] and Ho [batch, directions, hidden].

    C1: two activations. C2: clip is positive (0: none). C3: X is [batch_size, seq_length, input_size].
    C4: sequence_lengths is [batch_size], each in [0, seq_length]. C5: the state is
    [batch_size, num_directions, hidden_size]. C6: W is [num_directions, 3 * hidden_size, input_size].
    C7: R is [num_directions, 3 * hidden_size, hidden_size]. C8: B is [num_directions, 3 * hidden_size], with
    linear_before_reset [num_directions, 4 * hidden_size].
    """
    functions = activations_of(gates.activations, DEFAULTS)

    def make_step(r: Array, b: Array, batch: int) -> Step:
        return gru_step(r, b, batch, functions, gates.clip, linear_before_reset)

    biases = slice(3 * hidden_size)
    y, hidden = run_sequence(x, [initial_hidden_state], sequence_lengths, w, r, b, biases, make_step, direction)
    return y, hidden


declare_sequence(gru_sequence_5, 3, DEFAULTS)
