"""One time step of an LSTM, GRU or RNN: the recurrent product, the gates and new states of some units, in one pass.

The states of a step are read by the tasks of the next step, so they are stored in two alternating buffers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from irexec.lowering.llvm.code import Code, Fields, Number, Run, copy_run
from irexec.lowering.llvm.functions import clamped, logistic, tanh
from irexec.lowering.llvm.products import write_tile

# The fields of `step`'s record, each a 64-bit number. Lengths and positions count elements of f32.
LAYER = (
    "projected", "y",  # addresses: [batch, steps, directions, gates, units], [batch, directions, steps, units]
    "hidden", "cell",  # [2, directions, batch, padded units] and, of an LSTM, [directions, batch, padded units]
    "lengths",  # i64 of each batch element
    "steps", "batch",
    # The following fields are the same in all calls.
    "bias",  # of a GRU, [directions, padded units]: bias of the candidate's recurrent product
    "panels", "limits",  # recurrence weights; the bounds for clipping the inputs of gates
    "directions", "units", "padded",
)  # fmt: skip
TASK = ("direction", "is_reverse", "first_block", "last_block")
Kind = Literal["lstm", "gru", "rnn"]
# In the order of the operation pages: f, i, c, o and z, r, h.
GATES: dict[Kind, int] = {"lstm": 4, "gru": 3, "rnn": 1}
# Vectors of units in a panel, for each gate.
VECTORS = 2
# The number of products of a sum that are added up at a time: see `llvm.products`.
DEPTH_STEP = 512


def write_recurrence(
    module: Any, name: str, lanes: int, height: int, kind: Kind, activations: Sequence[str], has_clip: bool
) -> Code:
    """Write `step(layer, task, scratch, step)`: some units of one direction. Batches are a multiple of `height`.

    A panel contains, for each state that is read, the weights of a block of units, gate by gate. In a GRU the state is
    multiplied by the weights before the reset gate is applied.
    """
    gates = GATES[kind]
    tile = write_tile(module, f"{name}_tile", lanes, height, gates * VECTORS)
    code = Code(module, name, 4, lanes)
    layer, task = Fields(code.parameters[0], LAYER), Fields(code.parameters[1], TASK)
    sums, step, b = code.parameters[2].floats(), code.parameters[3], code.builder
    block_units, across = VECTORS * lanes, gates * VECTORS * lanes
    gate_function, *other_functions = (_FUNCTIONS[name] for name in activations)

    states = layer.directions * layer.batch * layer.padded
    old = layer.hidden.floats() + (step & 1) * states
    new = layer.hidden.floats() + (code.number(1) - (step & 1)) * states
    blocks = layer.padded * layer.units * gates

    def gate(index: int, own: Any, projected: Run, vector: int) -> Any:
        x = b.fadd(own, (projected + layer.units * index).vector(vector * lanes))
        if has_clip:
            limits = layer.limits.floats()
            x = clamped(code, x, code.splat(limits.scalar(0)), code.splat(limits.scalar(1)))
        return (other_functions[0] if index == 2 else gate_function)(code, x)

    def lstm(products: Sequence[Any], projected: Run, state: Number, vector: int) -> Any:
        forget, let_in, candidate, let_out = (gate(index, own, projected, vector) for index, own in enumerate(products))
        cell = (layer.cell.floats() + state).vector(vector * lanes)
        cell = b.fadd(b.fmul(forget, cell), b.fmul(let_in, candidate))
        (layer.cell.floats() + state).put_vector(vector * lanes, cell)
        return b.fmul(let_out, other_functions[1](code, cell))

    def gru(products: Sequence[Any], projected: Run, state: Number, vector: int) -> Any:
        update, reset = (gate(index, products[index], projected, vector) for index in range(2))
        bias = (layer.bias.floats() + task.direction * layer.padded + unit).vector(vector * lanes)
        candidate = gate(2, b.fmul(b.fadd(products[2], bias), reset), projected, vector)
        before = (old + state).vector(vector * lanes)
        return b.fadd(b.fmul(update, before), b.fmul(b.fsub(code.constant(1.0), update), candidate))

    def rnn(products: Sequence[Any], projected: Run, state: Number, vector: int) -> Any:
        return gate(0, products[0], projected, vector)

    cells = {"lstm": lstm, "gru": gru, "rnn": rnn}
    with code.loop(task.first_block, task.last_block) as block:
        panel = layer.panels.floats() + task.direction * blocks + block * layer.units * across
        unit = block * block_units
        count = (layer.units - unit).at_most(block_units)
        with code.loop(0, layer.batch, height) as row:
            first = (task.direction * layer.batch + row) * layer.padded
            with code.loop(0, layer.units, DEPTH_STEP) as k:
                depth = (layer.units - k).at_most(DEPTH_STEP)
                weights = (panel + k * across).address
                code.run(tile, (old + first + k).address, weights, depth, layer.padded, sums.address, k)
            with code.loop(0, height) as m:
                element = row + m
                length = layer.lengths.numbers().number(element)
                state = first + m * layer.padded + unit
                line = (element * layer.directions + task.direction) * layer.steps
                with b.if_else(step < length) as (within, beyond):
                    with within:
                        backwards = (length - 1 - step) * task.is_reverse
                        time = step * (code.number(1) - task.is_reverse) + backwards
                        place = (element * layer.steps + time) * layer.directions + task.direction
                        projected = layer.projected.floats() + place * layer.units * gates + unit
                        for vector in range(VECTORS):
                            products = [
                                sums.vector(m * across + (index * VECTORS + vector) * lanes) for index in range(gates)
                            ]
                            hidden = cells[kind](products, projected, state, vector)
                            (new + state).put_vector(vector * lanes, hidden)
                        copy_run(new + state, layer.y.floats() + (line + time) * layer.units + unit, count)
                    with beyond:
                        copy_run(old + state, new + state, code.number(block_units))
    return code.end()


def _relu(code: Code, x: Any) -> Any:
    zeros = code.zeros()
    return code.builder.select(code.builder.fcmp_ordered("<", x, zeros), zeros, x)


_FUNCTIONS = {"sigmoid": logistic, "tanh": tanh, "relu": _relu}
