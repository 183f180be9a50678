"""Passes of OpenVINO's compiler, judged on generated cases: which of them is wrong, and whether a failure is theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from irexec.core.diagnostics import IRError
from irexec.model.arrays.brief import plural
from irexec.tools.compare.runtimes.runtime import CannotRun
from irexec.tools.conformance.block import JudgeBlock, case_of, parts_of
from irexec.tools.conformance.case import Case
from irexec.tools.conformance.clusters import Cluster
from irexec.tools.conformance.made import case_named
from irexec.tools.passes.find import find_passes
from irexec.tools.passes.result import PassesFound
from irexec.tools.run.record import Reference

_FEW = 3


@dataclass(slots=True)
class WrongPass:
    """The cases for which one pass is wrong. `change`: what it changes in the first of them."""

    name: str
    change: str
    cases: list[str] = field(default_factory=list)


@dataclass(slots=True)
class PassTally:
    """The passes of many cases. `graphs`: the graphs that irexec was to run, `run`: those that it ran; `refused`: cases
    that OpenVINO or irexec does not accept.
    """

    runtime: str = ""
    cases: int = 0
    refused: int = 0
    graphs: int = 0
    run: int = 0
    wrong: dict[str, WrongPass] = field(default_factory=dict)
    unknown: dict[str, int] = field(default_factory=dict)
    """Reason → the number of graphs that were not run because of it."""

    def add(self, case: Case, found: PassesFound) -> None:
        """Count the passes of a case."""
        self.cases, self.runtime = self.cases + 1, found.runtime
        self.graphs += len(found.passes)
        self.run += len(found.passes) - len(found.unknown)
        for one in found.unknown:
            self.unknown[one.reason] = self.unknown.get(one.reason, 0) + 1
        for one in found.wrong:
            self.wrong.setdefault(one.name, WrongPass(one.name, one.change)).cases.append(case.name)

    def text(self) -> str:
        """Return the wrong passes, and the share of the graphs that were run."""
        share = f"{self.run} of {plural(self.graphs, 'graph')} run"
        refused = f", {self.refused} not accepted" if self.refused else ""
        lines = [f"{self.runtime}: passes of {plural(self.cases, 'case')}{refused}, {share}"]
        for one in sorted(self.wrong.values(), key=lambda one: -len(one.cases)):
            lines += ["", f"wrong pass: {one.name}: {plural(len(one.cases), 'case')}", f"  {one.change}"]
            lines += [f"  {name}" for name in sorted(one.cases, key=len)[:_FEW]]
        lines += [""] if self.unknown else []
        lines += [f"not run: {count} ({reason})" for reason, count in self.unknown.items()]
        return "\n".join(lines) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Return the passes as JSON-ready values."""
        return {
            "kind": "conformance of passes",
            "runtime": self.runtime,
            "cases": self.cases,
            "refused": self.refused,
            "graphs": self.graphs,
            "run": self.run,
            "wrong": [{"name": one.name, "change": one.change, "cases": one.cases} for one in self.wrong.values()],
            "unknown": self.unknown,
        }


def judge_passes(
    task: JudgeBlock, items: Iterable[str], tally: PassTally, progress: Callable[[int], None] = lambda done: None
) -> None:
    """Judge the passes of all cases of these items, see `JudgeBlock`."""
    for item in items:
        for one in parts_of(item):
            case = case_of(one, task.seed)
            if case is None:
                continue
            try:
                tally.add(case, _passes(task, case))
            except (CannotRun, IRError):
                tally.refused += 1
            progress(tally.cases + tally.refused)


def causes_of(
    task: JudgeBlock, clusters: Iterable[Cluster], progress: Callable[[str], None] = lambda text: None
) -> Mapping[str, str]:
    """Return for each cluster of failures, by its simplest case, which pass is wrong, or that kernels are."""
    found = {}
    for cluster in clusters:
        progress(cluster.title)
        name = cluster.simplest.name
        try:
            found[name] = _passes(task, case_named(name)).verdict
        except (CannotRun, IRError) as error:
            found[name] = f"not known: {error}"
    return found


def _passes(task: JudgeBlock, case: Case) -> PassesFound:
    config = {key: value for key, value in task.settings(case).items() if key != "device"}
    device = task.settings(case).get("device", "CPU")
    steps = [case.inputs[call] for call in case.calls]
    return find_passes(Reference(case.model, steps), device=device, config=config, limit=task.limit)
