"""Reducing: from a model that fails to the smallest model that still fails in the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol

from irexec.core.diagnostics import IRError
from irexec.model.graph.copies import copied
from irexec.model.graph.cut import Cutter, needed_by
from irexec.tools.compare.compare import compare
from irexec.tools.compare.culprit import Culprit, alone
from irexec.tools.compare.delta import one_by_one
from irexec.tools.compare.errors import Bounds
from irexec.tools.compare.runtimes.runtime import CannotRun, Runtime
from irexec.tools.reduce.case import Case, case_of, part_of
from irexec.tools.reduce.stages import STAGES, Stage
from irexec.tools.reduce.verdict import Fault, Judge
from irexec.tools.run.record import Reference


@dataclass(slots=True)
class Reduction:
    """The smallest case so far and its failure, which is the same as the initial `fault`.

    `stage` is the stage in progress, `tried` counts candidates, `changed` is whether the case became smaller since the
    first stage last began.
    """

    case: Case
    fault: Fault
    message: str
    stage: int = 0
    changed: bool = False
    tried: int = 0
    done: bool = False
    history: list[tuple[str, int, int]] = field(default_factory=list)


class Watcher(Protocol):
    """Receives the progress of a reduction."""

    def tried(self, reduction: Reduction, stage: Stage, smaller: bool) -> None:
        """Handle one more tried candidate; `smaller`: it is the smallest case so far."""


def whole(reference: Reference) -> Case:
    """Return a model with its inputs as a case. Raises IRError and ValueError."""
    return case_of(copied(reference.model), reference.steps)


def begin(judge: Judge, cases: Iterable[Case]) -> Reduction | None:
    """Return a reduction that starts with the first case that fails; None if all pass. Raises CannotRun."""
    for case in cases:
        fault = judge.fault(case)
        if fault is not None:
            return Reduction(case, fault, fault.message)
    return None


def guesses(reference: Reference, runtime: Runtime, bounds: Bounds | None = None) -> Iterator[Case]:
    """Yield parts of the model that may fail, the smallest first: the layers that a comparison names, the model up to
    these layers, the whole model.
    """
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
    begins, part = alone(
        Cutter(culprit.model), culprit.together or culprit.nodes, list(culprit.outputs), culprit.inputs
    )
    return case_of(copied(part), [[culprit.inputs[value] for value in begins]])


def _up_to(culprit: Culprit, reference: Reference) -> Case:
    if culprit.outer:
        raise ValueError("a layer of a body cannot become a result")
    case = Case(reference.model, reference.steps, [])
    return part_of(case, needed_by(culprit.together or culprit.nodes), list(culprit.outputs))


def reduce(
    reduction: Reduction,
    judge: Judge,
    watchers: Sequence[Watcher] = (),
    stages: Sequence[Stage] = STAGES,
    helpers: Sequence[Judge] = (),
) -> Reduction:
    """Run the stages until no stage makes the case smaller. After an exception, a call with the same `reduction`, or
    with another one that has its case, fault and stage, continues the work.

    `helpers`: further judges of the same failure, each of which tries another candidate at the same time.
    """
    judges = [judge, *helpers]
    with ThreadPoolExecutor(len(judges)) as pool:
        while not reduction.done:
            stage = stages[reduction.stage]
            _Work(reduction, stage, judges, watchers, pool).run()
            reduction.stage += 1
            if reduction.stage == len(stages):
                reduction.stage, reduction.done, reduction.changed = 0, not reduction.changed, False
    return reduction


class _Work:
    """One stage of a reduction."""

    def __init__(
        self, reduction: Reduction, stage: Stage, judges: Sequence[Judge], watchers: Sequence[Watcher], pool: Executor
    ) -> None:
        self.reduction, self.stage, self._watchers, self._pool = reduction, stage, watchers, pool
        self._base, self._judges = reduction.case, judges

    def run(self) -> None:
        reduction, before, size = self.reduction, self.reduction.tried, self._base.size
        things = self.stage.things(self._base)
        if things:
            self.stage.search(things, self._fails, self._earliest if len(self._judges) > 1 else one_by_one)
        if reduction.tried > before:
            reduction.history.append((self.stage.name, reduction.tried - before, size - reduction.case.size))

    def _fails(self, kept: list[Any]) -> bool:
        return self._taken(*self._judged(self._judges[0], kept))

    def _earliest(self, fails: Callable[[list[Any]], bool], subsets: Iterable[list[Any]]) -> tuple[int, int]:
        """Return the position of the first failing candidate, or -1, and the number of candidates judged."""
        known = 0
        for some in _batched(subsets, len(self._judges)):
            found = list(self._pool.map(self._judged, self._judges, some))
            for place, (candidate, fault) in enumerate(found):
                if self._taken(candidate, fault):
                    return known + place, known + place + 1
            known += len(some)
        return -1, known

    def _judged(self, judge: Judge, kept: list[Any]) -> tuple[Case | None, Fault | None]:
        try:
            candidate = self.stage.keep(self._base, kept)
        except (IRError, ValueError):
            return None, None
        return candidate, judge.fault(candidate, self.reduction.fault)

    def _taken(self, candidate: Case | None, found: Fault | None) -> bool:
        """Return whether a candidate fails in the same way; if so, it becomes the smallest case."""
        if candidate is None:
            return False
        reduction = self.reduction
        reduction.tried += 1
        same = found is not None and found == reduction.fault
        if found is not None and same:
            reduction.case, reduction.message, reduction.changed = candidate, found.message, True
        for watcher in self._watchers:
            watcher.tried(reduction, self.stage, same)
        return same


def _batched(subsets: Iterable[list[Any]], count: int) -> Iterator[list[list[Any]]]:
    """Yield groups of items that are tried together."""
    rest = iter(subsets)
    while some := list(islice(rest, count)):
        yield some
