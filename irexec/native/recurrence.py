"""One time step of an LSTM: the recurrent product, the gates and the new states of some units, in one pass.

The states of a step are read by the tasks of the next one, so they lie in two places that take turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irexec.native.code import Code, Fields, copy_run
from irexec.native.functions import clamped, logistic, tanh
from irexec.native.products import write_tile

# The fields of what `step` is given, each a number of 64 bits. Lengths and places count elements of f32.
LAYER = (
    "projected", "y",  # addresses: [batch, steps, directions, gates, units], [batch, directions, steps, units]
    "hidden", "cell",  # [2, directions, batch, padded units] and [directions, batch, padded units]
    "lengths", "panels", "limits",  # i64 of each batch element; recurrence weights; the bounds of what gates get
    "steps", "batch", "directions", "units", "padded",
)  # fmt: skip
TASK = ("direction", "is_reverse", "first_block", "last_block")
GATES = 4
# Vectors of units in a panel, which has as many of each gate.
VECTORS = 2
# So many products of a sum are added up before the next ones: see `native.products`.
DEPTH_STEP = 512


def write_lstm(module: Any, name: str, lanes: int, height: int, activations: Sequence[str], has_clip: bool) -> Code:
    """`step(layer, task, scratch, step)`: some units of one direction. Batches are a multiple of `height`.

    A panel has, for each state that is read, the weights of a block of units: gates f, i, c, o one after the other.
    """
    tile = write_tile(module, f"{name}_tile", lanes, height, GATES * VECTORS)
    code = Code(module, name, 4, lanes)
    layer, task = Fields(code.parameters[0], LAYER), Fields(code.parameters[1], TASK)
    sums, step, b = code.parameters[2].floats(), code.parameters[3], code.builder
    block_units, across = VECTORS * lanes, GATES * VECTORS * lanes
    gate_function, candidate_function, hidden_function = (_FUNCTIONS[kind] for kind in activations)

    states = layer.directions * layer.batch * layer.padded
    old = layer.hidden.floats() + (step & 1) * states
    new = layer.hidden.floats() + (code.number(1) - (step & 1)) * states
    blocks = layer.padded * layer.units * GATES

    def gate(index: int, place: Any, projected: Any, vector: int) -> Any:
        own = sums.vector(place + (index * VECTORS + vector) * lanes)
        x = b.fadd(own, (projected + layer.units * index).vector(vector * lanes))
        if has_clip:
            limits = layer.limits.floats()
            x = clamped(code, x, code.splat(limits.scalar(0)), code.splat(limits.scalar(1)))
        return (candidate_function if index == 2 else gate_function)(code, x)

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
                        projected = layer.projected.floats() + place * layer.units * GATES + unit
                        for vector in range(VECTORS):
                            forget, let_in, candidate, let_out = (
                                gate(index, m * across, projected, vector) for index in range(GATES)
                            )
                            cell = (layer.cell.floats() + state).vector(vector * lanes)
                            cell = b.fadd(b.fmul(forget, cell), b.fmul(let_in, candidate))
                            (layer.cell.floats() + state).put_vector(vector * lanes, cell)
                            hidden = b.fmul(let_out, hidden_function(code, cell))
                            (new + state).put_vector(vector * lanes, hidden)
                        copy_run(new + state, layer.y.floats() + (line + time) * layer.units + unit, count)
                    with beyond:
                        copy_run(old + state, new + state, code.number(block_units))
    return code.end()


def _relu(code: Code, x: Any) -> Any:
    zeros = code.zeros()
    return code.builder.select(code.builder.fcmp_ordered("<", x, zeros), zeros, x)


_FUNCTIONS = {"sigmoid": logistic, "tanh": tanh, "relu": _relu}
