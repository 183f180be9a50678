"""Measuring: the effect of units on the results. What a choice does not reach is not run again."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from irexec.core.diagnostics import IRError
from irexec.core.types import Array
from irexec.model.arrays.saving import archive_names
from irexec.model.graph.model import Model
from irexec.model.graph.ports import port_name
from irexec.runtime.engine import CompiledModel
from irexec.runtime.engine.run import Run
from irexec.tools.compare.errors import measure
from irexec.tools.sensitivity.metrics import ROUNDING, Metric, Results, Score
from irexec.tools.sensitivity.statistics import Statistics
from irexec.tools.sensitivity.superposition import Sketches
from irexec.tools.sensitivity.switches import Board, Site, Switched, Unit

_INDEPENDENT = 1e-3
"""The relative difference of results in a batch from those of single inputs, whose sums are rounded differently."""


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of a unit. `without`: the score if it is fine and all others coarse; `alone`: in the reverse case."""

    without: Score
    alone: Score


@dataclass(frozen=True, slots=True)
class Choice:
    """The sites of `changed` are fine and all others coarse; with `from_fine`, the reverse."""

    changed: Collection[Site] = ()
    from_fine: bool = False


class Trials:
    """Runs of the model of a board on many inputs, with the expected results."""

    def __init__(
        self,
        board: Board,
        inputs: Sequence[Sequence[Array]],
        metric: Metric,
        statistics: dict[Unit, Statistics],
        *,
        reference: Model | None = None,
    ) -> None:
        """`statistics` of the units are filled from runs in which every unit is fine.

        `reference`: the model with the expected results, which takes the same inputs; by default the board's model
        with every unit fine. Raises IRError and BadMetric.
        """
        self.board, self.inputs, self.metric = board, [list(step) for step in inputs], metric
        self._names = archive_names([port_name(port) for port in (reference or board.model).outputs])
        self.layers_run = 0
        self.statistics = statistics
        self._switched = Switched(board)
        self._run = Run(self._switched.model)
        self.steps = self._together()
        self._steps = [[self._switched.inputs(step, is_fine) for step in self.steps] for is_fine in (False, True)]
        coarse, fine = (self._apart(self._run.hold(some)) for some in self._steps)
        self.layers_run += 2 * len(self.steps) * len(self._switched.computing)
        self._observe()
        expected = fine
        if reference is not None:
            expected = self._results(reference)
        self._expected = [dict(zip(self._names, results, strict=True)) for results in expected]
        self.best, self.fine, self.coarse = (self._score(results) for results in (expected, fine, coarse))
        self._sketches = Sketches(self._expected)
        self.errors: dict[Collection[Site], Array] = {(): self._sketches(self._named(fine))}

    @property
    def inferences(self) -> float:
        """The work so far, in inferences of the whole model."""
        return self.layers_run / max(1, len(self._switched.computing))

    def effects(self, units: Sequence[Unit]) -> list[Effect]:
        """Return the effect of each unit. Raises IRError and BadMetric."""
        without = [Choice(frozenset(unit.sites)) for unit in units]
        alone = [Choice(choice.changed, from_fine=True) for choice in without]
        scores = self.scores([*without, *alone])
        return [Effect(*pair) for pair in zip(scores[: len(units)], scores[len(units) :], strict=True)]

    def scores(self, choices: Sequence[Choice]) -> list[Score]:
        """Return the score of each choice. Raises IRError and BadMetric.

        Sketches of the errors of choices `from_fine` are kept.
        """
        return [*map(self._scored, choices)]

    def proven(self, choice: Choice) -> Score:
        """Return the score of a choice, measured by running its model alone. Raises IRError and BadMetric."""
        sites = {*self.board.sites.values()} - {*choice.changed} if choice.from_fine else choice.changed
        self.layers_run += len(self.inputs) * len(self._switched.computing)
        return self._score(self._results(self.board.wired(sites)))

    def recovered(self, score: Score) -> float:
        """Return the share of the coarse model's loss that a model with this score avoids. The noise of rounding is no
        loss.
        """
        if self.metric.is_noise:
            if self.coarse.noise == 0:
                return 1.0
            if self.coarse.noise == float("inf"):
                return 0.0 if score.noise == float("inf") else 1.0
            return 1.0 if score.snr > ROUNDING else 1 - score.noise / self.coarse.noise
        loss = self.best.metric - self.coarse.metric
        return 1.0 if loss <= 0 else (score.metric - self.coarse.metric) / loss

    def _together(self) -> list[list[Array]]:
        """Return the inputs as one inference if the model has a batch, whose elements do not depend on each other."""
        model = self.board.model
        ends = [value.type.shape for value in (*model.inputs, *model.outputs)]
        has_batch = all(shape.rank and shape.dims[0].is_dynamic for shape in ends)
        if len(self.inputs) == 1 or not has_batch or len({tuple(a.shape for a in step) for step in self.inputs}) > 1:
            return self.inputs
        made = [[np.concatenate(arrays) for arrays in zip(*self.inputs, strict=True)]]
        fine = self.board.wired(self.board.sites.values())
        try:
            alone, several = self._results(fine), self._apart(self._results(fine, made))
        except (IRError, ValueError):
            return self.inputs
        pairs = [pair for step in zip(alone, several, strict=True) for pair in zip(*step, strict=True)]
        return made if all(measure(*pair).relative <= _INDEPENDENT for pair in pairs) else self.inputs

    def _apart(self, results: list[list[Array]]) -> list[list[Array]]:
        """Return the results for each input."""
        count = len(self.inputs)
        if len(results) == count:
            return results
        return [[*some] for some in zip(*(np.split(array, count) for array in results[0]), strict=True)]

    def _observe(self) -> None:
        """Update the statistics with the values of every unit if all are fine; those of constants only once."""
        pairs = self._switched.pairs
        for unit, known in self.statistics.items():
            site = unit.sites[0]
            if site not in pairs:
                coarse, fine = self._switched.arrays[site]
                known.add(fine, coarse)
                continue
            for outcome in self._run(self._steps[True], see=pairs[site]):
                coarse, fine = map(outcome.seen.__getitem__, pairs[site])
                if fine.dtype.kind not in "TUO":
                    known.add(fine, coarse)

    def _results(self, model: Model, steps: Sequence[Sequence[Array]] | None = None) -> list[list[Array]]:
        """Return the results of a model for each input; variables have their first values."""
        compiled = CompiledModel(model)
        return [[*compiled.infer_new_request([*step]).to_tuple()] for step in steps or self.inputs]

    def _scored(self, choice: Choice) -> Score:
        change = self._switched.change(choice.changed, not choice.from_fine)
        outcomes = self._run(self._steps[choice.from_fine], change=change)
        self.layers_run += sum(len(outcome.counts.keys() & self._switched.computing) for outcome in outcomes)
        results = self._apart([outcome.results for outcome in outcomes])
        if choice.from_fine:
            self.errors[choice.changed] = self._sketches(self._named(results))
        return self._score(results)

    def _score(self, results: Sequence[Sequence[Array]]) -> Score:
        return self.metric.score(self._expected, self._named(results))

    def _named(self, results: Sequence[Sequence[Array]]) -> Results:
        return [dict(zip(self._names, step, strict=True)) for step in results]
