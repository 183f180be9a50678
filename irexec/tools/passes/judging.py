"""Judging passes: every graph is run by the kernels and compared with the graph before it."""

from __future__ import annotations

import numpy as np

from irexec.core.diagnostics import IRError
from irexec.core.types import F32, I64, Array, ElementType
from irexec.frontends.reading import read
from irexec.ir.weights.file import Weights
from irexec.model.arrays.brief import abridged
from irexec.model.graph.model import Model
from irexec.model.graph.ports import port_name
from irexec.ops.compute.casting import cast
from irexec.tools.compare.compare import compare
from irexec.tools.compare.errors import NONE, Error, measure
from irexec.tools.compare.noise import Noise
from irexec.tools.compare.numbers import FUSED
from irexec.tools.compare.rounding import Rounding
from irexec.tools.compare.runtimes.runtime import CannotRun, OtherModel, Runtime
from irexec.tools.compare.variants import decompressed
from irexec.tools.diff.diff import diff
from irexec.tools.passes.dumps import Dump
from irexec.tools.passes.layouts import set_time_first, with_time_first
from irexec.tools.passes.levels import are_moved
from irexec.tools.passes.result import Kernels, Outcome, Pass
from irexec.tools.passes.types import Types
from irexec.tools.passes.words import words
from irexec.tools.run.record import Reference

Results = list[list[Array]]
_OF_F32 = 64.0
"""The difference in units of f32 up to which a graph in f32 computes the results of one in f64."""


class Judge:
    """Compares each graph with the one before it, beginning with the model itself."""

    def __init__(self, reference: Reference) -> None:
        self._reference, self._model, self._steps = reference, reference.model, reference.steps
        self._first = self._results = reference.results()
        self._last = reference.model
        self._is_wrong = False
        self._time_first: set[str] = set()

    def is_of_model(self, model: Model) -> bool:
        """Return whether a graph has the inputs and outputs of the model, and is not that of a body."""
        names = [[node.friendly_name for node in (*one.parameters, *one.results)] for one in (model, self._model)]
        return names[0] == names[1]

    def judge(self, dump: Dump, model: Model, reason: str) -> Pass:
        """Return the verdict about a pass. `model`: its graph; `reason`: why irexec cannot run it, or empty."""
        if reason:
            return Pass(dump.number, dump.name, "unknown", reason=reason)
        changes = diff(self._last, model)
        change = words(changes, self._last, model)
        self._time_first.update(with_time_first(self._last, model))
        set_time_first(model, self._time_first)
        try:
            found = self._run(model)
        except IRError as failure:
            return Pass(dump.number, dump.name, "unknown", reason=_reason(failure), changes=changes, change=change)
        error, output = self._difference(self._results, found)
        outcome, reason = self._outcome(model, error, found)
        restored = False
        if self._is_wrong and outcome == "wrong":
            # A pass whose results are those of the model undoes an error.
            restored = _is_close(self._first, found)
            outcome = "rounding" if restored else outcome
        self._is_wrong = (self._is_wrong or outcome == "wrong") and not restored
        self._results, self._last = found, model
        return Pass(dump.number, dump.name, outcome, error, output, changes, change, restored, reason)

    def kernels(self, runtime: Runtime, results: Results, noise: Noise | None) -> Kernels:
        """Return the verdict about the runtime's own results. `runtime`: the runtime without tracing; `noise`: the
        rounding of the precision in which it computes.
        """
        error, output = self._difference(self._results, results)
        if _is_close(self._results, results):
            return Kernels(True, error, output)
        try:
            if self._is_wrong:
                agrees = self._is_rounding(results) or (noise is not None and self._is_noise(noise, results))
                return Kernels(agrees, error, output)
            return Kernels(compare(self._reference, runtime).agrees, error, output)
        except (CannotRun, IRError) as failure:
            return Kernels(None, error, output, _reason(failure))

    def _run(self, model: Model) -> Results:
        results = Reference(model, self._steps).results()
        kinds = [port.element_type for port in self._model.outputs]
        return [[_as(array, kind) for array, kind in zip(step, kinds, strict=True)] for step in results]

    def _difference(self, before: Results, after: Results) -> tuple[Error, str]:
        """Return the largest difference of a result, and the name of the result."""
        worst, output = NONE, ""
        for one, two in zip(before, after, strict=True):
            for port, a, b in zip(self._model.outputs, one, two, strict=True):
                error = measure(a, b)
                if error and (not output or error.ulp > worst.ulp):
                    worst, output = error, port_name(port)
        return worst, output

    def _outcome(self, model: Model, error: Error, found: Results) -> tuple[Outcome, str]:
        if not error:
            return "same", ""
        types = Types(self._last, model)
        if _is_close(self._results, found):
            return "rounding", ""
        if self._is_rounding(found) or self._agrees(model):
            return ("precision", types.of_floats) if types.of_floats else ("rounding", "")
        if types.loses_f64 and self._differs_in_f32(found) <= _OF_F32:
            return "precision", "f64 becomes f32"
        if self._is_decompressed(found):
            return "precision", "weights are decompressed in f32"
        if types.lower is not None and self._is_noise(Noise(types.lower), found):
            return "precision", types.of_floats
        if types.of_bytes and are_moved(Reference(self._last, self._steps), found):
            return "precision", f"quantized values are stored in {types.of_bytes}"
        if types.loses_i64 and self._exceeds_i32():
            return "precision", "i64 becomes i32, which does not hold all values"
        return "wrong", ""

    def _agrees(self, model: Model) -> bool:
        try:
            return compare(Reference(self._last, self._steps), OtherModel("the graph", model)).agrees
        except (CannotRun, IRError):
            return False

    def _exceeds_i32(self) -> bool:
        """Return whether the graph before computes integers that i32 does not hold."""
        wanted = [value for node in self._last.nodes for value in node.outputs if value.element_type is I64]
        recorded = Reference(self._last, self._steps).record(wanted)
        limits = np.iinfo(np.int32)
        return any(((a < limits.min) | (a > limits.max)).any() for step in recorded for a in step.values())

    def _is_rounding(self, found: Results) -> bool:
        """Return whether errors of a few units in each layer of the graph before explain the difference."""
        before = Reference(self._last, self._steps)
        units = {node: FUSED for node in self._last.nodes if node.operator is not None and node.constant is None}
        return Rounding(before, units).explains(found)

    def _differs_in_f32(self, found: Results) -> float:
        """Return the largest difference in units in the last place of f32."""
        pairs = (pair for steps in zip(self._results, found, strict=True) for pair in zip(*steps, strict=True))
        return max((measure(a, b, F32).ulp for a, b in pairs if ElementType.of(a.dtype).is_real), default=0.0)

    def _is_decompressed(self, found: Results) -> bool:
        """Return whether the graph before has these results if it decompresses its weights in f32."""
        wide = decompressed(self._last)
        return wide is not None and _is_close(self._run(wide), found)

    def _is_noise(self, noise: Noise, found: Results) -> bool:
        """Return whether rounding explains the difference."""
        judged = [noise.judge(self._last, *pair) for pair in zip(self._steps, found, strict=True)]
        return all(one is not None and one.agrees for one in judged)


def read_dump(dump: Dump, weights: Weights) -> tuple[Model | None, str]:
    """Return the graph of a dump, if it can be built, and the reason if irexec cannot run it."""
    reading = read(dump.file, weights, internal=True)
    errors = reading.report.errors
    return reading.model, abridged(errors[0].message) if errors else ""


def _is_close(before: Results, after: Results) -> bool:
    """Return whether results differ by a few units in the last place; those that are no real numbers must be equal."""
    pairs = (pair for steps in zip(before, after, strict=True) for pair in zip(*steps, strict=True))
    errors = ((ElementType.of(a.dtype), measure(a, b)) for a, b in pairs)
    return all(not error or (kind.is_real and error.ulp <= FUSED) for kind, error in errors)


def _reason(error: IRError | CannotRun) -> str:
    return abridged(error.report.errors[0].message if isinstance(error, IRError) else str(error))


def _as(array: Array, kind: ElementType) -> Array:
    own = ElementType.of(array.dtype)
    return array if own is kind or kind.is_dynamic else cast(array, own, kind)
