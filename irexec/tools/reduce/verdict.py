"""Verdicts on a case: whether and how it fails, so that a smaller case can be compared with it."""

from __future__ import annotations

import math
import re
import shlex
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from irexec.core.diagnostics import WrongArgument
from irexec.core.types import Array
from irexec.model.graph.model import Node
from irexec.runtime.processes.starting import outcome
from irexec.tools.compare.compare import compare
from irexec.tools.compare.errors import Bounds, Error, shown_error
from irexec.tools.compare.judge import judged
from irexec.tools.compare.result import LOWER, Comparison
from irexec.tools.compare.runtimes.runtime import CannotRun, CannotWrite, Died, Runtime
from irexec.tools.compare.tolerances import combined, tolerance_of, tolerance_text
from irexec.tools.reduce.case import Case
from irexec.tools.reduce.case_files import save_case
from irexec.tools.run.record import Reference

# A difference above the first multiple of its tolerance is clear; it must stay above the second in smaller cases.
_CLEAR, _STILL_CLEAR = 16.0, 4.0


@dataclass(frozen=True, slots=True)
class Fault:
    """The failure of a case. Two faults are the same if `kind` and `detail` are equal; `message` is the description for
    people.

    `kind`: "difference", "refusal", "crash", "hang" or "exit code". `excess`: the difference as a multiple of
    its tolerance, up to a limit. `layers`: the names of the layers that a comparison names for a difference, if any;
    parts and edited copies of a model keep them.
    """

    kind: str
    detail: str
    message: str = field(compare=False)
    excess: float = field(compare=False, default=1.0)
    layers: tuple[str, ...] = ()


class Judge(Protocol):
    """Determines how a case fails. `name` is for display; `hint`: a possible reason why a case does not fail."""

    name: str
    hint: str | None

    def fault(self, case: Case, like: Fault | None = None) -> Fault | None:
        """Return the fault of the case; None if the case does not fail. `like`: the fault to search for, which sets how
        clear it must be.
        """


class Sameness:
    """The failures that count: those whose description matches the expression `same`, in any of `tries` runs."""

    def __init__(self, same: str = "", tries: int = 1) -> None:
        """Raises WrongArgument if `same` is not a regular expression."""
        self.tries = tries
        try:
            self._same = re.compile(same) if same else None
        except re.error as error:
            raise WrongArgument(f"{same!r} is not a regular expression: {error}") from None

    @property
    def is_given(self) -> bool:
        """Whether there is an expression; if so, it alone decides."""
        return self._same is not None

    def accepts(self, text: str) -> bool:
        """Return whether a failure with this description counts."""
        return self._same is None or self._same.search(text) is not None

    def first(self, attempt: Callable[[], Fault | None]) -> Fault | None:
        """Return the failure of the first run that fails."""
        return next((found for _ in range(self.tries) if (found := attempt()) is not None), None)


class ByRuntime:
    """A judge: a case fails if a runtime computes a different result than irexec, rejects the model, crashes or hangs.

    A difference counts as the same failure as long as a layer that the first comparison names is wrong by itself.
    `same` is matched with the kind of the failure, its description and the types of the layers.
    """

    def __init__(self, runtime: Runtime, bounds: Bounds | None = None, same: Sameness | None = None) -> None:
        self.runtime, self.bounds, self.name = runtime, bounds, runtime.name
        self.hint: str | None = None
        self._same = same or Sameness()

    def fault(self, case: Case, like: Fault | None = None) -> Fault | None:
        return self._same.first(lambda: self._attempt(case, like))

    def _attempt(self, case: Case, like: Fault | None) -> Fault | None:
        found = self._found(case, like)
        if found is None:
            return None
        types = [*dict.fromkeys(node.type for node in case.layers)]
        if not self._same.accepts(f"{found.kind}: {found.message}\n{' '.join(types)}"):
            return None
        if found.kind != "difference":
            return found
        wrong = self._wrong(case, like)
        return None if wrong is None else replace(found, layers=wrong)

    def _wrong(self, case: Case, like: Fault | None) -> tuple[str, ...] | None:
        """Return the names of the wrong layers of a case, or those of the fault `like` if one of these is wrong. None
        if the type in which the runtime computes explains the difference.
        """
        present = {node.friendly_name for node in case.model.walk()}
        if like is not None and not (like.layers and present & {*like.layers}):
            return ()
        try:
            found = compare(Reference(case.model, case.steps), self.runtime, bounds=self.bounds)
        except CannotRun:
            return () if like is None else like.layers
        named = [] if found.culprit is None else found.culprit.nodes
        whatever = like is None and self.bounds is None and not self._same.is_given
        if whatever and found.agrees and found.precision in LOWER:
            self.hint = found.hints[0]
            return None
        if like is not None:
            named = [node for outer in named for node in _inside(outer)] + _wrong(found)
        elif self._same.is_given:
            named = [node for node in [*named, *_wrong(found)] if self._same.accepts(node.type)]
        wrong = {node.friendly_name for node in named}
        return like.layers if like is not None and (not wrong or wrong & {*like.layers}) else tuple(sorted(wrong))

    def _found(self, case: Case, like: Fault | None) -> Fault | None:
        try:
            found = self.runtime.load(case.model).results(case.steps)
        except CannotWrite:
            return None
        except Died as error:
            return Fault(error.how, str(error).partition(": ")[0], str(error))
        except CannotRun as error:
            return Fault("refusal", words_of(str(error)), str(error))
        least = _STILL_CLEAR if like is not None and like.excess >= _CLEAR else 1.0
        faults = (self._differs(case, step, found[step], least) for step in range(len(case.steps)))
        return next((fault for fault in faults if fault is not None), None)

    def _differs(self, case: Case, step: int, found: Sequence[Array], least: float) -> Fault | None:
        tolerance = combined(map(tolerance_of, case.layers))
        if tolerance.kind == "random":
            return None
        allowed = tolerance._replace(ulp=tolerance.ulp * least)
        error, agrees = judged(case.model, case.steps[: step + 1], found, allowed, self.bounds)
        if agrees:
            return None
        kind = case.model.outputs[0].element_type
        text = str(self.bounds) if self.bounds is not None else tolerance_text(tolerance, kind)
        message = f"{self.name} computes a different result: error {shown_error(error)}, tolerance {text}"
        return Fault("difference", _kind_of(error), message, min(error.ulp / max(tolerance.ulp, 1.0), _CLEAR))


def _wrong(found: Comparison) -> list[Node]:
    """Return the layers that are wrong by themselves."""
    return [node for row in found.layers if not row.agrees for node in (row.node, *row.behind)]


def _inside(node: Node) -> list[Node]:
    """Return a layer and the layers of its bodies."""
    return [node, *(inner for body in node.bodies for inner in body.model.walk())]


def _kind_of(error: Error) -> str:
    return "a number" if math.isfinite(error.absolute) else "no number"


def words_of(message: str) -> str:
    """Return the part of a message that is independent of names and sizes."""
    return " ".join(re.findall(r"(?<![\w/'\".])[A-Za-z]{2,}(?![\w/'\".])", message))


class ByCommand:
    """A judge: a case fails if a command that is given its file has the same exit code as for the whole model.

    `same`, if given, is matched with the output of the command and alone decides. `suffix`: the suffix of the file.
    """

    def __init__(self, command: str, limit: float | None, same: Sameness | None = None, suffix: str = ".xml") -> None:
        """`command` contains {} for the file. Raises WrongArgument if {} is missing or quotes are not closed."""
        try:
            self.words, self.limit, self.name = shlex.split(command), limit, command
        except ValueError as error:
            raise WrongArgument(f"{command}: {error}") from None
        self.hint: str | None = None
        self._same, self._suffix = same or Sameness(), suffix
        if not any("{}" in word for word in self.words):
            raise WrongArgument("the command must contain {} for the file of the model")

    def fault(self, case: Case, like: Fault | None = None) -> Fault | None:
        with tempfile.TemporaryDirectory(prefix="irexec-") as folder:
            file = Path(folder) / f"model{self._suffix}"
            save_case(case, file)
            words = [word.replace("{}", str(file)) for word in self.words]
            return self._same.first(lambda: self._attempt(words))

    def _attempt(self, words: Sequence[str]) -> Fault | None:
        try:
            code, printed = outcome(words, self.limit)
        except OSError as error:
            raise CannotRun(f"{words[0]} cannot be run: {error.strerror or error}") from None
        if code == 0 or not self._same.accepts(printed):
            return None
        if code is None:
            return Fault("hang", "", f"{self.name} does not finish within {self.limit:g} s")
        return Fault("exit code", "" if self._same.is_given else str(code), f"{self.name} exits with code {code}")
