"""Remedies for overflow in f16, each proven by running the changed model on the same inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from irexec.core.types import Array, ElementType
from irexec.model.graph.model import Model
from irexec.runtime.engine import CompiledModel
from irexec.tools.compare.errors import measure
from irexec.tools.run.record import Reference
from irexec.tools.sensitivity.lanes import Lane, Pass
from irexec.tools.sensitivity.metrics import Metric, Score, metric_named
from irexec.tools.sensitivity.precision import limit_of, magnitudes
from irexec.tools.sensitivity.rescale import CannotRescale, rescaled
from irexec.tools.sensitivity.rounding import rounding_board


class NoRemedy(ValueError):
    """Raised if rescaling cannot remove the overflow."""


@dataclass(slots=True)
class Rescaling:
    """A model with smaller values. `powers`: the power of two by which each layer's result is divided. `score`: the
    score in the other precision. `difference`: the largest error of the results in f32, in units in the last place."""

    model: Model
    powers: dict[str, int]
    score: Score
    difference: float

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {"powers": self.powers, "snr": self.score.snr, "difference": self.difference}


def rescaling(
    model: Model, kind: ElementType, inputs: Sequence[Sequence[Array]], metric: Metric | None = None
) -> Rescaling:
    """Return the model rescaled by powers of two, and its score in the other precision. Raises NoRemedy and IRError."""
    layers = magnitudes(Reference(model, inputs), kind)
    try:
        made, powers = rescaled(model, {row.node: row.largest for row in layers}, limit_of(kind))
    except CannotRescale as error:
        raise NoRemedy(str(error)) from None
    if not powers:
        raise NoRemedy("no result of a layer overflows")
    expected, found, coarse = _results(model, inputs), _results(made, inputs), _simulated(made, kind, inputs)
    difference = max(
        measure(ours[name], theirs[name]).ulp for ours, theirs in zip(expected, found, strict=True) for name in ours
    )
    score = (metric or metric_named("snr")).score(expected, coarse)
    if not np.isfinite(score.noise):
        raise NoRemedy("the rescaled model overflows as well")
    return Rescaling(made, powers, score, difference)


def _results(model: Model, inputs: Sequence[Sequence[Array]]) -> list[dict[str, Array]]:
    compiled = CompiledModel(model)
    return [_named(compiled.infer_new_request(list(step)).to_tuple()) for step in inputs]


def _simulated(model: Model, kind: ElementType, inputs: Sequence[Sequence[Array]]) -> list[dict[str, Array]]:
    board = rounding_board(model, kind)
    return [_named(Pass(board, [Lane(0)]).run([step])[0]) for step in inputs]


def _named(results: Sequence[Array]) -> dict[str, Array]:
    return {str(number): array for number, array in enumerate(results)}
