"""LSTMCell and LSTMSequence: long short-term memory, one step or all steps of a sequence.

Source: operation pages LSTMCell-1, LSTMSequence-1 and -5. Gates are ordered f, i, c, o.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from irexec.core.types import Array, PartialShape, TensorType
from irexec.ops.compute.precision import narrow, widen
from irexec.ops.rules.extents import Extents
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
from irexec.ops.spec.older import unchanged
from irexec.ops.spec.operator import Check, operator, rounded
from irexec.ops.spec.tensors import FloatTensor, FloatTensor1, IntegerTensor2
from irexec.ops.spec.traits import NeedsOptional

DEFAULTS: tuple[Activation, ...] = ("sigmoid", "tanh", "tanh")


@group
class CellGates(Gates):
    activations: tuple[Activation, ...] = DEFAULTS


@group
class SequenceGates(Gates):
    activations: SequenceActivations = DEFAULTS


WeightsFormat = Literal["fico", "icof", "ifco", "ifoc", "iofc"]


def lstm_step(r: Array, batch: int, functions: list[InPlace], clip: float) -> Step:
    """Return the step of one direction; it works in its own buffer and updates the states [h, c] in place."""
    f, g, h = functions
    size = r.shape[1]
    gates = np.empty((4 * size, batch), r.dtype)
    forget_input, forget, input_ = gates[: 2 * size], gates[:size], gates[size : 2 * size]
    candidate, output = gates[2 * size : 3 * size], gates[3 * size :]

    def step(projected: Array, states: list[Array]) -> None:
        hidden, cell = states
        np.matmul(r, hidden, out=gates)
        np.add(gates, projected, out=gates)
        clipped(gates, clip)
        f(forget_input)
        g(candidate)
        f(output)
        cell *= forget
        candidate[...] *= input_
        cell += candidate
        hidden[...] = cell
        h(hidden)
        hidden *= output

    return step


@operator("LSTMCell", "opset4", NeedsOptional, tolerance=rounded(16))
def lstm_cell_4(
    x: FloatTensor,
    initial_hidden_state: FloatTensor,
    initial_cell_state: FloatTensor,
    w: FloatTensor,
    r: FloatTensor,
    b: FloatTensor | None = None,
    /,
    *,
    hidden_size: Positive,
    gates: CellGates,
) -> tuple[FloatTensor, FloatTensor]:
    """One step: Ho and Co [batch, hidden] from X [batch, input], the states, W, R and the sum of biases B.

    relu, sigmoid and tanh have no parameters, so that activations_alpha and activations_beta change nothing.

    C1: three activations. C2: clip is positive (0: none). C3: X is [batch_size, input_size]. C4, C5: the states are
    [batch_size, hidden_size]. C6: W is [4 * hidden_size, input_size]. C7: R is [4 * hidden_size, hidden_size].
    C8: B is [4 * hidden_size].
    """
    hidden = transposed(widen(initial_hidden_state))
    cell = transposed(widen(initial_cell_state))
    projected = np.matmul(widen(w), widen(x).T)
    if b is not None:
        projected += widen(b)[:, None]
    with np.errstate(over="ignore"):
        step = lstm_step(widen(r), len(x), activations_of(gates.activations, DEFAULTS), gates.clip)
        step(projected, [hidden, cell])
    return narrow(transposed(hidden), x.dtype), narrow(transposed(cell), x.dtype)


lstm_cell_4.older(unchanged)


declare_cell(lstm_cell_4, 4, DEFAULTS)


@operator("LSTMCell", "opset1", tolerance=rounded(16))
def lstm_cell_1(
    x: FloatTensor,
    initial_hidden_state: FloatTensor,
    initial_cell_state: FloatTensor,
    w: FloatTensor,
    r: FloatTensor,
    b: FloatTensor | None = None,
    p: FloatTensor | None = None,
    /,
    *,
    hidden_size: Positive,
    gates: CellGates,
    input_forget: bool = False,
    weights_format: WeightsFormat = "fico",
) -> tuple[FloatTensor, FloatTensor]:
    """As LSTMCell-4, with the peepholes P [3 * hidden] (gates f, i, o) and `input_forget` (i = 1 - f) of opset 1.

    P, `input_forget` and `weights_format` are OpenVINO's and not on the page. `weights_format` has no effect: the page
    fixes the order of the gates to f, i, c, o, and OpenVINO computes in that order for any value of the attribute (it
    writes "ifco" by default).

    C1 to C8 as LSTMCell-4. C9: P is [3 * hidden_size].
    """
    plain = (x, initial_hidden_state, initial_cell_state, w, r, b)
    if (p is None or not p.any()) and not input_forget:
        result: tuple[Array, Array] = lstm_cell_4.compute(*plain, hidden_size=hidden_size, gates=gates)
        return result
    f, g, h = activations_of(gates.activations, DEFAULTS)
    sums = np.matmul(widen(x), widen(w).T) + np.matmul(widen(initial_hidden_state), widen(r).T)
    if b is not None:
        sums += widen(b)
    forget, input_, candidate, output = np.split(sums, 4, axis=1)
    before = widen(initial_cell_state)
    peephole_f, peephole_i, peephole_o = np.split(np.zeros(3 * hidden_size, sums.dtype) if p is None else widen(p), 3)
    with np.errstate(over="ignore"):
        for gate, function, addend in (
            (forget, f, peephole_f * before),
            (input_, f, peephole_i * before),
            (candidate, g, 0),
        ):
            gate += addend
            clipped(gate, gates.clip)
            function(gate)
        if input_forget:
            np.subtract(1, forget, out=input_)
        cell = forget * before + input_ * candidate
        output += peephole_o * cell
        clipped(output, gates.clip)
        f(output)
        hidden = cell.copy()
        h(hidden)
        hidden *= output
    return narrow(hidden, x.dtype), narrow(cell, x.dtype)


@lstm_cell_1.shapes
def _(check: Check, *inputs: TensorType | None, hidden_size: int, gates: Gates) -> list[PartialShape]:
    *plain, p = inputs
    assert lstm_cell_4.rule is not None
    shapes: list[PartialShape] = lstm_cell_4.rule(check, *plain, hidden_size=hidden_size, gates=gates)
    Extents(check).match("C9", "p", p, 3 * hidden_size)
    return shapes


@operator("LSTMSequence", "opset5", tolerance=rounded(16))
def lstm_sequence_5(
    x: FloatTensor1,
    initial_hidden_state: FloatTensor1,
    initial_cell_state: FloatTensor1,
    sequence_lengths: IntegerTensor2,
    w: FloatTensor1,
    r: FloatTensor1,
    b: FloatTensor1,
    /,
    *,
    hidden_size: Positive,
    direction: Direction,
    gates: SequenceGates,
) -> tuple[FloatTensor1, FloatTensor1, FloatTensor1]:
    """All steps of X [batch, time, input]: Y [batch, directions, time, hidden], Ho and Co [batch, directions, hidden].

    C1: three activations. C2: clip is positive (0: none). C3: X is [batch_size, seq_length, input_size].
    C4: sequence_lengths is [batch_size], each in [0, seq_length]. C5, C6: the states are
    [batch_size, num_directions, hidden_size]. C7: W is [num_directions, 4 * hidden_size, input_size].
    C8: R is [num_directions, 4 * hidden_size, hidden_size]. C9: B is [num_directions, 4 * hidden_size].
    """
    functions = activations_of(gates.activations, DEFAULTS)

    def make_step(r: Array, b: Array, batch: int) -> Step:
        return lstm_step(r, batch, functions, gates.clip)

    states = [initial_hidden_state, initial_cell_state]
    y, hidden, cell = run_sequence(x, states, sequence_lengths, w, r, b, slice(None), make_step, direction)
    return y, hidden, cell


declare_sequence(lstm_sequence_5, 4, DEFAULTS)
