"""Recording selected values of a run; values in bodies are recorded in one iteration."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from irexec.core.diagnostics import IRError
from irexec.core.types import Array
from irexec.model.arrays.given import Origin
from irexec.model.arrays.units import slabs, squeezed
from irexec.model.graph.cut import constant_nodes
from irexec.model.graph.model import Model, Node, Value
from irexec.ops.spec.traits import Random
from irexec.runtime.engine import CompiledModel
from irexec.tools.run.run import ModelInput
from irexec.tools.run.spilled import Spill, Spilled

HELD_BYTES = 1 << 24
"""The size in bytes of the values that a run of irexec holds in memory at a time."""
_SPILLED_BYTES = 1 << 32
"""The size in bytes of further values, which a run writes to a temporary file."""


class Recorder:
    """A listener that keeps copies of the wanted values from run number `call`, counted from 0, of each layer."""

    def __init__(self, wanted: Collection[Value], call: int = 0) -> None:
        self.values: dict[Value, Array | Spilled] = {}
        self._wanted, self._call = set(wanted), call
        self._calls: dict[Node, int] = {}

    def before(self, node: Node, inputs: Sequence[Array | None]) -> None:
        number = self._calls[node] = self._calls.get(node, -1) + 1
        if number == self._call:
            for value, array in zip(node.inputs, inputs, strict=True):
                if value in self._wanted and array is not None:
                    self._keep(value, array)

    def after(self, node: Node, inputs: Sequence[Array | None], outputs: Sequence[Array], seconds: float) -> None:
        if self._calls[node] == self._call:
            for value, array in zip(node.outputs, outputs, strict=False):
                if value in self._wanted:
                    self._keep(value, array)

    def take(self) -> dict[Value, Array | Spilled]:
        """Return the values recorded since the last call; the next run is recorded from scratch."""
        kept, self.values, self._calls = self.values, {}, {}
        return kept

    def _keep(self, value: Value | None, array: Array) -> None:
        if value is not None and value not in self.values:
            self.values[value] = array.copy()


class _Holder(Recorder):
    """A listener that keeps copies of the wanted values: HELD_BYTES of them in memory, further ones in a file."""

    def __init__(self, wanted: Collection[Value]) -> None:
        super().__init__(wanted)
        self._left, self._spill = HELD_BYTES, Spill()
        self.is_complete = True
        """False if the file became too large, or could not be written."""

    def _keep(self, value: Value | None, array: Array) -> None:
        if value is None or value in self.values or not self.is_complete:
            return
        self._left -= array.nbytes
        if self._left >= 0:
            self.values[value] = array.copy()
            return
        try:
            self.values[value] = self._spill.write(array)
        except OSError:
            self.is_complete = False
        self.is_complete &= self._spill.size <= _SPILLED_BYTES


class CallRecorder:
    """A listener that keeps copies of the wanted values that layers read, for a range of their calls."""

    def __init__(self, wanted: Collection[Value], calls: range) -> None:
        self.values: list[dict[Value, Array]] = [{} for _ in calls]
        self._wanted, self._kept = set(wanted), calls
        self._calls: dict[Node, int] = {}

    def before(self, node: Node, inputs: Sequence[Array | None]) -> None:
        number = self._calls[node] = self._calls.get(node, -1) + 1
        if number not in self._kept:
            return
        found = self.values[number - self._kept.start]
        for value, array in zip(node.inputs, inputs, strict=True):
            if value in self._wanted and array is not None and value not in found:
                found[value] = array.copy()

    def after(self, node: Node, inputs: Sequence[Array | None], outputs: Sequence[Array], seconds: float) -> None:
        """Record the inputs of a layer, which exist before it runs."""


class Counter:
    """A listener that counts how often layers run."""

    def __init__(self) -> None:
        self.calls: dict[Node, int] = {}

    def before(self, node: Node, inputs: Sequence[Array | None]) -> None:
        self.calls[node] = self.calls.get(node, 0) + 1

    def after(self, node: Node, inputs: Sequence[Array | None], outputs: Sequence[Array], seconds: float) -> None:
        """Do nothing: the layer was counted before it ran."""


class Reference:
    """irexec's own run of a model, compiled once and run again whenever other values are requested.

    `steps` are the inputs of inferences that follow one another on one request. `chosen`: the names of the inputs for
    which irexec chose values.
    """

    def __init__(self, model: Model, steps: Sequence[Sequence[Array]], chosen: Sequence[str] = ()) -> None:
        self.model, self.steps, self.chosen = model, [list(step) for step in steps], chosen
        self._compiled = CompiledModel(model)
        self._results: list[list[Array]] | None = None
        self._holdable, self._held = frozenset[Value](), list[dict[Value, Array | Spilled]]()

    def hold(self) -> None:
        """Hold the values of the next run of `results`, in memory and in a temporary file, so that `record` needs no
        further run. Values of bodies and of models with random values are not held.
        """
        if not any(Random in n.traits for n in self.model.walk()):
            skipped = {*constant_nodes(self.model), *self.model.parameters}
            self._holdable = frozenset(v for n in self.model.nodes if n not in skipped for v in n.outputs)

    def results(self) -> list[list[Array]]:
        """Return the model's results, per step. Raises IRError."""
        if self._results is None:
            holder = _Holder(self._holdable)
            request = self._compiled.create_infer_request([holder] if self._holdable else [])
            found, held = [], []
            for step in self.steps:
                found.append(list(request.infer(step).to_tuple()))
                held.append(holder.take())
            self._results, self._held = found, held if holder.is_complete and self._holdable else []
        return self._results

    def record(
        self, wanted: Collection[Value], call: int = 0, *, up_to_error: bool = False
    ) -> list[dict[Value, Array]]:
        """Return the wanted values, per step; values that no layer computed or read are omitted. Raises IRError; with
        `up_to_error` the values up to the error are returned instead.
        """
        if call == 0 and self._held and self._holdable.union(self.model.inputs).issuperset(wanted):
            return [self._recorded(*pair, wanted) for pair in zip(self.steps, self._held, strict=True)]
        found = []
        recorder = Recorder(wanted, call)
        request = self._compiled.create_infer_request([recorder])
        for step in self.steps:
            failed = False
            try:
                request.infer(step)
            except IRError:
                if not up_to_error:
                    raise
                failed = True
            found.append(self._recorded(step, recorder.take(), wanted))
            if failed:
                break
        return found

    def _recorded(
        self, step: Sequence[Array], made: Mapping[Value, Array | Spilled], wanted: Collection[Value]
    ) -> dict[Value, Array]:
        """Return the wanted values of a step. `made`: values of its layers."""
        found = {value: array for value in wanted if (array := known_value(value)) is not None}
        found |= {value: array for value, array in zip(self.model.inputs, step, strict=True) if value in wanted}
        for value in wanted:
            if (kept := made.get(value)) is not None:
                found[value] = kept.read() if isinstance(kept, Spilled) else kept
        return found

    def record_calls(self, wanted: Collection[Value], calls: range) -> list[dict[Value, Array]]:
        """Return the wanted values that layers read in the first step, for each of these calls. Raises IRError."""
        recorder = CallRecorder(wanted, calls)
        self._compiled.create_infer_request([recorder]).infer(self.steps[0])
        return recorder.values

    def count(self) -> dict[Node, int]:
        """Return how often each layer, including layers of bodies, runs in the first step. Raises IRError."""
        counter = Counter()
        self._compiled.create_infer_request([counter]).infer(self.steps[0])
        return counter.calls


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
