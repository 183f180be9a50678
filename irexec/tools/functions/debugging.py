"""`compare`, `diff` and `reduce` as functions."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from irexec.core.structure import CONST, RESULT
from irexec.core.types import Array
from irexec.model.arrays.brief import plural
from irexec.model.graph.model import Model
from irexec.tools.compare import result as compared
from irexec.tools.compare.compare import compare as compare_runs
from irexec.tools.compare.errors import Bounds
from irexec.tools.compare.runtimes.choose import runtime_of
from irexec.tools.compare.runtimes.runtime import CannotRun, OtherModel, Recorded, Runtime
from irexec.tools.diff.change import Change, changes_dict
from irexec.tools.diff.diff import diff as find_changes
from irexec.tools.functions.given import (
    Inputs,
    ModelLike,
    WeightsLike,
    model_of,
    name_of,
    names_of,
    reference_of,
)
from irexec.tools.functions.result import Result
from irexec.tools.reduce.case import Case, size_of
from irexec.tools.reduce.case_files import save_case
from irexec.tools.reduce.reduce import begin, guesses, whole
from irexec.tools.reduce.reduce import reduce as go_through
from irexec.tools.reduce.stages import STAGES
from irexec.tools.reduce.verdict import ByRuntime, Fault, Judge, Sameness
from irexec.tools.render.compare import show_changes, show_comparison
from irexec.tools.render.printing import Printout
from irexec.tools.render.reduce import ReductionStatus
from irexec.tools.run.record import Reference
from irexec.tools.status import NotebookStatus

LIMIT = 600.0
"""The default limit in seconds for each response of another runtime."""


@dataclass(slots=True, repr=False)
class Comparison(Result, compared.Comparison):
    """The comparison of irexec's run of a model with another run: `agrees`, `verdict`, `culprit`, `layers`, `results`;
    `rows` is the table of the layers.
    """

    verdict = compared.Comparison.verdict

    def show(self, page: Printout) -> None:
        show_comparison(self, page)


def compare(
    model: ModelLike,
    other: str | os.PathLike[str] | Model,
    inputs: Inputs | None = None,
    *,
    weights: WeightsLike = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    seed: int = 0,
    config: Mapping[str, str] | None = None,
    atol: float | None = None,
    rtol: float | None = None,
    limit: float | None = LIMIT,
    window: int | None = None,
) -> Comparison:
    """Find the first layer whose results differ from another run, as `irexec compare` does.

    `other`: "openvino", "openvino:DEVICE", "onnxruntime", "torch:MODULE:FUNCTION", a Model, a model's file, or a folder
    of recorded results. `inputs`: arrays by name or in order; inputs that are not given get random values, in the given
    `shapes` and from `seed`; if neither inputs nor shapes are given, those of the recording are used. `config`:
    properties of the runtime. `atol`, `rtol`: errors allowed in every layer (default: the operators' tolerances).
    `limit`: seconds for each response of a runtime; None or 0: no limit. `window`: the number of layers whose values
    are kept in memory at once. Raises IRError for a model that cannot be run, and RuntimeError for a runtime that
    cannot be used.
    """
    made = model_of(model, weights)
    runtime: Runtime
    if isinstance(other, Model):
        runtime = OtherModel(names_of(model, other)[1], model_of(other))
    else:
        runtime = runtime_of(os.fspath(other), dict(config or {}), made, limit)
    recorded = runtime.given(made) if isinstance(runtime, Recorded) and not inputs and not shapes else None
    reference = reference_of(made, inputs, shapes, seed) if recorded is None else Reference(made, recorded)
    with NotebookStatus() as status:

        def show(done: int, total: int) -> None:
            status.count(done, total, f"layers compared with {runtime.name}")

        found = compare_runs(reference, runtime, bounds=Bounds.given(atol, rtol), window=window, progress=show)
    if isinstance(model, Model) or isinstance(other, Model):
        # The files do not contain changes that were made in memory.
        found.file = None
    return Comparison(**{field.name: getattr(found, field.name) for field in fields(found)})


@dataclass(frozen=True, slots=True, repr=False)
class Differences(Result):
    """The differences between the models `a` and `b`, as a sequence; it is empty if the models are equal."""

    a: str
    b: str
    changes: tuple[Change, ...]

    @property
    def verdict(self) -> str:
        """The number of differences, in one line."""
        return f"{plural(len(self.changes), 'difference')} between {self.a} and {self.b}"

    def __len__(self) -> int:
        return len(self.changes)

    def __iter__(self) -> Iterator[Change]:
        return iter(self.changes)

    def __getitem__(self, index: int) -> Change:
        return self.changes[index]

    def to_dict(self) -> dict[str, Any]:
        """Return the differences as JSON-ready values."""
        return changes_dict(self.a, self.b, self.changes)

    def show(self, page: Printout) -> None:
        show_changes(self.changes, self.a, self.b, page)


def diff(a: ModelLike, b: ModelLike) -> Differences:
    """List the differences between two models, as `irexec diff` does: one entry for each cause. Raises IRError."""
    return Differences(*names_of(a, b), tuple(find_changes(model_of(a), model_of(b))))


@dataclass(frozen=True, slots=True, repr=False)
class Reduction(Result):
    """The smallest `model` that still fails in the same way, with the `inputs` of its inferences.

    `failure` describes the failure.
    """

    case: Case
    failure: str
    tried: int
    before: int

    @property
    def model(self) -> Model:
        """The smallest model that still fails."""
        return self.case.model

    @property
    def inputs(self) -> list[list[Array]]:
        """The inputs of each inference, in the order of the model's inputs."""
        return self.case.steps

    @property
    def verdict(self) -> str:
        """The number of layers that are left, in one line."""
        return f"{self.case.size} of {plural(self.before, 'layer')} still fail: {self.failure}"

    def save(self, path: str | os.PathLike[str]) -> list[Path]:
        """Write the model and its inputs (.xml, .bin, .npz); return the files."""
        return save_case(self.case, Path(path))

    def show(self, page: Printout) -> None:
        page.line(self.verdict)
        rows = []
        for node in self.model.walk():
            if node.type not in (CONST, RESULT):
                shapes = ", ".join(f"{value.element_type}{value.type.shape}" for value in node.outputs)
                rows.append((node.friendly_name, node.type, shapes))
        page.table(rows, ("name",), names=0)
        page.line(f"{plural(self.tried, 'candidate')} tried", "dim")


class _ByFunction:
    """Decides whether a case fails: the function, called with its file, returns a true value or raises an exception."""

    name = "the function"
    hint: str | None = None

    def __init__(self, fails: Callable[[str], object], same: Sameness) -> None:
        self._fails, self._same = fails, same

    def fault(self, case: Case, like: Fault | None = None) -> Fault | None:
        with tempfile.TemporaryDirectory(prefix="irexec-") as folder:
            file = Path(folder) / "model.xml"
            save_case(case, file)
            return self._same.first(lambda: self._attempt(str(file)))

    def _attempt(self, file: str) -> Fault | None:
        try:
            return Fault("function", "", "the function returns true") if self._fails(file) else None
        except Exception as error:
            kind = type(error).__name__
            found = Fault("exception", kind, f"the function raises {kind}: {error}")
            return found if self._same.accepts(found.message) else None


def reduce(
    model: ModelLike,
    other: str | None = None,
    inputs: Inputs | None = None,
    *,
    check: Callable[[str], object] | None = None,
    weights: WeightsLike = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    seed: int = 0,
    config: Mapping[str, str] | None = None,
    atol: float | None = None,
    rtol: float | None = None,
    limit: float | None = 120.0,
    same: str = "",
    tries: int = 1,
    jobs: int = 1,
) -> Reduction:
    """Find the smallest model that still fails in the same way, as `irexec reduce` does.

    `other`: a runtime, such as "openvino", whose results differ, or that rejects the model, or crashes. `check`: a
    function that is called with the file of each candidate, which fails if the function returns a true value or raises
    an exception. `same`: a regular expression; only failures with a match in the runtime's error message and the layer
    types, or in the exception, count. `tries`: how often each candidate is run until it fails. `jobs`: the number of
    candidates tried at a time, in threads. The other arguments are those of `compare`. Raises IRError for a model that
    cannot be run, ValueError for a model that does not fail, and RuntimeError for a runtime that cannot be used.
    """
    if (other is None) == (check is None):
        raise ValueError("reduce needs a runtime or a check")
    reference = reference_of(model_of(model, weights), inputs, shapes, seed)
    if tries < 1 or jobs < 1:
        raise ValueError("reduce: tries and jobs are 1 or more")
    failures = Sameness(same, tries)
    judges: Sequence[Judge]
    if check is not None:
        judges, cases = [_ByFunction(check, failures)] * jobs, iter([whole(reference)])
    else:
        assert other is not None
        runtimes = [runtime_of(os.fspath(other), dict(config or {}), reference.model, limit) for _ in range(jobs)]
        runtime = runtimes[0]
        if not runtime.runs_parts or other == "onnxruntime":
            raise CannotRun(f"reduce: {other!r} cannot run parts of a model; give a check")
        bounds = Bounds.given(atol, rtol)
        judges = [ByRuntime(each, bounds, failures) for each in runtimes]
        cases = guesses(reference, runtime, bounds)
    judge = judges[0]
    found = begin(judge, cases)
    if found is None:
        why = f": {judge.hint}" if judge.hint else ""
        raise ValueError(f"nothing to reduce: {judge.name} does not fail on {name_of(model)} with these inputs{why}")
    with NotebookStatus() as status:
        go_through(found, judge, [ReductionStatus(status)], STAGES, judges[1:])
    return Reduction(found.case, found.message, found.tried, size_of(reference.model))
