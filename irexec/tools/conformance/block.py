"""The work of a campaign in blocks: some cases of one operator or graph pattern, as a task of tools/parallel."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from typing import NamedTuple

import numpy as np

from irexec.core.diagnostics import IRError
from irexec.core.records import replace
from irexec.tools.compare.runtimes.hosted import KNOWN, Unusable
from irexec.tools.conformance.case import Case, operator_named
from irexec.tools.conformance.defendant import OUT_OF_MEMORY, Answer, Defendant
from irexec.tools.conformance.drawing import draw, made
from irexec.tools.conformance.grown import NAME as GROWN
from irexec.tools.conformance.grown import draw_grown
from irexec.tools.conformance.names import CaseName
from irexec.tools.conformance.pipeline import AT_ONCE, Group, Run, runs
from irexec.tools.conformance.results import Finding, Tally
from irexec.tools.conformance.simpler import simplest
from irexec.tools.conformance.together import MOST, answers_of, groups_of
from irexec.tools.conformance.verdict import FAILED, Verdict, judge_case
from irexec.tools.parallel.task import PathLike, Task


class Judged(NamedTuple):
    """A verdict, and the case that is listed with it: the case itself, or a smaller one."""

    verdict: Verdict
    listed: Case


@dataclass(frozen=True)
class JudgeBlock(Task[Tally]):
    """Judges the cases of an item, which has blocks such as `OPERATOR#FIRST+COUNT`, or a single case by its name.

    `runtime`, `config`, `python` and `limit` are the parameters of `Defendant`; `config` is JSON.
    """

    words = (Tally, Finding)

    runtime: str
    config: str = "{}"
    python: str = ""
    seed: int = 0
    limit: float | None = 60.0

    def __call__(self, item: str) -> Tally:
        """Judge the cases. Cases that ran as one model have passed if their results are right; the others run again,
        alone.
        """
        found = Tally()
        drawn: list[Case] = []
        judged: dict[int, Judged] = {}
        again: deque[Group] = deque()
        groups = groups_of(self._drawn(item, drawn, found), self._most())
        with closing(runs(groups, again, self._free)) as answered:
            for run in answered:
                found.runtime = run.defendant.described.get("name", "the runtime")
                found.processor = run.defendant.described["processor"]
                for case, verdict in zip_longest(run.cases, self._verdicts(run)):
                    if verdict is None:
                        again.append([case])
                    else:
                        judged[id(case)] = verdict
                        case.model.dissolve()
        for case in drawn:
            _count(found, case, judged[id(case)])
        return found

    def _drawn(self, item: str, drawn: list[Case], found: Tally) -> Iterator[Case]:
        """Yield the cases of an item, and list them in `drawn`."""
        for one in parts_of(item):
            try:
                case = case_of(one, self.seed)
            except MemoryError:
                family = one.partition("#")[0].partition("/")[0]
                found.count(family, "?", "?", "invalid", {})
                found.findings.append(Finding(one, "invalid", OUT_OF_MEMORY, family, "?"))
                continue
            if case is not None:
                drawn.append(case)
                yield case

    def _most(self) -> int:
        """Return the number of cases that run as one model."""
        return MOST if self.defendant().description().get("together") == "yes" else 1

    def _free(self, case: Case, busy: list[Defendant]) -> Defendant | None:
        """Return a process of the runtime that runs no case. A user's class, which may need a device for itself, has
        one process for each of its settings.
        """
        numbers = range(AT_ONCE if case.config == "f32" and self.runtime in KNOWN else 1)
        processes = (self.defendant(case, number) for number in numbers)
        return next((process for process in processes if all(process is not one for one in busy)), None)

    def settings(self, case: Case | None = None) -> dict[str, str]:
        """Return the settings of the runtime for a case; without one, those for f32."""
        config = json.loads(self.config)
        found: dict[str, str] = config.get("f32" if case is None else case.config, config.get("f32", {}))
        return found

    def defendant(self, case: Case | None = None, number: int = 0) -> Defendant:
        """Return the runtime with the settings for a case. `number`: which of its processes with these settings."""
        return _defendant(self.runtime, json.dumps(self.settings(case)), self.python, self.limit, number)

    def _verdicts(self, run: Run) -> list[Judged | None]:
        """Return the verdict on a case that ran alone. Of several cases only those that have passed have a verdict."""
        try:
            answer = run.answer.result()
        except Unusable:
            raise
        except IRError as error:
            return _unrun(run, f"the model cannot be written: {error.report.errors[0].message}")
        except Exception as error:
            run.defendant.close()  # Its pipe may contain half a message.
            return _unrun(run, f"cannot be run: {type(error).__name__}: {error}")
        if len(run.cases) == 1:
            return [self._judge(run.cases[0], run.defendant, answer)]
        units = run.defendant.described
        pairs = zip(run.cases, answers_of(run.cases, answer), strict=False)
        return [Judged(Verdict("passed"), case) if _has_passed(case, own, units) else None for case, own in pairs]

    def _judge(self, case: Case, defendant: Defendant, answer: Answer) -> Judged:
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
            # A case that cannot be judged does not end a campaign that runs for hours; it is listed with the reason.
            verdict = Verdict("invalid", f"cannot be judged: {type(error).__name__}: {error}")
        return Judged(verdict, small)

    def files(self, item: str) -> list[PathLike]:
        return []


def _unrun(run: Run, reason: str) -> list[Judged | None]:
    """Return the verdict on a case that did not run; several cases run again, each alone."""
    return [Judged(Verdict("invalid", reason), run.cases[0])] if len(run.cases) == 1 else []


def _has_passed(case: Case, answer: Answer, units: Mapping[str, str]) -> bool:
    """Return whether the results are right; False if irexec cannot judge them."""
    try:
        with np.errstate(all="ignore"):
            return judge_case(case, answer, units).word == "passed"
    except Exception:
        return False


def _count(found: Tally, case: Case, judged: Judged) -> None:
    """Count a case; a failure is listed in its simplest form."""
    verdict, listed = judged
    found.count(case.operator, case.facts.get("type", "f32"), case.kind, verdict.word, case.facts)
    if verdict.word != "passed":
        found.findings.append(
            Finding(
                listed.name, verdict.word, verdict.detail, listed.operator, listed.kind, listed.facts,
                verdict.call, verdict.output,
            )
        )  # fmt: skip


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
    best = case, verdict

    def fails(trial: Case) -> bool:
        nonlocal best
        found = judged(trial, defendant)
        best = (trial, found) if found.word == verdict.word else best
        return found.word == verdict.word

    simplest(case.name, fails, _CRASHES if verdict.word in ("crash", "hang") else _TRIES)
    return best


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
    """Return the cases of an item, each as `OPERATOR#NUMBER`, or as its name."""
    if "#" not in item:
        return [item]
    found = []
    for block in item.split():
        family, _, numbers = block.partition("#")
        first, _, count = numbers.partition("+")
        found += [f"{family}#{int(first) + n}" for n in range(int(count))]
    return found


def case_of(one: str, seed: int) -> Case | None:
    """Return the case of a name or of `OPERATOR#NUMBER`; None if there is no legal case of this number."""
    from irexec.tools.conformance.made import case_named

    family, separator, number = one.partition("#")
    return _drawer(family)(seed, int(number)) if separator else case_named(one)


def _drawer(family: str) -> Callable[[int, int], Case | None]:
    if family == GROWN:
        return draw_grown
    if family.startswith("graph."):
        from irexec.tools.conformance.graphs import draw_graph

        return lambda seed, index: draw_graph(family, seed, index)
    if family.startswith("onnx."):
        from irexec.tools.conformance.onnx_cases import draw_onnx

        return lambda seed, index: draw_onnx(family, index)
    operator = operator_named(family)
    return lambda seed, index: draw(operator, seed, index)


_SECOND_LIMIT = 20.0
_TRIES, _CRASHES = 40, 8
"""The number of cases that are run to reduce a failure, or a crash, after which each case needs a new process."""


@lru_cache(maxsize=8)
def _defendant(runtime: str, config: str, python: str, limit: float | None, number: int) -> Defendant:
    return Defendant(runtime, json.loads(config), python=python, limit=limit)


__all__ = ["FAILED", "JudgeBlock", "judged"]
