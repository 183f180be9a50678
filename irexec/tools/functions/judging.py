"""`conformance` as a function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from irexec.core.arguments import expected
from irexec.model.arrays.brief import plural
from irexec.tools.compare.runtimes.hosted import Unusable
from irexec.tools.conformance.block import JudgeBlock
from irexec.tools.conformance.campaign import QUICK, Extent, items_of, task_of
from irexec.tools.conformance.clusters import clusters_of
from irexec.tools.conformance.report import failures, to_json
from irexec.tools.conformance.results import Finding, Tally
from irexec.tools.conformance.verdict import OUTCOMES
from irexec.tools.functions.command import Command, function_of
from irexec.tools.functions.result import Result
from irexec.tools.render.conformance import conformance_text
from irexec.tools.render.printing import Printout
from irexec.tools.status import Status


@dataclass(frozen=True, slots=True, repr=False)
class Conformance(Result):
    """How a runtime computes many cases. `results`: the counts and findings of all of them."""

    results: Tally
    seed: int = 0

    @property
    def failures(self) -> list[Finding]:
        """The cases in which the runtime is wrong."""
        return failures(self.results)

    @property
    def agrees(self) -> bool:
        """Whether the runtime is wrong in no case."""
        return not self.failures

    @property
    def rows(self) -> list[dict[str, object]]:
        """A row for each case that did not pass: `pandas.DataFrame(rows)` is a table. `outcome`: the runtime agrees
        (the page leaves the result open), differs or fails; `verdict` and `detail`: why.
        """
        return [
            {
                "operator": found.operator,
                "type": found.facts.get("type", ""),
                "shapes": found.kind,
                "outcome": OUTCOMES[found.word],
                "verdict": found.word,
                "detail": found.detail,
                "case": found.name,
            }
            for found in self.results.findings
        ]

    @property
    def verdict(self) -> str:
        """The number of failures and of cases, in one line."""
        of = f"of {plural(sum(self.results.totals.values()), 'case')} in {self.results.title}"
        return f"{plural(len(self.failures), 'failure')} {of}"

    def to_dict(self) -> dict[str, Any]:
        """Return the results as `irexec conformance -o` writes them."""
        failed = self.failures
        return to_json(self.results, clusters_of(failed, self.results), failed, self.seed)

    def show(self, page: Printout) -> None:
        for line in conformance_text(self.to_dict()).splitlines():
            page.line(line)


@dataclass(frozen=True)
class JudgeCases(Command[Conformance]):
    """Test a runtime with generated cases of all operators and of graphs, as `irexec conformance` does.

    `runtime`: "openvino", "onnxruntime", "irexec", "reference" or "FILE.py:Class". `only`: operators and patterns, such
    as "Conv*"; `cases`: how many of each; `case`: the names of single cases instead. `frontend`: "onnx" for models of
    one ONNX node. `mode`: "lowered" or "kernels" of irexec. `timeout`: seconds for each case. Raises ValueError for
    names that do not exist, and RuntimeError for a runtime that cannot be used.
    """

    runtime: str = "openvino"
    only: str | Sequence[str] = ()
    _: KW_ONLY
    case: str | Sequence[str] = ()
    cases: int = QUICK
    frontend: str = "ir"
    device: str = "CPU"
    mode: str = "lowered"
    config: Mapping[str, str] | None = None
    python: str = ""
    seed: int = 0
    timeout: float | None = 60.0

    def task(self) -> JudgeBlock:
        """Return the task that judges cases."""
        return task_of(
            self.runtime, self.config or {}, device=self.device, mode=self.mode, python=self.python, seed=self.seed,
            limit=None if self.timeout is None else float(self.timeout),
        )  # fmt: skip

    def work(self, status: Status) -> Conformance:
        expected(self.cases, int, "conformance")
        task, total = self.task(), Tally()
        try:
            for items in items_of(
                _several(self.case), _several(self.only), Extent(self.cases), self.frontend, self.seed
            ):
                for item in items:
                    total.add(task(item))
                    status.show(f"{plural(sum(total.totals.values()), 'case')} judged")
        except Unusable as error:
            raise RuntimeError(str(error)) from None
        return Conformance(total, self.seed)


conformance = function_of(JudgeCases, "conformance")


def _several(names: str | Sequence[str]) -> Sequence[str]:
    return [names] if isinstance(names, str) else names
