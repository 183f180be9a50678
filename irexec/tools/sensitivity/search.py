"""The search: units ordered by their effect, and a small set of layers whose exclusion meets a target."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from irexec.core.arguments import expected
from irexec.core.diagnostics import WrongArgument
from irexec.core.types import Array
from irexec.tools.sensitivity.measure import Choice, Effect, Trials
from irexec.tools.sensitivity.metrics import NEGLIGIBLE, Score, decibels
from irexec.tools.sensitivity.superposition import predicted
from irexec.tools.sensitivity.switches import Unit
from irexec.tools.status import Progress

# The size up to which a set of layers is made minimal by trying to remove each layer.
_TRIED = 64
# The number of points at the start of the curve that are all measured.
_EACH = 8
# The factor between neighbouring points of the rest of the curve, and the number of sets that are measured together.
_FACTOR = 1.5
_TOGETHER = 16


@dataclass(frozen=True, slots=True)
class Target:
    """The target: a share of the loss to recover, from 0 to 1, or a value of the metric. A negligible loss meets the
    target for any share.
    """

    value: float
    is_share: bool = True

    @classmethod
    def read(cls, text: str) -> Target:
        """Return the target of a text: `90%` of the loss, or `30`, a value of the metric. Raises WrongArgument."""
        is_share = expected(text, str, "target").endswith("%")
        try:
            value = float(text.removesuffix("%"))
        except ValueError:
            raise WrongArgument(f"{text!r} is neither a share such as 90% nor a value of the metric") from None
        if not math.isfinite(value) or (is_share and not 0 < value <= 100):
            raise WrongArgument(f"{text!r} is neither a share such as 90% nor a value of the metric")
        return cls(value / 100 if is_share else value, is_share)

    def is_met(self, trials: Trials, score: Score) -> bool:
        """Return whether a model with this score is good enough."""
        if not self.is_share:
            return score.metric >= self.value
        loss = trials.coarse
        is_negligible = loss.snr >= NEGLIGIBLE and (trials.metric.is_noise or loss.metric >= trials.fine.metric)
        return is_negligible or trials.recovered(score) >= self.value


@dataclass(frozen=True, slots=True)
class Point:
    """A point of the cumulative curve: the score when these layers are excluded."""

    layers: list[str]
    score: Score


@dataclass(slots=True)
class Found:
    """The result of a search: the effect of excluding each group of layers alone, the curve, and a small set of
    layers whose exclusion meets the target, or None if no set was found.
    """

    single: list[Point]
    curve: list[Point]
    layers: list[str] | None
    score: Score | None


def ranked(trials: Trials, effects: Mapping[Unit, Effect]) -> list[Unit]:
    """Return the units, most harmful first: by the metric, then by the noise.

    The harm combines the gain of leaving the unit out and the loss by the unit alone: the noise of several units partly
    cancels, so neither number is enough.
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
    """Return the difference of two scores, 0 for equal infinities."""
    return 0.0 if more == less else more - less


def search(trials: Trials, effects: Mapping[Unit, Effect], target: Target, progress: Progress) -> Found:
    """Find a small set of layers whose exclusion meets the target. Raises IRError and BadMetric.

    Layers are added one by one, each time the layer with the largest additional gain: with the metric
    `snr`, gains follow from the sum of the errors of single layers; otherwise each layer's gain alone counts. These
    sets are measured, and layers that the target does not need are dropped from the first set that meets it. The score
    of the set is measured by running its model alone.
    """
    return _Search(trials, effects, target, progress).found()


class _Search:
    """The sets of layers that were measured, and their scores."""

    def __init__(self, trials: Trials, effects: Mapping[Unit, Effect], target: Target, progress: Progress) -> None:
        self.trials, self.target, self.progress = trials, target, progress
        self.groups = trials.board.groups
        self.scores: dict[frozenset[str], Score] = {frozenset(): trials.coarse}
        self.alone = {frozenset(unit.sites): effect.alone.noise for unit, effect in effects.items()}
        # The effect of excluding layers is known already if it leaves out one unit and nothing else.
        known = {frozenset(unit.sites): effect.without for unit, effect in effects.items()}
        for group in self.groups:
            if (score := known.get(trials.board.excluding(group))) is not None:
                self.scores[group] = score

    def found(self) -> Found:
        order, expected = self._order()
        sets = [frozenset[str]().union(*order[:count]) for count in range(len(order) + 1)]
        reached = self._reached(sets, expected)
        chosen = score = None
        if reached is not None:
            fewest = self._fewest(sets[reached])
            chosen, score = sorted(fewest), self._proven(fewest)
            if not self._is_met(score):
                chosen, score = sorted(sets[reached]), self._proven(sets[reached])
            if not self._is_met(score):
                chosen = score = None
        curve = [Point(sorted(layers), self.scores[layers]) for layers in dict.fromkeys(sets) if layers in self.scores]
        single = [Point(sorted(group), self.scores[group]) for group in self.groups]
        return Found(single, curve, chosen, score)

    def _order(self) -> tuple[list[frozenset[str]], int | None]:
        """Return the groups, the most effective first, and the number of groups that is expected to meet the target. If
        single groups meet the target, the smallest of them is first.
        """
        self._measure(self.groups)
        left = sorted(self.groups, key=lambda group: (self._loss(group), -self._harm(group)))
        alone = [group for group in left if self._is_met(self.scores[group])]
        if alone and not self._is_met(self.trials.coarse):
            left.insert(0, left.pop(left.index(min(alone, key=len))))
            return left, 1
        if not self.trials.metric.is_noise:
            return left, None
        found = predicted(*self._errors(left))
        if found is None:
            return left, None
        scores = [Score(noise, decibels(noise)) for noise in found.left]
        return found.order, next((count for count, score in enumerate(scores) if self._is_met(score)), None)

    def _errors(self, groups: Sequence[frozenset[str]]) -> tuple[Array, dict[frozenset[str], Array]]:
        """Return sketches of the error that all units cause together, and of each group's part of it."""
        errors, sites = self.trials.errors, {group: self.trials.board.excluding(group) for group in groups}
        causes = [*dict.fromkeys([*self.alone, *sites.values()])]
        self.trials.scores([Choice(cause, from_fine=True) for cause in causes if cause not in errors])
        with np.errstate(invalid="ignore"):
            parts = {group: errors[sites[group]] - errors[()] for group in groups}
            return errors[()] + sum(errors[unit] - errors[()] for unit in self.alone), parts

    def _harm(self, group: frozenset[str]) -> float:
        """Return the sum of the errors that the units of a group cause when each is coarse alone."""
        sites = self.trials.board.excluding(group)
        return sum(noise for unit, noise in self.alone.items() if unit <= sites)

    def _reached(self, sets: list[frozenset[str]], expected: int | None) -> int | None:
        """Return the smallest number of groups, from the first in the order on, that meets the target. Many numbers are
        measured in one pass, together with the sets that lack one layer of the expected set.
        """
        low, high = 0, len(sets) - 1
        tried = {0, *_further(0, high)}
        smaller: list[frozenset[str]] = []
        if expected is not None:
            tried |= {max(0, expected - 1), expected, min(expected + 1, high)}
            smaller = _fewer(sets[expected]) if len(sets[expected]) <= _TOGETHER else []
        while True:
            self._measure([*(sets[count] for count in sorted(tried)), *smaller])
            met = next((count for count in sorted(tried) if self._is_met(self.scores[sets[count]])), None)
            if met is None:
                return None
            low, high = max((count for count in tried if count < met), default=met), met
            if high - low <= 1:
                return high
            tried, smaller = {*np.linspace(low, high, _TOGETHER + 2).astype(int).tolist()}, []

    def _fewest(self, layers: frozenset[str]) -> frozenset[str]:
        """Return the set after removing layers one by one, each time the layer whose removal costs least, as long as
        the target is met.
        """
        while 1 < len(layers) <= _TRIED:
            fewer = _fewer(layers)
            self._measure(fewer)
            best = min(fewer, key=self._loss)
            if not self._is_met(self.scores[best]):
                break
            layers = best
        return layers

    # Scores

    def _is_met(self, score: Score) -> bool:
        return self.target.is_met(self.trials, score)

    def _loss(self, layers: frozenset[str]) -> tuple[float, float, int]:
        score = self.scores[layers]
        return (score.noise if self.trials.metric.is_noise else -score.metric, score.noise, len(layers))

    def _proven(self, layers: frozenset[str]) -> Score:
        self.scores[layers] = self.trials.proven(Choice(self.trials.board.excluding(layers)))
        return self.scores[layers]

    def _measure(self, sets: Sequence[frozenset[str]]) -> None:
        new = [layers for layers in dict.fromkeys(sets) if layers not in self.scores]
        self.progress(len(self.scores), len(self.scores) + len(new))
        choices = [Choice(self.trials.board.excluding(layers)) for layers in new]
        self.scores |= zip(new, self.trials.scores(choices), strict=True)


def _fewer(layers: frozenset[str]) -> list[frozenset[str]]:
    """Return the sets that remain when one of the layers is removed."""
    return [layers - {name} for name in sorted(layers)] if len(layers) > 1 else []


def _further(count: int, end: int) -> list[int]:
    """Return the points of the curve after `count`, up to `end`; the first points are consecutive."""
    found = []
    while count < end:
        count = min(end, count + 1 if count < _EACH else math.ceil(count * _FACTOR))
        found.append(count)
    return found
