"""Sequences of LSTMs, GRUs and RNNs with constant weights by compiled code: a product of all inputs, then the steps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from irexec.core.threads.parallel import parts_for, split
from irexec.core.types import Array
from irexec.runtime.lowering.llvm import compiler
from irexec.runtime.lowering.llvm.after import After
from irexec.runtime.lowering.llvm.memory import Field, Records
from irexec.runtime.lowering.llvm.recurrence import GATES, LAYER, ROUNDS, TASK, VECTORS, Kind, write_recurrence
from irexec.runtime.lowering.products import CompiledProduct
from irexec.runtime.lowering.work import F32, Work

# The multiply-adds of a step that justify a second thread, which waits at most one µs between two steps.
WORTH_PRODUCTS = 1 << 17


class CompiledSequence:
    """All directions of a sequence whose weights are constants. `layer` has the fields that all calls share."""

    layer: Records

    def __init__(
        self, kind: Kind, directions: int, units: int, direction: str, activations: Sequence[str], clip: float
    ) -> None:
        self.kind: Kind = kind
        self.gates, self.lanes = GATES[kind], compiler().lanes
        self.directions, self.units, self.direction = directions, units, direction
        self.blocks = -(-self.units // (VECTORS * self.lanes))
        self.padded = self.blocks * VECTORS * self.lanes
        self.clip = clip if 0 < clip < np.inf else 0.0
        self.activations = tuple(activations)
        self._tasks: dict[int, Records] = {}

    def record(self, panels: Field, bias: Field, candidate: Field, *others: Field) -> Records:
        """Return the record with the fields that are the same in all calls."""
        limits = np.array([-self.clip, self.clip], F32)
        same = (bias, panels, limits, self.directions, self.units, self.padded, candidate, *(others or (0, 0, 0)))
        record = Records.of([[*[0] * 7, *same]])
        assert record.numbers.shape == (1, len(LAYER))
        return record

    def __call__(self, x: Array, *states_and_lengths: Array) -> tuple[Array, ...]:
        """Return Y and the last states of a sequence, given X `[batch, steps, input]`, the initial states
        `[batch, directions, units]` and the lengths; no array is empty.
        """
        *states, lengths = states_and_lengths
        batch, steps, _ = x.shape
        gates = self.directions * self.gates * self.units
        # Code that processes complete vectors reads beyond the last element.
        projected = np.empty(batch * steps * gates + VECTORS * self.lanes, F32)
        target = projected[: batch * steps * gates].reshape(-1, gates)
        work = Work()
        self._project(work, x.reshape(batch * steps, -1), target)
        # Steps beyond the length of a batch element are 0.
        y = np.zeros((batch, self.directions, steps, self.units), F32)
        hiddens = np.zeros((2, self.directions, batch, self.padded), F32)
        inner = 2 if self.kind == "reset_gru" else len(states) - 1
        cells = np.zeros((inner, self.directions, batch, self.padded), F32)
        for place, state in zip((hiddens[0], *cells), states, strict=False):
            place[:, :, : self.units] = state.swapaxes(0, 1)
        layer = self.layer.filled(projected, y, hiddens, cells, lengths, steps, batch)
        height = next(height for height in (3, 2, 1) if batch % height == 0)
        scratch = height * self.gates * VECTORS * self.lanes + self._more_scratch(batch)
        function = compiler().written(write_recurrence, height, self.kind, self.activations, self.clip > 0)
        work.add(function, layer, self._parts(batch), scratch, steps * ROUNDS[self.kind])
        work.run()
        last = (hiddens[steps & 1], *cells)[: len(states)]
        ends = (array.swapaxes(0, 1)[:, :, : self.units] for array in last)
        return y, *(self._ended(lengths, *pair) for pair in zip(ends, states, strict=True))

    def _project(self, work: Work, rows: Array, out: Array) -> None:
        """Add the jobs that compute the contributions of inputs to the gates, with the biases."""
        raise NotImplementedError

    def _more_scratch(self, batch: int) -> int:
        """Return the scratch memory that a task needs besides a tile, in elements of f32."""
        return 0

    def _ended(self, lengths: Array, end: Array, initial: Array) -> Array:
        """Return the last states `end`, with 0 for sequences of length 0."""
        return np.where(lengths[:, None, None] > 0, end, F32.type(0))

    def _parts(self, batch: int) -> Records:
        """Return the tasks of one time step: ranges of units of each direction."""
        products = self.gates * self.units * self.units * batch * self.directions
        parts = parts_for(products, WORTH_PRODUCTS)
        if (found := self._tasks.get(parts)) is None:
            pieces = split(self.blocks, -(-parts // self.directions))
            backwards = [int(self.direction == "reverse"), 1]
            records = [[d, backwards[d], *piece] for d in range(self.directions) for piece in pieces]
            assert len(records[0]) == len(TASK)
            found = self._tasks[parts] = Records.of(records)
        return found


class CompiledRecurrence(CompiledSequence):
    """A sequence whose W, R and B are constants, in f32."""

    def __init__(
        self, kind: Kind, w: Array, r: Array, b: Array, direction: str, activations: Sequence[str], clip: float
    ) -> None:
        super().__init__(kind, len(r), r.shape[2], direction, activations, clip)
        block = VECTORS * self.lanes
        self.project = CompiledProduct(w.reshape(-1, w.shape[2]).T, CompiledProduct.MANY_ROWS)
        self.bias = np.ascontiguousarray(b[:, : self.gates * self.units], F32)
        recurrent_bias = np.zeros((self.directions, self.padded), F32)
        recurrent_bias[:, : b.shape[1] - self.gates * self.units] = b[:, self.gates * self.units :]
        self.bias_place = Records.of([[self.bias, 1, 1, 1]])
        # The number of gates that multiply the state itself.
        together = 2 if kind == "reset_gru" else self.gates
        panels, candidate = (
            _packed(part, part.shape[1] // self.units, self.blocks, block) if part.size else 0
            for part in np.split(r, [together * self.units], axis=1)
        )
        self.layer = self.record(panels, recurrent_bias, candidate)

    def _project(self, work: Work, rows: Array, out: Array) -> None:
        self.project.tasks(work, rows, out, (After(np.add, "column"),), self.bias_place)


def _packed(r: Array, gates: int, blocks: int, block: int) -> Array:
    """Return `[D, gates * units, states]` as `[D, blocks, states, gates, block]`, with zeros after the last unit."""
    directions, _, states = r.shape
    units = r.reshape(directions, gates, -1, states)
    panels = np.zeros((directions, blocks, states, gates, block), F32)
    for number in range(blocks):
        part = units[:, :, number * block : (number + 1) * block]
        panels[:, number, :, :, : part.shape[2]] = part.transpose(0, 3, 1, 2)
    return panels
