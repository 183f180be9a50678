"""Reducing: from a model that fails to the smallest that still fails in the same way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from irexec.debug.case import Case, case_of, part_of
from irexec.debug.compare import compare
from irexec.debug.culprit import Culprit, alone
from irexec.debug.errors import Bounds
from irexec.debug.record import Reference
from irexec.debug.runtimes import CannotRun, Runtime
from irexec.debug.stages import STAGES, Stage
from irexec.debug.verdict import Fault, Judge
from irexec.diagnostics import IRError
from irexec.graph.copies import copied
from irexec.graph.cut import Cutter, needed_by


@dataclass(slots=True)
class Reduction:
    """The smallest case so far and how it fails, which is as `fault` was from the beginning.

    `stage` is the one in progress, `tried` counts candidates, `changed` is whether something became smaller
    since the first stage began the last time.
    """

    case: Case
    fault: Fault
    said: str
    stage: int = 0
    changed: bool = False
    tried: int = 0
    done: bool = False
    history: list[tuple[str, int, int]] = field(default_factory=list)


class Watcher(Protocol):
    """Is told about the progress of a reduction."""

    def tried(self, reduction: Reduction, stage: Stage, smaller: bool) -> None:
        """One more candidate was tried; `smaller`: it is the smallest case so far."""


def whole(reference: Reference) -> Case:
    """A model with its inputs as a case. Raises IRError and ValueError."""
    return case_of(copied(reference.model), reference.steps)


def begin(judge: Judge, cases: Iterable[Case]) -> Reduction | None:
    """The first of the cases that fails; None where none does. Raises CannotRun."""
    for case in cases:
        fault = judge.fault(case)
        if fault is not None:
            return Reduction(case, fault, fault.said)
    return None


def guesses(reference: Reference, runtime: Runtime, bounds: Bounds | None = None) -> Iterator[Case]:
    """Candidates for a failing part, the smallest first: layers that a comparison names, the model up to them, all."""
    try:
        compared = compare(reference, runtime, bounds=bounds)
        found = compared.culprit or compared.suspect
        found = found if found is not None and found.outputs else None
    except CannotRun:
        found = None
    entire = whole(reference)
    for guess in (_alone, _up_to) if found is not None else ():
        assert found is not None
        try:
            yield guess(found, reference)
        except (IRError, ValueError):
            continue
    yield entire


def _alone(culprit: Culprit, reference: Reference) -> Case:
    begins, part = alone(Cutter(culprit.model), culprit.nodes, list(culprit.outputs), culprit.inputs)
    return case_of(copied(part), [[culprit.inputs[value] for value in begins]])


def _up_to(culprit: Culprit, reference: Reference) -> Case:
    if culprit.outer:
        raise ValueError("a layer of a body cannot become a result")
    case = Case(reference.model, reference.steps, [])
    return part_of(case, needed_by(culprit.nodes), list(culprit.outputs))


def reduce(
    reduction: Reduction, judge: Judge, watchers: Sequence[Watcher] = (), stages: Sequence[Stage] = STAGES
) -> Reduction:
    """Go through the stages until none makes the case smaller. An exception on the way leaves `reduction` whole: going
    on with it, or with one that has its case, fault and stage, takes up the work there."""
    while not reduction.done:
        stage = stages[reduction.stage]
        _work(reduction, stage, judge, watchers)
        reduction.stage += 1
        if reduction.stage == len(stages):
            reduction.stage, reduction.done, reduction.changed = 0, not reduction.changed, False
    return reduction


def _work(reduction: Reduction, stage: Stage, judge: Judge, watchers: Sequence[Watcher]) -> None:
    base, before, size = reduction.case, reduction.tried, reduction.case.size

    def fails(kept: list[Any]) -> bool:
        try:
            candidate = stage.keep(base, kept)
        except (IRError, ValueError):
            return False
        reduction.tried += 1
        found = judge.fault(candidate, reduction.fault)
        same = found is not None and found == reduction.fault
        if found is not None and same:
            reduction.case, reduction.said, reduction.changed = candidate, found.said, True
        for watcher in watchers:
            watcher.tried(reduction, stage, same)
        return same

    things = stage.things(base)
    if things:
        stage.search(things, fails)
    if reduction.tried > before:
        reduction.history.append((stage.name, reduction.tried - before, size - reduction.case.size))
