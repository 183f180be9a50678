"""Measuring: the effect of units on the results, each recomputed only from its first layer on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from irexec.arrays.saving import archive_names
from irexec.debug.sensitivity.metrics import Metric, Score
from irexec.debug.sensitivity.statistics import Statistics
from irexec.debug.sensitivity.switches import Board, Site, Unit
from irexec.engine import CompiledModel
from irexec.graph.model import Model, Value
from irexec.graph.ports import port_name
from irexec.types import Array

# The values of a run are held for as many inputs as fit into this; of the others a unit is measured by whole runs.
HELD_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of one unit. `without`: all others are coarse; `alone`: all others are fine."""

    without: Score
    alone: Score


@dataclass(slots=True)
class _Base:
    """A run of all inputs: its results and, of the first inputs, the values that a part may read."""

    sites: frozenset[Site]
    results: list[list[Array]] = field(default_factory=list)
    held: list[dict[Value, Array]] = field(default_factory=list)


class Trials:
    """Runs of the model of a board on many inputs, beside the expected results."""

    def __init__(
        self,
        board: Board,
        inputs: Sequence[Sequence[Array]],
        metric: Metric,
        *,
        reference: Model | None = None,
        held: int = HELD_BYTES,
    ) -> None:
        """`reference`: the model with the expected results, which takes the same inputs; by default the board's own
        with every unit fine. Raises IRError and BadMetric.
        """
        self.board, self.inputs, self.metric = board, [list(step) for step in inputs], metric
        self._names = archive_names([port_name(port) for port in (reference or board.model).outputs])
        self._held = held // 2
        self.layers_run = 0
        self.statistics: dict[Unit, Statistics] = {}
        self._whole_layers = max(1, len(board.computing))
        self._coarse = self._base(frozenset())
        self._fine = self._base(board.all_sites)
        expected = self._fine.results
        if reference is not None:
            compiled = CompiledModel(reference)
            expected = [list(compiled.infer_new_request(step).to_tuple()) for step in self.inputs]
        self._expected = [dict(zip(self._names, results, strict=True)) for results in expected]
        self.best = self._score(expected)
        self.fine, self.coarse = self._score(self._fine.results), self._score(self._coarse.results)

    @property
    def inferences(self) -> float:
        """The work so far, in inferences of the whole model."""
        return self.layers_run / self._whole_layers

    def measure_statistics(self, empty: dict[Unit, Statistics]) -> None:
        """Fill the statistics of units from the run in which every unit is fine."""
        self.statistics = empty
        for unit, found in empty.items():
            site = unit.sites[0]
            coarse, fine = self.board.constant(site.coarse), self.board.constant(site.fine)
            for held in self._fine.held:
                ours = fine if fine is not None else held.get(site.fine)
                theirs = coarse if coarse is not None else held.get(site.coarse)
                if ours is not None and theirs is not None and ours.dtype.kind not in "TUO":
                    found.add(ours, theirs)
                if fine is not None and coarse is not None:
                    break

    def effect(self, unit: Unit) -> Effect:
        """The effect of one unit. Raises IRError and BadMetric."""
        own = frozenset(unit.sites)
        return Effect(self._run(own, self._coarse), self._run(self.board.all_sites - own, self._fine))

    def fine_for(self, units: Iterable[Unit]) -> Score:
        """The score of the model in which these units are fine. Raises IRError and BadMetric."""
        return self._run(self.board.chosen(units), self._coarse)

    def recovered(self, score: Score) -> float:
        """The share of the loss of the coarse model that a model with this score does not have."""
        if self.metric.is_noise:
            if self.coarse.noise == 0:
                return 1.0
            if self.coarse.noise == float("inf"):
                return 0.0 if score.noise == float("inf") else 1.0
            return 1 - score.noise / self.coarse.noise
        loss = self.best.metric - self.coarse.metric
        return 1.0 if loss <= 0 else (score.metric - self.coarse.metric) / loss

    def _base(self, sites: frozenset[Site]) -> _Base:
        base = _Base(sites)
        whole, values = self.board.whole(sites, observed=True)
        count = len(self._names)
        size = 0
        for step in self.inputs:
            given = dict(zip(self.board.model.inputs, step, strict=True))
            found = whole.run(given, ())
            base.results.append(found[:count])
            size += sum(array.nbytes for array in found[count:])
            if size <= self._held or not base.held:
                base.held.append(dict(zip(values, found[count:], strict=True)) | given)
            self.layers_run += whole.layers
        return base

    def _run(self, sites: frozenset[Site], base: _Base) -> Score:
        part = self.board.part(sites, base.sites)
        results = []
        for known, before in zip(base.held, base.results, strict=False):
            results.append(part.run(known, before))
            self.layers_run += part.layers
        left = self.inputs[len(base.held) :]
        whole = self.board.whole(sites, observed=False)[0] if left else part
        for step in left:
            results.append(whole.run(dict(zip(self.board.model.inputs, step, strict=True)), ()))
            self.layers_run += whole.layers
        return self._score(results)

    def _score(self, results: Sequence[Sequence[Array]]) -> Score:
        found = [dict(zip(self._names, step, strict=True)) for step in results]
        return self.metric.score(self._expected, found)
