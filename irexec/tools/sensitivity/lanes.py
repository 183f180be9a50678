"""Lanes: many choices of one board on many inputs, computed side by side in one pass over the layers.

Work that lanes have in common is done once: a layer runs for each different combination of the values that it reads.
Each choice is thus computed only from the first layer that it changes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from irexec.core.diagnostics import IRError
from irexec.core.diagnostics.deadline import watched
from irexec.core.structure import ASSIGN, PARAMETER, READ_VALUE, RESULT
from irexec.core.threads.parallel import computing
from irexec.core.types import Array
from irexec.model.graph.model import Node, Value
from irexec.ops.spec.traits import ShapeReading
from irexec.runtime.engine.errors import failure
from irexec.tools.sensitivity.batching import compute_rows
from irexec.tools.sensitivity.constants import call_of
from irexec.tools.sensitivity.rows import Rows, gathered, joined, picked
from irexec.tools.sensitivity.switches import Board, Site

Watch = Callable[[Value, Rows], None]


@dataclass(frozen=True, slots=True)
class Lane:
    """One choice on one input, `step`: the units of `changed` are fine and all others coarse, or with `from_fine` the
    reverse."""

    step: int
    changed: Collection[Site] = ()
    from_fine: bool = False


@dataclass(slots=True)
class _Needs:
    """For each layer, the lanes that need it (a bit for each), and how often each value is read."""

    nodes: dict[Node, int] = field(default_factory=dict)
    uses: dict[Value, int] = field(default_factory=dict)


class Pass:
    """One run of several lanes."""

    def __init__(
        self,
        board: Board,
        lanes: Sequence[Lane],
        watched_values: Collection[Value] = (),
        watch: Watch | None = None,
    ) -> None:
        """`watch` is called with the `watched_values`, which are computed in all lanes."""
        self.board, self.lanes = board, list(lanes)
        self._all = (1 << len(self.lanes)) - 1
        self._fine = self._fine_lanes()
        self._watched, self._watch = frozenset(watched_values), watch
        self._needs = self._needed()
        self._values: dict[Value, Rows] = {}
        self._constants: dict[Value, Rows] = {}
        self._calls: dict[Node, Callable[..., Any]] = {}
        self._flags: dict[int, Array] = {}
        self._picks: dict[tuple[Any, ...], tuple[Array | None, list[Array | None]]] = {}
        self._maps: dict[bytes, Array] = {}
        self.layers_run = 0
        self.largest = 0

    def run(self, inputs: Sequence[Sequence[Array]]) -> list[list[Array]]:
        """Return the results of each lane. Raises IRError."""
        self._read(inputs)
        needed = [node for node in self.board.order if node in self._needs.nodes]
        with computing():
            for node in watched(needed, "running", of=lambda _, node: node):
                if node.type not in (PARAMETER, RESULT, ASSIGN):
                    self._run(node)
        ends = [self._input(*self.board.reads[result][0], self._all) for result in self.board.model.results]
        return [[end.of(lane) for end in ends if end is not None] for lane in range(len(self.lanes))]

    def _fine_lanes(self) -> dict[Site, int]:
        """Return the lanes in which each site reads the fine value."""
        base = sum(1 << number for number, lane in enumerate(self.lanes) if lane.from_fine)
        found = dict.fromkeys(self.board.sites.values(), base)
        for number, lane in enumerate(self.lanes):
            for site in lane.changed:
                found[site] ^= 1 << number
        return found

    def _sources(self, value: Value | None, site: Site | None, lanes: int) -> tuple[tuple[Value, int], ...]:
        """Return the values that an input reads, each with its lanes."""
        if value is None:
            return ()
        if site is None:
            return ((value, lanes),)
        fine = lanes & self._fine[site]
        if not fine:
            return ((value, lanes),)
        return ((site.fine, lanes),) if fine == lanes else ((value, lanes & ~fine), (site.fine, fine))

    def _needed(self) -> _Needs:
        """Return the lanes that need each layer. Layers of known constants are not needed."""
        found = _Needs()
        nodes, uses, constant = found.nodes, found.uses, self.board.constant
        for value in self._watched:
            nodes[value.node] = self._all
            uses[value] = uses.get(value, 0) + 1
        for result in self.board.model.results:
            nodes[result] = self._all
        for node in reversed(self.board.order):
            lanes = nodes.get(node, 0)
            if not lanes or node.type == ASSIGN:
                continue
            for read, site in self.board.reads[node]:
                for value, some in self._sources(read, site, lanes):
                    if constant(value) is None:
                        nodes[value.node] = nodes.get(value.node, 0) | some
                        uses[value] = uses.get(value, 0) + 1
        return found

    def _read(self, inputs: Sequence[Sequence[Array]]) -> None:
        steps = sorted({lane.step for lane in self.lanes})
        places = {step: place for place, step in enumerate(steps)}
        lanes = self._interned(np.array([places[lane.step] for lane in self.lanes]))
        for index, parameter in enumerate(self.board.model.parameters):
            value = parameter.outputs[0]
            if value in self._needs.uses:
                arrays = [inputs[step][index] for step in steps]
                self._store(value, Rows(arrays[0]) if len(arrays) == 1 else joined(arrays, lanes))

    # One layer

    def _run(self, node: Node) -> None:
        lanes = self._needs.nodes[node]
        if node.held is not None:
            self._store(node.outputs[0], self._constant(node.outputs[0]) or Rows(_initial(node)))
            return
        inputs = [self._input(read, site, lanes) for read, site in self.board.reads[node]]
        if node.type == READ_VALUE:
            self._store(node.outputs[0], (inputs[0] if inputs else None) or Rows(_initial(node)))
            return
        made = self._computed(node, inputs, lanes)
        if self.board.is_given(node):
            self.board.keep(node, [rows.first for rows in made])
        for value, rows in zip(node.outputs, made, strict=False):
            self._store(value, rows)

    def _constant(self, value: Value) -> Rows | None:
        """Return the array of a known constant; None for other values."""
        if value not in self._constants:
            array = self.board.constant(value)
            if array is None:
                return None
            self._constants[value] = Rows(array)
        return self._constants[value]

    def _computed(self, node: Node, inputs: list[Rows | None], lanes: int) -> list[Rows]:
        """Return the results of a layer.

        The values of a constant are computed one after the other: weights are too large to repeat.
        """
        for port, rows in enumerate(inputs):
            value = node.inputs[port]
            if rows is not None and rows.lanes is not None and value is not None and self.board.is_given(value.node):
                return self._in_turn(node, inputs, port, rows, lanes)
        found, where = self._combined(inputs, lanes)
        if where is not None:
            return self._many(node, found, where)
        self.layers_run += not self.board.is_given(node)
        return [Rows(array) for array in self._call(node, [None if rows is None else rows.first for rows in found])]

    def _in_turn(self, node: Node, inputs: list[Rows | None], port: int, rows: Rows, lanes: int) -> list[Rows]:
        parts: list[list[Rows]] = []
        which = np.zeros(len(self.lanes), np.int64)
        for number in range(rows.count):
            flags = self._are(lanes) & (rows.place == number)
            if flags.any():
                which[flags] = len(parts)
                alone = [*inputs[:port], Rows(rows.row(number)), *inputs[port + 1 :]]
                parts.append(self._computed(node, alone, _bits(flags)))
        if len(parts) == 1:
            return parts[0]
        return [self._chosen([part[index] for part in parts], which, lanes) for index in range(len(parts[0]))]

    def _many(self, node: Node, inputs: list[Rows | None], where: Array) -> list[Rows]:
        """Return the results of a layer whose inputs have either one row or the same number of rows."""
        count = max(rows.count for rows in inputs if rows is not None)
        self.layers_run += count
        if ShapeReading in node.traits and inputs[0] is not None and inputs[0].stacked is not None:
            return [Rows(array) for array in self._call(node, [inputs[0].first])]
        given = [None if rows is None else rows.first if rows.lanes is None else rows.stacked for rows in inputs]
        is_many = [rows is not None and rows.lanes is not None for rows in inputs]
        if all(rows is None or rows.lanes is None or rows.stacked is not None for rows in inputs):
            arrays = compute_rows(node, given, is_many, count)
            if arrays is not None:
                return [Rows(array[0], array, where) for array in arrays]
        singles = [self._call(node, [None if r is None else r.row(k) for r in inputs]) for k in range(count)]
        return [joined([single[index] for single in singles], where) for index in range(len(singles[0]))]

    def _call(self, node: Node, arrays: list[Array | None]) -> list[Array]:
        """Return the results of one row. Raises IRError."""
        try:
            if node not in self._calls:
                self._calls[node] = call_of(node)
            found = self._calls[node](*arrays)
        except IRError:
            raise
        except Exception as error:
            raise IRError(failure(node, error, arrays, self.board.model)) from error
        return [np.asarray(array) for array in (found if isinstance(found, (tuple, list)) else (found,))]

    def _store(self, value: Value, rows: Rows) -> None:
        if not self.board.is_given(value.node):
            self.largest = max(self.largest, rows.first.nbytes)
        if value in self._watched and self._watch is not None:
            self._watch(value, rows)
            self._free(value)
        if self._needs.uses.get(value):
            self._values[value] = rows

    def _free(self, value: Value) -> None:
        self._needs.uses[value] -= 1
        if not self._needs.uses[value]:
            self._values.pop(value, None)

    # Which rows a layer reads

    def _input(self, read: Value | None, site: Site | None, lanes: int) -> Rows | None:
        sources = self._sources(read, site, lanes)
        rows = [self._taken(value) for value, _ in sources]
        if len(rows) < 2:
            return rows[0] if rows else None
        is_constant = all(self.board.is_given(value.node) for value, _ in sources)
        return self._chosen(rows, self._are(sources[1][1]).astype(np.int64), lanes, copies=not is_constant)

    def _taken(self, value: Value) -> Rows:
        """Return a value to read; it is freed after its last reader."""
        if (rows := self._values.get(value)) is not None:
            self._free(value)
            return rows
        known = self._constant(value)
        assert known is not None
        return known

    def _chosen(self, parts: Sequence[Rows], which: Array, lanes: int, *, copies: bool = True) -> Rows:
        """Return a value that is in each lane one of `parts`: the part with the number in `which`."""
        counts = [rows.count for rows in parts]
        starts = np.cumsum([0, *counts[:-1]])
        places = np.stack([np.broadcast_to(rows.place, which.shape) for rows in parts])
        code = starts[which] + np.take_along_axis(places, which[None], 0)[0]
        code = np.where(self._are(lanes), code, code[_first(lanes)])
        used, where = np.unique(code, return_inverse=True)
        owners = np.searchsorted(starts, used, "right") - 1
        picks = [used[owners == owner] - starts[owner] for owner in range(len(parts))]
        found = gathered(parts, picks, copies=copies)
        return Rows(found[0]) if len(used) == 1 else joined(found, self._interned(where), copies=copies)

    def _combined(self, inputs: list[Rows | None], lanes: int) -> tuple[list[Rows | None], Array | None]:
        """Return the inputs with a row for each different combination, and the row of each lane; None if all lanes have
        the same inputs.
        """
        maps = {id(rows.lanes): rows for rows in inputs if rows is not None and rows.lanes is not None}
        if not maps:
            return inputs, None
        key = (lanes, *maps)
        if key not in self._picks:
            self._picks[key] = self._combination([*maps.values()], lanes)
        where, picks = self._picks[key]
        chosen = dict(zip(maps, picks, strict=True))
        found = [
            None if rows is None else rows if rows.lanes is None else picked(rows, chosen[id(rows.lanes)], where)
            for rows in inputs
        ]
        return found, where

    def _combination(self, maps: list[Rows], lanes: int) -> tuple[Array | None, list[Array | None]]:
        code: Array = np.zeros(len(self.lanes), np.int64)
        for rows in maps:
            code = code * rows.count + rows.place
        code = np.where(self._are(lanes), code, code[_first(lanes)])
        used, where = np.unique(code, return_inverse=True)
        picks: list[Array | None] = []
        for rows in reversed(maps):
            used, pick = np.divmod(used, rows.count)
            picks.append(None if pick.size == rows.count and np.array_equal(pick, np.arange(pick.size)) else pick)
        if where.size and not where.any():
            return None, [*reversed(picks)]
        return self._interned(where), [*reversed(picks)]

    def _are(self, lanes: int) -> Array:
        """Return a flag for each lane: whether its bit in `lanes` is set."""
        if lanes not in self._flags:
            count = len(self.lanes)
            held = np.frombuffer(lanes.to_bytes((count + 7) // 8, "little"), np.uint8)
            self._flags[lanes] = np.unpackbits(held, count=count, bitorder="little").astype(bool)
        return self._flags[lanes]

    def _interned(self, where: Array) -> Array:
        """Return one array for all equal arrays of rows, so that equal arrays are recognized by identity."""
        return self._maps.setdefault(where.tobytes(), where)


def _first(lanes: int) -> int:
    return (lanes & -lanes).bit_length() - 1


def _bits(flags: Array) -> int:
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


def _initial(node: Node) -> Array:
    """Return the array that a variable without an initial value contains first."""
    type = node.outputs[0].type
    shape = [extent.value if extent.is_static else 0 for extent in type.shape]
    return np.zeros(shape, type.element_type.dtype)
