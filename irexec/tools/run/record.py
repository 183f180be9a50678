"""irexec's own run of a model, whose values are recorded or changed; those in bodies are recorded in one iteration."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from irexec.core.types import Array
from irexec.model.arrays.given import Origin
from irexec.model.arrays.units import slabs, squeezed
from irexec.model.graph.model import Model, Node, Value
from irexec.runtime.engine.run import Run
from irexec.runtime.engine.runner import Moves
from irexec.tools.run.run import ModelInput


class Reference:
    """irexec's own run of a model, compiled once and run again whenever other values are requested.

    `steps` are the inputs of inferences that follow one another on one request. `chosen`: the names of the inputs for
    which irexec chose values.
    """

    def __init__(self, model: Model, steps: Sequence[Sequence[Array]], chosen: Sequence[str] = ()) -> None:
        self.model, self.steps, self.chosen = model, [list(step) for step in steps], chosen
        self.run = Run(model)
        self._results: list[list[Array]] | None = None
        self._holds = False

    def hold(self) -> None:
        """Hold the values of the next run of `results`, so that `record` needs no further run, and `changed` only runs
        the layers that a change reaches.
        """
        self._holds = True

    def results(self) -> list[list[Array]]:
        """Return the model's results, per step. Raises IRError."""
        if self._results is None:
            run = self.run
            self._results = run.hold(self.steps) if self._holds else [made.results for made in run(self.steps)]
        return self._results

    def changed(self, change: Moves | Sequence[Moves]) -> list[list[Array]]:
        """Return the results with other values in place of some, per step. Raises IRError."""
        return [made.results for made in self.run(self.steps, change=change)]

    def record(
        self, wanted: Collection[Value], call: int = 0, *, up_to_error: bool = False
    ) -> list[dict[Value, Array]]:
        """Return the wanted values, per step; values that no layer computed or read are omitted. Raises IRError; with
        `up_to_error` the values up to the error are returned instead.
        """
        known = {value: array for value in wanted if (array := known_value(value)) is not None}
        outcomes = self.run(self.steps, see=wanted, calls=range(call, call + 1), up_to_error=up_to_error)
        return [known | outcome.seen for outcome in outcomes]

    def record_calls(self, wanted: Collection[Value], calls: range) -> list[dict[Value, Array]]:
        """Return the wanted values of the first step, for each of these calls. Raises IRError."""
        return self.run(self.steps[:1], see=wanted, calls=calls)[0].calls

    def count(self) -> dict[Node, int]:
        """Return how often each layer, including layers of bodies, runs in the first step. Raises IRError."""
        return self.run(self.steps[:1])[0].counts


def run_with(model: Model, steps: Sequence[Sequence[ModelInput]]) -> Reference:
    """Return irexec's run of a model with the inputs of each step."""
    chosen = dict.fromkeys(entry.name for step in steps for entry in step if entry.origin is Origin.DRAWN)
    arrays = [[entry.array for entry in step if entry.array is not None] for step in steps]
    return Reference(model, arrays, tuple(chosen))


def known_value(value: Value) -> Array | None:
    """Return the array that type inference determined, without running layers; None if it is unknown."""
    known = value.type.value
    return known if known is not None and known.dtype == value.element_type.dtype else None


def same(a: Any, b: Any) -> bool:
    """Return True for arrays of the same type, shape and bits, NaN included."""
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind in "TUO":
        return bool(np.array_equal(a, b))
    one, two = squeezed(a), squeezed(b)
    return all(one[rows].tobytes() == two[rows].tobytes() for rows in slabs(one))
