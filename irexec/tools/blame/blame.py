"""`irexec blame`: the smallest model, the wrong layer, pass or kernel, the release and the setting, in one bundle."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from irexec.core.diagnostics import IRError
from irexec.model.arrays.brief import plural
from irexec.tools.bisect.bisect import Bisection
from irexec.tools.bisect.environments import Environments, NoRelease, package_of
from irexec.tools.bisect.of_model import OfModel
from irexec.tools.compare.compare import compare
from irexec.tools.compare.errors import Bounds
from irexec.tools.compare.runtimes.choose import ONNX_RUNTIME
from irexec.tools.compare.runtimes.runtime import CannotRun, Runtime
from irexec.tools.passes.find import device_of, find_passes
from irexec.tools.reduce.bundle import bundle
from irexec.tools.reduce.case import Case, size_of
from irexec.tools.reduce.reduce import Reduction, begin, guesses, reduce, whole
from irexec.tools.reduce.repro import Repro
from irexec.tools.reduce.stages import STAGES, Stage
from irexec.tools.reduce.verdict import ByRuntime
from irexec.tools.run.record import Reference

Answer = tuple[str, Mapping[str, Any]]
"""A sentence, and all that is known."""
PARTS = ("reduce", "layer", "passes", "release", "settings")
"""The questions, in the order in which they are asked; the first one gives the others a smaller model."""
_TITLES = {
    "reduce": "smallest model",
    "layer": "wrong layer",
    "passes": "pass or kernel",
    "release": "release",
    "settings": "setting",
}


@dataclass(slots=True)
class Part:
    """The answer to one question. `details`: all that is known, for JSON. `known`: False if the part was skipped or
    failed, for the reason that is the answer."""

    name: str
    answer: str
    known: bool = True
    details: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def title(self) -> str:
        return _TITLES[self.name]


@dataclass(slots=True)
class Blame:
    """The failure in words, the answers, and the names of the files in the bundle."""

    failure: str
    parts: list[Part] = field(default_factory=list)
    files: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Return the failure in the first line, then a line for each question."""
        width = max(map(len, _TITLES.values())) + 2
        rows = [f"  {part.title:{width}}{'' if part.known else 'not known: '}{part.answer}" for part in self.parts]
        return "\n".join([self.failure, *rows]) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Return the answers as JSON-ready values."""
        return {"kind": "blame", "failure": self.failure, "parts": [asdict(p) for p in self.parts], "files": self.files}


class Blaming:
    """The work for one model. `other`: openvino[:DEVICE] or onnxruntime, which `runtime` runs with `config`.

    `releases`: those to search, a text as of `irexec bisect`. `skip`: the parts that are left out. `limit`: seconds for
    each answer of the runtime.
    """

    def __init__(
        self,
        reference: Reference,
        runtime: Runtime,
        other: str,
        config: Mapping[str, str],
        environments: Environments,
        *,
        releases: str | None = None,
        skip: Collection[str] = (),
        bounds: Bounds | None = None,
        limit: float | None = 120.0,
        progress: Callable[[str], None] = lambda text: None,
    ) -> None:
        package_of(other)
        self._reference, self._runtime, self._other, self._config = reference, runtime, other, config
        self._environments, self._releases, self._skip = environments, releases, skip
        self._bounds, self._limit, self._progress = bounds, limit, progress
        self._judge = ByRuntime(runtime, bounds)
        self._small: Reference | None = None
        self._searched: Bisection | None = None

    def run(self, target: Path) -> Blame | None:
        """Answer all questions, and write the bundle. Return None if there is no failure.

        Raises CannotRun if the runtime cannot be used, NotACase and IRError for a model that cannot be run, OSError.
        """
        self._progress("comparing")
        reduction = begin(self._judge, self._cases())
        if reduction is None:
            return None
        found = Blame(reduction.message)
        try:
            for name, ask in self._questions(reduction):
                found.parts.append(self._part(name, ask))
        finally:
            # After Ctrl-C, the bundle contains what is known.
            found.failure, found.files = reduction.message, self._write(reduction, found.parts, target)
        return found

    def _questions(self, reduction: Reduction) -> Iterator[tuple[str, Callable[[], Answer]]]:
        yield "reduce", lambda: self._reduce(reduction)
        self._small = Reference(reduction.case.model, reduction.case.steps)
        yield "layer", self._layer
        yield "passes", self._passes
        search = OfModel(
            self._small, self._other, self._environments, self._config, self._bounds, self._limit, self._progress,
            fault=reduction.fault,
        )  # fmt: skip
        yield "release", lambda: self._release(search)
        yield "settings", lambda: self._settings(search)

    def hint(self) -> str | None:
        """Return a possible reason why there is no failure."""
        return self._judge.hint

    def _part(self, name: str, ask: Callable[[], Answer]) -> Part:
        """Answer one question; an error is the answer of this part alone."""
        if name in self._skip:
            return Part(name, "skipped", known=False)
        began = time.monotonic()
        self._progress(_TITLES[name])
        try:
            answer, details = ask()
            return Part(name, answer, details=details, seconds=time.monotonic() - began)
        except IRError as error:
            reason = error.report.errors[0].message
        except (CannotRun, NoRelease, ValueError, OSError) as error:
            reason = str(error)
        return Part(name, reason, known=False, seconds=time.monotonic() - began)

    def _cases(self) -> Iterable[Case]:
        alone = "reduce" in self._skip
        if self._other == ONNX_RUNTIME:
            from irexec.tools.reduce.onnx_case import onnx_guesses, onnx_whole

            onnx = self._reference, self._runtime, self._bounds
            return [onnx_whole(self._reference)] if alone else onnx_guesses(*onnx)
        return [whole(self._reference)] if alone else guesses(self._reference, self._runtime, self._bounds)

    def _stages(self) -> Sequence[Stage]:
        if self._other == ONNX_RUNTIME:
            from irexec.tools.reduce.onnx_case import ONNX_STAGES

            return ONNX_STAGES
        return STAGES

    def _reduce(self, reduction: Reduction) -> Answer:
        reduce(reduction, self._judge, [self], self._stages())
        types = [node.type for node in reduction.case.layers]
        layers = f"{plural(reduction.case.size, 'layer')} of {size_of(self._reference.model)}: {', '.join(types)}"
        return layers, {"layers": types, "tried": reduction.tried}

    def tried(self, reduction: Reduction, stage: Stage, smaller: bool) -> None:
        """Show the progress of the reduction."""
        self._progress(f"{stage.name}: {reduction.tried} candidates tried, {plural(reduction.case.size, 'layer')} left")

    def _layer(self) -> Answer:
        assert self._small is not None
        found = compare(self._small, self._runtime, bounds=self._bounds)
        return found.verdict, {} if found.culprit is None else {
            "layers": [n.friendly_name for n in found.culprit.nodes]
        }

    def _passes(self) -> Answer:
        assert self._small is not None
        device = device_of(self._other)
        found = find_passes(self._small, device=device, config=self._config, limit=self._limit)
        return found.verdict, found.to_dict()

    def _release(self, search: OfModel) -> Answer:
        if self._releases is None:
            raise NoRelease("give --releases, with --environments or --python")
        found = self._searched = search.releases(self._releases)
        if not found.failures:
            raise NoRelease(next(iter(found.skipped.values()), "no release is given"))
        return found.verdict, found.to_dict()

    def _settings(self, search: OfModel) -> Answer:
        found = search.settings(self._searched)
        return found.verdict, found.to_dict()

    def _write(self, reduction: Reduction, parts: Sequence[Part], target: Path) -> list[str]:
        """Write the bundle and return the names of its files."""
        suffix = ".onnx" if self._other == ONNX_RUNTIME else ".xml"
        with tempfile.TemporaryDirectory(prefix="irexec-") as folder:
            repro = Repro(Path(folder) / f"repro{suffix}", "")
            repro.write(reduction)
            if self._other == ONNX_RUNTIME:
                repro.write_onnx_runtime_script(reduction, self._runtime, self._limit)
            else:
                device, config = device_of(self._other), dict(self._config)
                repro.write_openvino_script(reduction, device, config, self._runtime, self._limit)
            asked = f"irexec blame --with {self._other}"
            repro.write_report(reduction, size_of(self._reference.model), asked, self._runtime)
            answers = [f"{part.title}: {part.answer}" for part in parts if part.known]
            return bundle(repro.file, target, answers=answers)
