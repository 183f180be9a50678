"""Measuring: the effect of units on the results, many of them in one pass over the layers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from irexec.core.types import Array
from irexec.model.arrays.saving import archive_names
from irexec.model.graph.model import Model, Value
from irexec.model.graph.ports import port_name
from irexec.runtime.engine import CompiledModel
from irexec.tools.sensitivity.lanes import Lane, Pass, Watch
from irexec.tools.sensitivity.metrics import ROUNDING, Metric, Results, Score
from irexec.tools.sensitivity.rows import Rows
from irexec.tools.sensitivity.statistics import Statistics
from irexec.tools.sensitivity.superposition import Sketches
from irexec.tools.sensitivity.switches import Board, Site, Unit

# The approximate memory for the values of all lanes of a pass, and the largest number of lanes in a pass.
LANES_BYTES = 256 << 20
MOST_LANES = 512
# The approximate number of values that are needed at the same time.
_ALIVE = 4


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


class _Seen:
    """A listener that adds the fine and the coarse value of units to their statistics when both are known.

    `units`: the units by their fine and coarse values.
    """

    def __init__(self, statistics: dict[Unit, Statistics], units: Sequence[Unit]) -> None:
        self.units: dict[Value, list[Unit]] = {}
        self._statistics, self._first = statistics, dict[Unit, Array]()
        for unit in units:
            for value in (unit.sites[0].fine, unit.sites[0].coarse):
                self.units.setdefault(value, []).append(unit)

    def __call__(self, value: Value, rows: Rows) -> None:
        for unit in self.units[value]:
            if unit not in self._first:
                self._first[unit] = rows.first
                continue
            pair = self._first.pop(unit), rows.first
            fine, coarse = pair[::-1] if value is unit.sites[0].fine else pair
            if fine.dtype.kind not in "TUO":
                self._statistics[unit].add(fine, coarse)


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
        memory: int = LANES_BYTES,
    ) -> None:
        """`statistics` of the units are filled from runs in which every unit is fine.

        `reference`: the model with the expected results, which takes the same inputs; by default the board's model
        with every unit fine. `memory`: bytes for the values of a pass. Raises IRError and BadMetric.
        """
        self.board, self.inputs, self.metric = board, [list(step) for step in inputs], metric
        self._names = archive_names([port_name(port) for port in (reference or board.model).outputs])
        self.layers_run = 0
        self.statistics = statistics
        self._largest = 1
        self._memory = memory
        fine = [self._observed(step) for step in range(len(self.inputs))]
        expected = fine
        if reference is not None:
            compiled = CompiledModel(reference)
            expected = [list(compiled.infer_new_request(step).to_tuple()) for step in self.inputs]
        self._expected = [dict(zip(self._names, results, strict=True)) for results in expected]
        coarse = self._alone(Choice())
        self.best, self.fine, self.coarse = (self._score(results) for results in (expected, fine, coarse))
        self._sketches = Sketches(self._expected)
        self.errors: dict[Collection[Site], Array] = {(): self._sketches(self._named(fine))}

    @property
    def inferences(self) -> float:
        """The work so far, in inferences of the whole model."""
        return self.layers_run / max(1, len(self.board.computing))

    def effects(self, units: Sequence[Unit]) -> list[Effect]:
        """Return the effect of each unit. Raises IRError and BadMetric."""
        without = [Choice(frozenset(unit.sites)) for unit in units]
        alone = [Choice(choice.changed, from_fine=True) for choice in without]
        scores = self.scores([*without, *alone])
        return [Effect(*pair) for pair in zip(scores[: len(units)], scores[len(units) :], strict=True)]

    def scores(self, choices: Sequence[Choice]) -> list[Score]:
        """Return the score of each choice; common values of choices are computed once. Raises IRError and
        BadMetric.

        Sketches of the errors of choices `from_fine` are kept.
        """
        found = []
        for choice, results in zip(choices, self._together(choices), strict=True):
            found.append(self._score(results))
            if choice.from_fine:
                self.errors[choice.changed] = self._sketches(self._named(results))
        return found

    def proven(self, choice: Choice) -> Score:
        """Return the score of a choice, measured by running its model alone. Raises IRError and BadMetric."""
        return self._score(self._alone(choice))

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

    @property
    def lanes_at_once(self) -> int:
        """The number of lanes of a pass."""
        return max(1, min(MOST_LANES, self._memory // (_ALIVE * self._largest)))

    def _observed(self, step: int) -> list[Array]:
        """Return the results with every unit fine, and update the statistics; those of constants only for input 0."""
        given = self.board.is_given
        seen = _Seen(self.statistics, [u for u in self.statistics if not step or not given(u.sites[0].fine.node)])
        return self._pass([Lane(step, (), True)], seen.units, seen)[0]

    def _alone(self, choice: Choice) -> list[list[Array]]:
        return [self._pass([Lane(k, choice.changed, choice.from_fine)])[0] for k in range(len(self.inputs))]

    def _together(self, choices: Sequence[Choice]) -> Iterator[list[list[Array]]]:
        """Yield the results of each choice on all inputs."""
        count = len(self.inputs)
        lanes = [Lane(k, choice.changed, choice.from_fine) for choice in choices for k in range(count)]
        many = self.lanes_at_once
        if many >= count:
            many -= many % count
        results: list[list[Array]] = []
        for begin in range(0, len(lanes), many):
            results += self._pass(lanes[begin : begin + many])
            while len(results) >= count:
                yield results[:count]
                del results[:count]

    def _pass(
        self, lanes: Sequence[Lane], watched: Collection[Value] = (), watch: Watch | None = None
    ) -> list[list[Array]]:
        made = Pass(self.board, lanes, watched, watch)
        results = made.run(self.inputs)
        self.layers_run += made.layers_run
        self._largest = max(self._largest, made.largest)
        return results

    def _score(self, results: Sequence[Sequence[Array]]) -> Score:
        return self.metric.score(self._expected, self._named(results))

    def _named(self, results: Sequence[Sequence[Array]]) -> Results:
        return [dict(zip(self._names, step, strict=True)) for step in results]
