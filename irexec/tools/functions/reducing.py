"""`reduce` as a function."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path

from irexec.core.diagnostics import WrongArgument
from irexec.core.types import Array
from irexec.model.arrays.brief import plural
from irexec.model.graph.model import Model
from irexec.tools.compare.runtimes.choose import ONNX_RUNTIME
from irexec.tools.compare.runtimes.runtime import CannotRun, Runtime
from irexec.tools.functions.beside import Judged, NoFailure
from irexec.tools.functions.command import function_of
from irexec.tools.functions.given import name_of
from irexec.tools.functions.result import Result
from irexec.tools.passes.reducing import ByPasses
from irexec.tools.reduce import reduce as reducing
from irexec.tools.reduce.case import Case, size_of
from irexec.tools.reduce.case_files import save_case
from irexec.tools.reduce.repro import Repro, identity
from irexec.tools.reduce.stages import STAGES, Stage
from irexec.tools.reduce.verdict import ByCommand, ByRuntime, Fault, Judge, Sameness
from irexec.tools.render.printing import Printout
from irexec.tools.render.reduce import ReductionStatus, show_reduction
from irexec.tools.run.record import Reference
from irexec.tools.status import Status

PASSES = "passes"
"""The other side whose failure is a wrong pass of OpenVINO's compiler."""


@dataclass(frozen=True, slots=True, repr=False)
class Reduction(Result):
    """The smallest `model` that still fails in the same way, with the `inputs` of its inferences, and the `files` that
    were written. `before`: the number of layers of the whole model.
    """

    found: reducing.Reduction
    before: int
    files: Sequence[Path] = ()

    @property
    def case(self) -> Case:
        """The smallest model with its inputs."""
        return self.found.case

    @property
    def failure(self) -> str:
        """The failure in words."""
        return self.found.message

    @property
    def tried(self) -> int:
        """The number of candidates."""
        return self.found.tried

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
        show_reduction(self.found, self.before, [str(file) for file in self.files], page)


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


def suffix_of(file: str, other: str | None) -> str:
    """Return the suffix of the smallest model's file: runtimes and commands are given the format of the whole model, so
    that a fault in reading it counts. `file`: that of the whole model.
    """
    is_onnx = file.lower().endswith(".onnx") and not _is_passes(other)
    return ".onnx" if other == ONNX_RUNTIME or is_onnx else ".xml"


def _is_passes(other: str | None) -> bool:
    return other is not None and other.partition(":")[0] == PASSES


@dataclass(frozen=True)
class Reduce(Judged[Reduction]):
    """Find the smallest model that still fails in the same way, as `irexec reduce` does.

    `other`: a runtime, such as "openvino", whose results differ, or that rejects the model, or crashes; or "passes".
    `check`: a function that is called with the file of each candidate, which fails if the function returns a true value
    or raises an exception; or a command with {} for the file. `same`: a regular expression; only failures with a match
    in the runtime's error message and the layer types, or in the exception, count. `tries`: how often each candidate is
    run until it fails. `jobs`: the number of candidates tried at a time, in threads. `output`: the file to write, with
    its inputs, a script, a report, and the state from which an interrupted reduction goes on, unless `restart` is True.
    The other arguments are those of `compare`. Raises IRError for a model that cannot be run, ValueError for a model
    that does not fail, and RuntimeError for a runtime that cannot be used.
    """

    other: str | None = None
    _: KW_ONLY
    check: Callable[[str], object] | str | None = None
    timeout: float | None = 120.0
    python: str = ""
    same: str = ""
    tries: int = 1
    jobs: int = 1
    output: str | os.PathLike[str] | None = None
    restart: bool = False

    def work(self, status: Status) -> Reduction:
        if (self.other is None) == (self.check is None):
            raise WrongArgument("reduce needs a runtime or a check")
        if self.tries < 1 or self.jobs < 1:
            raise WrongArgument("reduce: tries and jobs are 1 or more")
        reference, repro = self.reference(), None
        if self.output is not None:
            path = Path(self.output).with_suffix(suffix_of(self._file, self.other))
            repro = Repro(path, identity(reference, " ".join(self._asked())))
        judge, cases, stages = self._judge(reference)
        helpers = [self._judge(reference)[0] for _ in range(self.jobs - 1)]
        found = None if repro is None or self.restart else repro.resumed()
        if found is None and (found := reducing.begin(judge, cases)) is None:
            name = f"--check {shlex.quote(self.check)}" if isinstance(self.check, str) else judge.name
            raise NoFailure("reduce", name, name_of(self.given), judge.hint)
        watchers: list[reducing.Watcher] = [*([] if repro is None else [repro]), ReductionStatus(status)]
        try:
            reducing.reduce(found, judge, watchers, stages, helpers)
        except KeyboardInterrupt:
            if repro is None:
                raise
            repro.write(found)
            raise KeyboardInterrupt(repro.file) from None
        before = size_of(reference.model)
        return Reduction(found, before, () if repro is None else self._written(repro, found, before, judge))

    @property
    def _file(self) -> str:
        """The file of the model; empty for a model in memory, which may differ from its file."""
        return "" if isinstance(self.model, (Model, bytes)) else name_of(self.given)

    def _judge(self, reference: Reference) -> tuple[Judge, Iterable[Case], Sequence[Stage]]:
        """Return the judge of failures, the initial cases, and the stages that make them smaller. Raises CannotRun."""
        same, suffix = Sameness(self.same, self.tries), suffix_of(self._file, self.other)
        if callable(self.check):
            return _ByFunction(self.check, same), [reducing.whole(reference)], STAGES
        if self.check is not None:
            judge = ByCommand(self.check, self.timeout, same, suffix)
            if suffix == ".onnx":
                from irexec.tools.reduce.onnx_case import ONNX_STAGES, onnx_whole

                return judge, [onnx_whole(reference)], ONNX_STAGES
            return judge, [reducing.whole(reference)], STAGES
        if _is_passes(self.other):
            if self.python:
                raise CannotRun("it requires OpenVINO in this environment, not --python", "U003")
            passes = ByPasses(self._device, dict(self.config or {}), self.timeout, same)
            return passes, [reducing.whole(reference)], STAGES
        bounds, runtime = self.bounds, self.runtime(reference.model, self.python)
        if self.other == ONNX_RUNTIME and not self._file.lower().endswith(".onnx"):
            raise CannotRun("ONNX Runtime cannot read an IR; reduce the original .onnx file instead", "U012")
        if suffix == ".onnx" and (runtime.runs_parts or self.other == ONNX_RUNTIME):
            from irexec.tools.reduce.onnx_case import ONNX_STAGES, onnx_guesses

            return ByRuntime(runtime, bounds, same), onnx_guesses(reference, runtime, bounds), ONNX_STAGES
        if not runtime.runs_parts:
            raise CannotRun(
                f"it runs the whole model only; irexec compare --with {self.other} --save-culprit DIR "
                "saves the first wrong layer, and irexec cut --around LAYER saves a layer with its neighbours; or give "
                "a command with --check",
                "U003",
            )
        return ByRuntime(runtime, bounds, same), reducing.guesses(reference, runtime, bounds), STAGES

    @property
    def _device(self) -> str:
        """The device of OpenVINO."""
        return str(self.other).partition(":")[2] or "CPU"

    def _asked(self) -> list[str]:
        """Return the part of the command line that defines the failure."""
        named = [("with", self.other), ("check", self.check if isinstance(self.check, str) else None)]
        named += [("config", f"{name}={value}") for name, value in (self.config or {}).items()]
        named += [("python", self.python or None), ("same", self.same or None)]
        named += [("tries", str(self.tries) if self.tries > 1 else None)]
        bounds = {"atol": self.atol, "rtol": self.rtol}
        named += [(name, str(bound)) for name, bound in bounds.items() if bound is not None]
        return [word for name, value in named if value is not None for word in (f"--{name}", shlex.quote(value))]

    def _written(self, repro: Repro, found: reducing.Reduction, before: int, judge: Judge) -> list[Path]:
        """Write the smallest model, a script that shows the failure, and a report; return the files."""
        files, limit = repro.write(found), self.timeout
        runtime: Runtime | None = getattr(judge, "runtime", None)
        if isinstance(self.check, str):
            files.append(repro.write_command_script(found, shlex.split(self.check), self.same, limit))
        elif self.other == ONNX_RUNTIME:
            files += repro.write_onnx_runtime_script(found, runtime, limit)
        elif self.other is not None:
            files += repro.write_openvino_script(found, self._device, dict(self.config or {}), runtime, limit)
        asked = f"irexec reduce {shlex.quote(Path(name_of(self.given)).name)} {' '.join(self._asked())}"
        return [*files, repro.write_report(found, before, asked, runtime)]


reduce = function_of(Reduce, "reduce")
