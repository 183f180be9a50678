"""One time step of an LSTM, GRU or RNN: the recurrent product, the gates and new states of some units, in one pass.

The states of a step are read by the tasks of the next step, so they are stored in two alternating buffers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from llvmlite import ir

from irexec.runtime.lowering.llvm.arithmetic import FOLDS, bits
from irexec.runtime.lowering.llvm.code import F32, I32, Code, Fields, Number, Run, copy_run
from irexec.runtime.lowering.llvm.functions import clamped, logistic, tanh
from irexec.runtime.lowering.llvm.products import write_tile

# The fields of `step`'s record, each a 64-bit number. Lengths and positions count elements of f32.
LAYER = (
    "projected", "y",  # addresses: [batch, steps, directions, gates, units], [batch, directions, steps, units]
    "hidden",  # [2, directions, batch, padded units]
    "cell",  # [directions, batch, padded units]: cells of an LSTM, or updates and then reset states of a GRU
    "lengths",  # i64 of each batch element
    "steps", "batch",
    # The following fields are the same in all calls.
    "bias",  # [directions, padded units]: for a GRU, the bias of the candidate's recurrent product
    "panels", "limits",  # recurrence weights; the bounds for clipping the inputs of gates
    "directions", "units", "padded",
    "candidate",  # the panels of the candidate, if they are separate
    # For a "quantized_lstm", in the order of the panels' columns: the sums of weights, their scales and zero points.
    "weight_sums", "scales", "zeros",
)  # fmt: skip
TASK = ("direction", "is_reverse", "first_block", "last_block")
# A "gru" applies the reset gate to the product of the state, a "reset_gru" to the state before it is multiplied. A
# "quantized_lstm" is ONNX Runtime's DynamicQuantizeLSTM: each step quantizes the states of all batches by their range.
Kind = Literal["lstm", "quantized_lstm", "gru", "reset_gru", "rnn"]
# The number of gates. They are in the order of the operation pages (f, i, c, o and z, r, h), in ONNX's LSTM i, o, f, c.
GATES: dict[Kind, int] = {"lstm": 4, "quantized_lstm": 4, "gru": 3, "reset_gru": 3, "rnn": 1}
# The number of rounds of a step; a round reads the results of all tasks of the previous round.
ROUNDS: dict[Kind, int] = {"lstm": 1, "quantized_lstm": 1, "gru": 1, "reset_gru": 2, "rnn": 1}
# The number of vectors of units in a panel, for each gate.
VECTORS = 2
# The number of products that are added to a sum at a time: see `llvm.products`.
DEPTH_STEP = 512


class _Place(NamedTuple):
    """The offsets of a vector of units: in the arrays of states, in the block of units, and in the projected inputs."""

    unit: Number
    state: Number
    projected: Run
    vector: int


# The function that writes the results of the products of some gates.
Write = Callable[[Sequence[Any], _Place], None]


def write_recurrence(
    module: Any, name: str, lanes: int, height: int, kind: Kind, activations: Sequence[str], has_clip: bool
) -> Code:
    """Write `step(layer, task, scratch, round)`: compute some units of one direction. The batch size is a multiple of
    `height`.

    A panel contains, for each state that is read, the weights of a block of units, gate by gate.
    """
    code = Code(module, name, 4, lanes)
    step = _Step(code, height, kind, has_clip, [_FUNCTIONS[name] for name in activations])
    if kind == "reset_gru":
        with code.builder.if_else((code.parameters[3] & 1).equals(0)) as (gates, candidate):
            with gates:
                step.units(step.layer.panels, 2, step.old, step.update_and_reset)
            with candidate:
                step.units(step.layer.candidate, 1, step.reset_states, step.candidate, is_last=True)
    elif kind == "quantized_lstm":
        step.quantized_lstm()
    else:
        write = {"lstm": step.lstm, "gru": step.gru, "rnn": step.rnn}[kind]
        step.units(step.layer.panels, GATES[kind], step.old, write, is_last=True)
    return code.end()


class _Step:
    def __init__(self, code: Code, height: int, kind: Kind, has_clip: bool, functions: Sequence[Any]) -> None:
        self._code, self._height, self._has_clip, self._functions = code, height, has_clip, functions
        self._gates, self._number = GATES[kind], code.parameters[3] >> (ROUNDS[kind] - 1)
        self.layer, self._task = Fields(code.parameters[0], LAYER), Fields(code.parameters[1], TASK)
        states = self.layer.directions * self.layer.batch * self.layer.padded
        self.old = self.layer.hidden.floats() + (self._number & 1) * states
        self._new = self.layer.hidden.floats() + (code.number(1) - (self._number & 1)) * states
        self._cell = self.layer.cell.floats()
        self.reset_states = self._cell + states

    def units(self, panels: Number, gates: int, source: Run, write: Write, *, is_last: bool = False) -> None:
        """Multiply states by the weights of some gates, and pass the products to `write`. `is_last`: `write` stores the
        new states.
        """
        code, layer, task, height = self._code, self.layer, self._task, self._height
        lanes, sums = code.lanes, code.parameters[2].floats()
        block_units, across = VECTORS * lanes, gates * VECTORS * lanes
        tile = write_tile(code.module, f"{code.function.name}_tile{gates}", lanes, height, gates * VECTORS)
        of_direction = panels.floats() + task.direction * layer.padded * layer.units * gates
        with code.loop(task.first_block, task.last_block) as block:
            panel = of_direction + block * layer.units * across
            unit = block * block_units
            with code.loop(0, layer.batch, height) as row:
                first = (task.direction * layer.batch + row) * layer.padded
                with code.loop(0, layer.units, DEPTH_STEP) as k:
                    depth = (layer.units - k).at_most(DEPTH_STEP)
                    weights = (panel + k * across).address
                    code.run(tile, (source + first + k).address, weights, depth, layer.padded, sums.address, k)
                self._write(unit, row, gates, write, is_last)

    def _write(self, unit: Number, row: Number, gates: int, write: Write, is_last: bool) -> None:
        """Pass the products of a tile (a block of units and some rows), which are in scratch memory, to `write`."""
        code, layer, task = self._code, self.layer, self._task
        lanes, sums = code.lanes, code.parameters[2].floats()
        across = gates * VECTORS * lanes
        count = (layer.units - unit).at_most(VECTORS * lanes)
        first = (task.direction * layer.batch + row) * layer.padded
        with code.loop(0, self._height) as m:
            element, state = row + m, first + m * layer.padded + unit
            length = layer.lengths.numbers().number(element)
            with code.builder.if_else(self._number < length) as (within, beyond):
                with within:
                    backwards = (length - 1 - self._number) * task.is_reverse
                    time = self._number * (code.number(1) - task.is_reverse) + backwards
                    place = (element * layer.steps + time) * layer.directions + task.direction
                    projected = layer.projected.floats() + place * layer.units * self._gates + unit
                    for vector in range(VECTORS):
                        products = [
                            sums.vector(m * across + (index * VECTORS + vector) * lanes) for index in range(gates)
                        ]
                        write(products, _Place(unit, state, projected, vector * lanes))
                    if is_last:
                        line = (element * layer.directions + task.direction) * layer.steps
                        y = layer.y.floats() + (line + time) * layer.units + unit
                        copy_run(self._new + state, y, count)
                with beyond:
                    if is_last:
                        copy_run(self.old + state, self._new + state, code.number(VECTORS * lanes))

    def quantized_lstm(self) -> None:
        """Quantize the states, multiply them by the panels in bytes, and write the new states."""
        code, layer, task, b = self._code, self.layer, self._task, self._code.builder
        lanes, sums = code.lanes, code.parameters[2].floats()
        across, depth = self._gates * VECTORS * lanes, layer.padded // FOLDS["whole_bytes"]
        tile = write_tile(
            code.module, f"{code.function.name}_tile", lanes, self._height, self._gates * VECTORS, "whole_bytes"
        )
        levels = sums + self._height * across
        step, zero = self._quantized(levels.address)
        of_direction = task.direction * layer.padded * self._gates
        with code.loop(task.first_block, task.last_block) as block:
            column = of_direction + block * across
            panel = (layer.panels.floats() + column * depth).address
            with code.loop(0, layer.batch, self._height) as row:
                code.run(tile, (levels + row * depth).address, panel, depth, depth, sums.address, 0, layer.zeros)

                def write(products: Sequence[Any], place: _Place, column: Number = column) -> None:
                    scaled = []
                    for index, product in enumerate(products):
                        own = column + index * VECTORS * lanes + place.vector
                        weights = bits(code, layer.weight_sums.floats().vector(own))
                        exact = b.sitofp(b.sub(bits(code, product), b.mul(zero, weights)), code.vector)
                        scaled.append(b.fmul(exact, b.fmul(step, layer.scales.floats().vector(own))))
                    self._quantized_gates(scaled, place)

                self._write(block * (VECTORS * lanes), row, self._gates, write, is_last=True)

    def _quantized(self, target: Number) -> tuple[Any, Any]:
        """Store the states of one direction as 8-bit levels; return the step of the levels, and their zero point as
        integers.

        The operations are those of the kernel, in the same order.
        """
        code, layer, b = self._code, self.layer, self._code.builder
        states = self.old + self._task.direction * layer.batch * layer.padded
        zeros, highest, count = code.zeros(), code.constant(255.0), layer.batch * layer.padded
        with code.folding(0, count, [zeros, zeros], code.lanes) as fold:
            vector = states.vector(fold.index)
            low, high = fold.values
            fold.values = [
                b.select(b.fcmp_ordered("<", vector, low), vector, low),
                b.select(b.fcmp_ordered(">", vector, high), vector, high),
            ]
        low, high = (
            code.splat(b.call(code.intrinsic(f"vector.reduce.{name}.v{code.lanes}f32", F32, limit), [limit]))
            for name, limit in zip(("fmin", "fmax"), fold.values, strict=True)
        )
        step = b.select(b.fcmp_ordered(">", high, low), b.fdiv(b.fsub(high, low), highest), code.constant(1.0))
        zero = code.call("rint", clamped(code, b.fdiv(b.fneg(low), step), zeros, highest))
        bytes_type, wide = ir.VectorType(ir.IntType(8), code.lanes), ir.VectorType(I32, code.lanes)
        with code.loop(0, count, code.lanes) as index:
            level = b.fadd(code.call("rint", b.fdiv(states.vector(index), step)), zero)
            level = b.trunc(b.fptosi(clamped(code, level, zeros, highest), wide), bytes_type)
            b.store(level, b.inttoptr((target + index).value, bytes_type.as_pointer()), align=1)
        return step, b.fptosi(zero, wide)

    def _quantized_gates(self, products: Sequence[Any], place: _Place) -> None:
        b, cells = self._code.builder, self._cell + place.state
        let_in, let_out, forget = (self._gate(n, products[n], place, 0) for n in range(3))
        candidate = self._gate(3, products[3], place, 1)
        cell = b.fadd(b.fmul(forget, cells.vector(place.vector)), b.fmul(let_in, candidate))
        cells.put_vector(place.vector, cell)
        hidden = b.fmul(let_out, self._functions[2](self._code, cell))
        # Padded units are set to 0: they take part in the range of the states.
        own = self._code.mask(self.layer.units - place.unit - place.vector)
        self._put(place, b.select(own, hidden, self._code.zeros()))

    def lstm(self, products: Sequence[Any], place: _Place) -> None:
        b, cells = self._code.builder, self._cell + place.state
        forget, let_in, candidate, let_out = (self._gate(n, own, place) for n, own in enumerate(products))
        cell = b.fadd(b.fmul(forget, cells.vector(place.vector)), b.fmul(let_in, candidate))
        cells.put_vector(place.vector, cell)
        self._put(place, b.fmul(let_out, self._functions[2](self._code, cell)))

    def gru(self, products: Sequence[Any], place: _Place) -> None:
        b = self._code.builder
        update, reset = (self._gate(n, products[n], place) for n in range(2))
        bias = (self.layer.bias.floats() + self._task.direction * self.layer.padded + place.unit).vector(place.vector)
        self._mix(update, self._gate(2, b.fmul(b.fadd(products[2], bias), reset), place), place)

    def update_and_reset(self, products: Sequence[Any], place: _Place) -> None:
        update, reset = (self._gate(n, products[n], place) for n in range(2))
        (self._cell + place.state).put_vector(place.vector, update)
        before = (self.old + place.state).vector(place.vector)
        (self.reset_states + place.state).put_vector(place.vector, self._code.builder.fmul(reset, before))

    def candidate(self, products: Sequence[Any], place: _Place) -> None:
        update = (self._cell + place.state).vector(place.vector)
        self._mix(update, self._gate(2, products[0], place), place)

    def rnn(self, products: Sequence[Any], place: _Place) -> None:
        self._put(place, self._gate(0, products[0], place))

    def _gate(self, index: int, own: Any, place: _Place, function: int | None = None) -> Any:
        code = self._code
        x = code.builder.fadd(own, (place.projected + self.layer.units * index).vector(place.vector))
        if self._has_clip:
            limits = self.layer.limits.floats()
            x = clamped(code, x, code.splat(limits.scalar(0)), code.splat(limits.scalar(1)))
        return self._functions[index == 2 if function is None else function](code, x)

    def _mix(self, update: Any, candidate: Any, place: _Place) -> None:
        b = self._code.builder
        before = (self.old + place.state).vector(place.vector)
        rest = b.fsub(self._code.constant(1.0), update)
        self._put(place, b.fadd(b.fmul(update, before), b.fmul(rest, candidate)))

    def _put(self, place: _Place, hidden: Any) -> None:
        (self._new + place.state).put_vector(place.vector, hidden)


def _relu(code: Code, x: Any) -> Any:
    zeros = code.zeros()
    return code.builder.select(code.builder.fcmp_ordered("<", x, zeros), zeros, x)


_FUNCTIONS = {"sigmoid": logistic, "tanh": tanh, "relu": _relu}
