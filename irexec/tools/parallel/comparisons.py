"""Comparing a model with another runtime on many inputs: for each input, the agreement and the first wrong layer."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache

from irexec.core.diagnostics import IRError, Place
from irexec.core.diagnostics.findings import Findings
from irexec.ir.io.files import named_files
from irexec.model.graph.model import Model
from irexec.tools.compare.compare import compare
from irexec.tools.compare.errors import Bounds
from irexec.tools.compare.runtimes.choose import runtime_of
from irexec.tools.compare.runtimes.runtime import CannotRun, Runtime
from irexec.tools.parallel.inputs import SUFFIXES, OnInputs, compiled_model, model_files
from irexec.tools.parallel.task import PathLike
from irexec.tools.run.record import run_with


@dataclass(frozen=True, slots=True)
class InputComparison:
    """The comparison on one input: its verdict in one line and its first wrong layer."""

    agrees: bool
    verdict: str
    culprit: str | None


@dataclass(frozen=True)
class CompareInput(OnInputs[InputComparison]):
    """Compare a model's run in irexec with its run in another runtime, as `irexec compare` does.

    `other`: the argument of --with, in the version `version`. `config`: settings of the other runtime.
    """

    words = (InputComparison,)

    other: str
    version: str = ""
    config: tuple[tuple[str, str], ...] = ()
    bounds: Bounds | None = None
    window: int | None = None
    limit: float | None = 600

    def __call__(self, item: str) -> InputComparison:
        model = compiled_model(self.model, self.weights).model
        reference = run_with(model, [self.entries(item, model)])
        try:
            runtime = _runtime(self.other, self.config, model, self.limit)
            found = compare(reference, runtime, bounds=self.bounds, window=self.window)
        except CannotRun as error:
            findings = Findings(file=item)
            findings.add(error.code, f"--with {self.other}: {error}", place=Place(file=item))
            raise IRError(findings.report) from None
        culprit = None if found.culprit is None else ", ".join(n.friendly_name for n in found.culprit.nodes)
        return InputComparison(found.agrees, found.verdict, culprit)

    def files(self, item: str) -> list[PathLike]:
        named = super().files(item)
        if os.path.isdir(self.other):
            return [*named, *named_files([self.other], SUFFIXES)]
        return [*named, *model_files(self.other, None)] if os.path.isfile(self.other) else named


@lru_cache(maxsize=1)
def _runtime(other: str, config: tuple[tuple[str, str], ...], model: Model, limit: float | None) -> Runtime:
    """Return the other runtime, which each process creates once. Raises CannotRun."""
    return runtime_of(other, dict(config), model, limit)
