"""The work of a campaign in blocks: some cases of one operator or graph pattern, as a task of `irexec.parallel`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from irexec.conformance.case import Case, operator_named
from irexec.conformance.defendant import KNOWN, OUT_OF_MEMORY, Answer, Defendant, Unusable
from irexec.conformance.drawing import draw, made
from irexec.conformance.grown import NAME as GROWN
from irexec.conformance.grown import draw_grown, grown_case, simpler_grown
from irexec.conformance.names import CaseName
from irexec.conformance.results import Finding, Tally
from irexec.conformance.verdict import FAILED, Verdict, judge_case
from irexec.diagnostics import IRError
from irexec.parallel.task import PathLike, Task
from irexec.records import replace


@dataclass(frozen=True)
class JudgeBlock(Task[Tally]):
    """Judges the cases of an item `OPERATOR#FIRST+COUNT`, or a single case by its name.

    `runtime`, `config`, `python` and `limit` are the parameters of `Defendant`; `config` is JSON.
    """

    words = (Tally, Finding)

    runtime: str
    config: str = "{}"
    python: str = ""
    seed: int = 0
    limit: float = 60.0

    def __call__(self, item: str) -> Tally:
        """Judge the cases; while two processes of the runtime run cases, earlier cases are judged and later cases are
        drawn.
        """
        found = Tally()
        running: list[tuple[Case, Defendant]] = []
        for one in parts_of(item):
            try:
                case = case_of(one, self.seed)
            except MemoryError:
                family = one.partition("#")[0].partition("/")[0]
                found.count(family, "?", "?", "invalid", [])
                found.findings.append(Finding(one, "invalid", OUT_OF_MEMORY, family, "?"))
                continue
            if case is None:
                continue
            answered: list[tuple[Case, Defendant, Answer]] = []
            while (defendant := self._free(case, running)) is None:
                before, busy = running.pop(0)
                answer = busy.finish()
                if answer.how in ("crash", "hang"):
                    self._judge(found, before, busy, answer)  # The case runs again, alone.
                else:
                    answered.append((before, busy, answer))
            try:
                defendant.begin(case)
                running.append((case, defendant))
            except IRError as error:
                message = f"the model cannot be written: {error.report.errors[0].message}"
                self._count(found, case, Verdict("invalid", message))
            for before, busy, answer in answered:
                self._judge(found, before, busy, answer)
        for case, defendant in running:
            self._judge(found, case, defendant, defendant.finish())
        return found

    def _free(self, case: Case, running: list[tuple[Case, Defendant]]) -> Defendant | None:
        """Return a process of the runtime that runs no case; None if as many as are used at a time run one. A user's
        class, which may need a device for itself, has one process for each of its settings.
        """
        if len(running) == _AT_ONCE:
            return None
        numbers = range(_AT_ONCE if case.config == "f32" and self.runtime in KNOWN else 1)
        processes = (self.defendant(case, number) for number in numbers)
        return next((process for process in processes if all(process is not busy for _, busy in running)), None)

    def settings(self, case: Case) -> dict[str, str]:
        """Return the settings of the runtime for a case."""
        config = json.loads(self.config)
        found: dict[str, str] = config.get(case.config, config.get("f32", {}))
        return found

    def defendant(self, case: Case, number: int = 0) -> Defendant:
        """Return the runtime with the settings for a case. `number`: which of its processes with these settings."""
        return _defendant(self.runtime, json.dumps(self.settings(case)), self.python, self.limit, number)

    def _judge(self, found: Tally, case: Case, defendant: Defendant, answer: Answer) -> None:
        found.runtime = defendant.described.get("name", "the runtime")
        small = case
        try:
            with np.errstate(all="ignore"):
                verdict = judged_answer(case, answer, defendant)
                if verdict.word == "wrong" and self.runtime != "onnxruntime" and (second := opinion(case)):
                    verdict.detail += f"; {second}"
                if verdict.word in FAILED and case.operator == GROWN:
                    small, verdict = smaller(case, verdict, defendant)
        except Unusable:
            raise
        except MemoryError:
            verdict = Verdict("invalid", OUT_OF_MEMORY)
        except Exception as error:
            # A case that cannot be judged does not end a campaign of hours; it is listed with the reason.
            verdict = Verdict("invalid", f"cannot be judged: {type(error).__name__}: {error}")
        self._count(found, case, verdict, small)

    def _count(self, found: Tally, case: Case, verdict: Verdict, small: Case | None = None) -> None:
        """Count a case; a failure is listed in its simplest form."""
        attributes = [(k[10:], v) for k, v in case.facts.items() if k.startswith("attribute ")]
        found.count(case.operator, case.facts.get("type", "f32"), case.kind, verdict.word, attributes)
        if verdict.word != "passed":
            listed = small or case
            found.findings.append(
                Finding(
                    listed.name, verdict.word, verdict.detail, listed.operator, listed.kind, listed.facts,
                    verdict.call, verdict.output,
                )
            )  # fmt: skip
        case.model.dissolve()

    def files(self, item: str) -> list[PathLike]:
        return []


def opinion(case: Case) -> str:
    """Return ONNX Runtime's verdict on a case; an empty text if it is not installed or ONNX lacks an operator."""
    try:
        defendant = _defendant("onnxruntime", "{}", "", _SECOND_LIMIT, 0)
        answer = defendant.run(case)
    except (Unusable, IRError):
        return ""
    if answer.how != "results":
        return ""
    word = judge_case(case, answer, defendant.described).word
    return {"passed": "ONNX Runtime agrees with irexec", "wrong": "ONNX Runtime also differs from irexec"}.get(word, "")


def smaller(case: Case, verdict: Verdict, defendant: Defendant) -> tuple[Case, Verdict]:
    """Reduce a grown graph to the fewest layers that still fail in the same way: its layers then show the cause."""
    tries, progress = _CRASHES if verdict.word in ("crash", "hang") else _TRIES, True
    while progress and tries > 0:
        progress = False
        for name in simpler_grown(case.name):
            if tries <= 0:
                break
            try:
                trial = grown_case(name)
            except (IRError, ValueError, TypeError, IndexError):
                continue
            tries -= 1
            found = judged(trial, defendant)
            if found.word == verdict.word:
                case, verdict, progress = trial, found, True
                break
    return case, verdict


def judged(case: Case, defendant: Defendant) -> Verdict:
    """Run and judge a case; after a crash or a hang, the case runs again, alone."""
    try:
        answer = defendant.run(case)
    except IRError as error:
        return Verdict("invalid", f"the model cannot be written: {error.report.errors[0].message}")
    return judged_answer(case, answer, defendant)


def judged_answer(case: Case, answer: Answer, defendant: Defendant) -> Verdict:
    """Judge an answer; a case whose process ended, or did not answer in time, runs again, alone."""
    if answer.how == "hang":
        answer = defendant.run(case)  # Another program may have delayed the answer.
    elif answer.how == "crash":
        again: Answer = defendant.run(case)
        if again.how != "crash":
            note = "the process ended, but not when the case ran alone"
            return (
                Verdict("crash", f"{answer.message} ({note})")
                if again.how == "hang"
                else _later(case, again, defendant)
            )
    verdict = judge_case(case, answer, defendant.described)
    if verdict.word == "type" and defendant.is_class:
        kind = case.model.outputs[verdict.output].element_type
        if kind.dtype is not None and kind.dtype.isbuiltin != 1:
            verdict.detail += f": return {kind.name} as its bits, uint{8 * kind.dtype.itemsize}"
    if verdict.word == "error" and (_UNSUPPORTED.search(verdict.detail) or _is_refused(case, defendant)):
        # A runtime may refuse certain shapes or attributes, even as late as at inference.
        verdict.word = "refused"
    return verdict


def _is_refused(case: Case, defendant: Defendant) -> bool:
    """Return whether the runtime refuses a call of this case in a model with the static shapes of this call."""
    if case.kind == "static" or case.operator.startswith("graph."):
        return False
    name = CaseName.parse(case.name)
    forms = (name.with_ports([None if p is None else p.in_call(call) for p in name.ports]) for call in set(name.calls))
    cases = (made(replace(form, flags=())) for form in forms)
    return any(case is not None and defendant.run(case).how == "refused" for case in cases)


_UNSUPPORTED = re.compile(r"not (yet )?(supported|implemented)|unsupported|doesn't support", re.IGNORECASE)


def _later(case: Case, answer: Answer, defendant: Defendant) -> Verdict:
    """Run a case again, several times, and judge it: its process may have died because of an earlier case, or at
    random.
    """
    for _ in range(3):
        again = defendant.run(case)
        if again.how == "crash":
            return Verdict("crash", f"{again.message} (not in every run)")
    return judge_case(case, answer, defendant.described)


def parts_of(item: str) -> list[str]:
    """Return an item for each case of an item: `OPERATOR#NUMBER`, or the name of a case."""
    family, separator, numbers = item.partition("#")
    first, _, count = numbers.partition("+")
    return [f"{family}#{int(first) + n}" for n in range(int(count))] if separator else [item]


def case_of(one: str, seed: int) -> Case | None:
    """Return the case of a name or of `OPERATOR#NUMBER`; None if there is no legal case of this number."""
    from irexec.conformance.made import case_named

    family, separator, number = one.partition("#")
    return _drawer(family)(seed, int(number)) if separator else case_named(one)


def _drawer(family: str) -> Callable[[int, int], Case | None]:
    if family == GROWN:
        return draw_grown
    if family.startswith("graph."):
        from irexec.conformance.graphs import draw_graph

        return lambda seed, index: draw_graph(family, seed, index)
    operator = operator_named(family)
    return lambda seed, index: draw(operator, seed, index)


_SECOND_LIMIT = 20.0
_TRIES, _CRASHES = 40, 8
"""The number of cases that are run to reduce a failure, or a crash, after which each case needs a new process."""


_AT_ONCE = 2
"""The number of cases that run at a time, each in its own process."""


@lru_cache(maxsize=6)
def _defendant(runtime: str, config: str, python: str, limit: float, number: int) -> Defendant:
    return Defendant(runtime, json.loads(config), python=python, limit=limit)


__all__ = ["FAILED", "JudgeBlock", "judged"]
