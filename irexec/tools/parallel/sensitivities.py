"""Sensitivity in many processes: the effect of each quantizer, or layer."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from irexec.core.diagnostics import IRError
from irexec.core.diagnostics.findings import Findings
from irexec.core.types import Array
from irexec.frontends.reading import for_running, read
from irexec.ir.io.files import named_files
from irexec.model.graph.model import Model
from irexec.tools.parallel.inputs import SUFFIXES, OnInputs, inputs_of, model_files, option_files
from irexec.tools.parallel.task import PathLike, state
from irexec.tools.sensitivity.analysis import PRECISIONS, part, trials_of
from irexec.tools.sensitivity.measure import Effect, Trials
from irexec.tools.sensitivity.metrics import Score


@dataclass(frozen=True, slots=True)
class UnitEffects:
    """The effects of some units (quantizers or layers): noise and metric without each unit, and without all other
    units.
    """

    scores: tuple[tuple[float, float, float, float], ...]

    @property
    def effects(self) -> list[Effect]:
        """The effects, one for each unit."""
        return [Effect(Score(*row[:2]), Score(*row[2:])) for row in self.scores]


@dataclass(frozen=True)
class MeasureUnits(OnInputs[UnitEffects]):
    """Measure the units (quantizers or layers) of the block that the item names, such as `2/10`. `other`: the quantized
    model, or one of PRECISIONS.

    `samples`: a folder or batch of inputs, or None for one run.
    """

    words = (UnitEffects,)

    other: str
    metric: str
    samples: str | None = None

    def __call__(self, item: str) -> UnitEffects:
        trials = self.trials()
        number, count = map(int, item.split("/"))
        found = trials.effects(part(trials, number, count))
        return UnitEffects(tuple((e.without.noise, e.without.metric, e.alone.noise, e.alone.metric) for e in found))

    def files(self, item: str) -> list[PathLike]:
        named = [*model_files(self.model, self.weights), *option_files(self.inputs)]
        if self.other not in PRECISIONS:
            named += model_files(self.other, None)
        if self.samples is not None:
            named += named_files([self.samples], SUFFIXES) if os.path.isdir(self.samples) else [self.samples]
        metric = self.metric.rpartition(":")[0]
        return [*named, metric] if metric else named

    def trials(self) -> Trials:
        """Return the trials, made once in each process for as long as the files stay the same. Raises IRError and
        ValueError."""
        return _trials(self, *self._states())

    def _states(self) -> Iterator[tuple[int, ...]]:
        for path in self.files(""):
            try:
                yield state(path)
            except (OSError, ValueError):
                yield ()


@lru_cache(maxsize=1)
def _trials(task: MeasureUnits, *_states: tuple[int, ...]) -> Trials:
    model = _read(task.model, task.weights)
    other = task.other if task.other in PRECISIONS else _read(task.other, None)
    return trials_of(model, other, _steps(task, model), task.metric)


def _read(path: str, weights: str | None) -> Model:
    reading = for_running(read(path, weights))
    if reading.model is None or not reading.report.ok:
        raise IRError(reading.report)
    return reading.model


def _steps(task: MeasureUnits, model: Model) -> list[list[Array]]:
    findings = Findings(file=task.model)
    items = [None] if task.samples is None else inputs_of(task.samples, findings)[1]
    if not findings.report.ok:
        raise IRError(findings.report)
    return [[entry.array for entry in task.entries(item, model) if entry.array is not None] for item in items]
