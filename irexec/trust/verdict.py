"""Verdicts on a case: whether it fails, and how, so that a smaller case can be held against it."""

from __future__ import annotations

import math
import re
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

from irexec.engine import CompiledModel
from irexec.graph.model import Model
from irexec.native import plainly
from irexec.trust.case import Case
from irexec.trust.case_files import save_case
from irexec.trust.errors import Bounds, Error, Run, shown_error
from irexec.trust.runtimes import CannotRun, CannotWrite, Died, Runtime
from irexec.trust.tolerances import combined, tolerance_of, tolerance_text
from irexec.trust.variants import judge_model
from irexec.types import Array

# A fault that is so many times the tolerance must not shrink to what rounding might be.
_CLEAR, _STILL_CLEAR = 16.0, 4.0


@dataclass(frozen=True, slots=True)
class Fault:
    """How a case fails. Two are the same when `kind` and `detail` are; `said` tells it to people.

    `kind`: "difference", "refusal", "crash", "hang" or "exit code". `excess`: how many times the tolerance, as far as
    it matters.
    """

    kind: str
    detail: str
    said: str = field(compare=False)
    excess: float = field(compare=False, default=1.0)


class Judge(Protocol):
    """Says of a case how it fails. `name` is for people."""

    name: str

    def fault(self, case: Case, like: Fault | None = None) -> Fault | None:
        """The case's fault, or None. `like`: the fault that is looked for, which says how clear it has to be."""


class ByRuntime:
    """A case fails where a runtime computes something else than irexec, refuses the model, crashes or hangs."""

    def __init__(self, runtime: Runtime, bounds: Bounds | None = None) -> None:
        self.runtime, self.bounds, self.name = runtime, bounds, runtime.name

    def fault(self, case: Case, like: Fault | None = None) -> Fault | None:
        try:
            found = self.runtime.load(case.model).results(case.steps)
        except CannotWrite:
            return None
        except Died as error:
            return Fault(error.how, str(error).partition(": ")[0], str(error))
        except CannotRun as error:
            return Fault("refusal", _words(str(error)), str(error))
        least = _STILL_CLEAR if like is not None and like.excess >= _CLEAR else 1.0
        faults = (self._differs(case, step, found[step], least) for step in range(len(case.steps)))
        return next((fault for fault in faults if fault is not None), None)

    def _differs(self, case: Case, step: int, found: Sequence[Array], least: float) -> Fault | None:
        tolerance = combined(map(tolerance_of, case.layers))
        if tolerance.kind == "random":
            return None
        allowed = tolerance._replace(ulp=tolerance.ulp * least)
        make = partial(_step, steps=case.steps[:step])
        error, agrees = judge_model(case.model, make, case.steps[step], found, allowed, self.bounds)
        if agrees:
            return None
        kind = case.model.outputs[0].element_type
        text = str(self.bounds) if self.bounds is not None else tolerance_text(tolerance, kind)
        said = f"{self.name} computes something else: error {shown_error(error)}, tolerance {text}"
        return Fault("difference", _kind_of(error), said, min(error.ulp / max(tolerance.ulp, 1.0), _CLEAR))


def _step(model: Model, steps: Sequence[Sequence[Array]]) -> Run:
    """The results of one step as a function of its inputs, after the steps before it."""
    compiled = CompiledModel(model)

    def run(inputs: Sequence[Array]) -> list[Array]:
        request = compiled.create_infer_request()
        with plainly():
            for before in steps:
                request.infer(list(before))
            return list(request.infer(list(inputs)).to_tuple())

    return run


def _kind_of(error: Error) -> str:
    return "a number" if math.isfinite(error.absolute) else "no number"


def _words(message: str) -> str:
    """What is the same in messages about models that differ in names and sizes."""
    return " ".join(re.findall(r"(?<![\w/'\".])[A-Za-z]{2,}(?![\w/'\".])", message))


class ByCommand:
    """A case fails where a command that is given its file ends in the exit code that it has for the whole model."""

    def __init__(self, command: str, limit: float) -> None:
        """`command` holds {} in the place of the file. Raises ValueError when it does not, or is no command."""
        self.words, self.limit, self.name = shlex.split(command), limit, command
        if not any("{}" in word for word in self.words):
            raise ValueError("the command has no {} in the place of the model's file")

    def fault(self, case: Case, like: Fault | None = None) -> Fault | None:
        with tempfile.TemporaryDirectory(prefix="irexec-") as folder:
            file = Path(folder) / "model.xml"
            save_case(case, file)
            words = [word.replace("{}", str(file)) for word in self.words]
            try:
                done = subprocess.run(words, capture_output=True, timeout=self.limit, stdin=subprocess.DEVNULL)
            except subprocess.TimeoutExpired:
                return Fault("hang", "", f"{self.name} does not end within {self.limit:g} s")
            except OSError as error:
                raise CannotRun(f"{words[0]} cannot be run: {error.strerror or error}") from None
        code = done.returncode
        return Fault("exit code", str(code), f"{self.name} ends with exit code {code}") if code else None
