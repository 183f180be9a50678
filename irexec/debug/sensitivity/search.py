"""The search: units by their effect, what leaving out the first ones recovers, and a smallest set for a target."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from irexec.debug.sensitivity.measure import Effect, Trials
from irexec.debug.sensitivity.metrics import Score
from irexec.debug.sensitivity.switches import Unit

Progress = Callable[[int, int], None]
# Sets of up to so many units are made minimal by trying each unit.
_TRIED = 32
# Up to here every point of the curve is measured, then each is this factor further on.
_EACH = 8
_FACTOR = 1.5


@dataclass(frozen=True, slots=True)
class Target:
    """What to reach: a share of the loss, from 0 to 1, or a value of the metric."""

    value: float
    is_share: bool = True

    @classmethod
    def read(cls, text: str) -> Target:
        """`90%` of the loss, or `30`, a value of the metric. Raises ValueError."""
        is_share = text.endswith("%")
        try:
            value = float(text.removesuffix("%"))
        except ValueError:
            raise ValueError(f"{text!r} is neither a share such as 90% nor a value of the metric") from None
        if not math.isfinite(value) or (is_share and not 0 < value <= 100):
            raise ValueError(f"{text!r} is neither a share such as 90% nor a value of the metric")
        return cls(value / 100 if is_share else value, is_share)

    def is_met(self, trials: Trials, score: Score) -> bool:
        """Whether a model with this score is good enough."""
        return trials.recovered(score) >= self.value if self.is_share else score.metric >= self.value


@dataclass(frozen=True, slots=True)
class Point:
    """A point of the cumulative curve: the score when the first `count` units of the ranking are left out."""

    count: int
    score: Score


@dataclass(slots=True)
class Found:
    """The units in order of effect, the curve, and the smallest set, None where no set meets the target."""

    ranking: list[Unit]
    curve: list[Point]
    chosen: list[Unit] | None
    score: Score | None


def ranked(trials: Trials, effects: Mapping[Unit, Effect]) -> list[Unit]:
    """The units, most harmful first: by the metric, then by the noise.

    The harm is what leaving the unit out gains, and what it costs alone: noise of several units partly cancels, so
    neither of both says all.
    """

    def key(unit: Unit) -> tuple[float, float]:
        effect = effects[unit]
        gained = _less(trials.coarse.noise, effect.without.noise) + effect.alone.noise
        if trials.metric.is_noise:
            return (-gained, 0.0)
        better = _less(effect.without.metric, trials.coarse.metric) + _less(trials.fine.metric, effect.alone.metric)
        return (-better, -gained)

    return sorted(trials.board.units, key=key)


def _less(more: float, less: float) -> float:
    """The difference; of two infinities none."""
    return 0.0 if more == less else more - less


def search(trials: Trials, ranking: Sequence[Unit], target: Target, progress: Progress) -> Found:
    """Measure the curve up to the target, and find a set that meets it. Raises IRError and BadMetric."""
    found = Found([*ranking], [Point(0, trials.coarse)], None, None)
    known: dict[int, Score] = {0: trials.coarse}
    total = len(ranking)

    def score_of(count: int) -> Score:
        if count not in known:
            progress(len(known), total)
            known[count] = trials.fine_for(ranking[:count])
        return known[count]

    low, high = 0, 0
    while not target.is_met(trials, score_of(high)) and high < total:
        low, high = high, min(total, high + 1 if high < _EACH else math.ceil(high * _FACTOR))
    if target.is_met(trials, score_of(high)):
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if target.is_met(trials, score_of(middle)) else (middle, high)
        found.chosen = _smallest(trials, [*ranking[:high]], target, progress)
        found.score = trials.fine_for(found.chosen)
    score_of(min(total, high + 1))
    found.curve = [Point(count, known[count]) for count in sorted(known)]
    return found


def _smallest(trials: Trials, units: list[Unit], target: Target, progress: Progress) -> list[Unit]:
    """Without those of the units that the target does not need: none of what is left can be spared."""
    if len(units) > _TRIED:
        return units
    kept = list(units)
    for number, unit in enumerate(reversed(units)):
        progress(number, len(units))
        fewer = [other for other in kept if other is not unit]
        if target.is_met(trials, trials.fine_for(fewer)):
            kept = fewer
    return kept
