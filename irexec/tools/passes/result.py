"""The outcome of `passes`: the verdict about each pass that changed the graph, and about the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from irexec.model.arrays.brief import plural
from irexec.tools.compare.errors import NONE, Error, off, shown_part
from irexec.tools.diff.change import Change

Outcome = Literal["same", "rounding", "precision", "wrong", "unknown"]
"""What a pass does to the results: nothing, other rounding, another precision, an error; or its graph was not run."""


@dataclass(slots=True)
class Pass:
    """A pass that changed the graph, compared with the graph before it.

    `error`: the largest difference of a result to the graph before, `output`: the result. `changes`: the differences of
    the graphs; `change`: the most important ones in a few words. `restored`: the results agree with the model again,
    after a wrong pass. `reason`: why the graph was not run, or which precision the pass changes.
    """

    number: int
    name: str
    outcome: Outcome
    error: Error = NONE
    output: str = ""
    changes: Sequence[Change] = ()
    change: str = ""
    restored: bool = False
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        found: dict[str, Any] = {"number": self.number, "name": self.name, "outcome": self.outcome}
        found |= {"error": self.error.to_dict(), "output": self.output, "restored": self.restored}
        return found | {
            "reason": self.reason,
            "change": self.change,
            "changes": [change.to_dict() for change in self.changes],
        }


@dataclass(slots=True)
class Kernels:
    """The runtime's results, compared with the last graph that was run; `reason` if they are not known: None for
    `agrees`, or False if the runtime fails to compute them.
    """

    agrees: bool | None
    error: Error = NONE
    output: str = ""
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {"agrees": self.agrees, "error": self.error.to_dict(), "output": self.output, "reason": self.reason}


@dataclass(slots=True)
class PassesFound:
    """The passes that changed the graph, in order, and the kernels. `total`: the number of all passes."""

    runtime: str
    file: str | None
    total: int
    passes: list[Pass] = field(default_factory=list)
    kernels: Kernels = field(default_factory=lambda: Kernels(None))
    bodies: int = 0
    """The number of graphs of bodies, which are not run by themselves."""
    ended: str = ""
    """Why compiling ended early: after the last pass, the plugin makes its kernels."""
    last: str = ""
    """The last pass of a compilation that ended early."""

    @property
    def wrong(self) -> list[Pass]:
        """The passes that are wrong."""
        return [one for one in self.passes if one.outcome == "wrong"]

    @property
    def unknown(self) -> list[Pass]:
        """The passes whose graphs could not be run."""
        return [one for one in self.passes if one.outcome == "unknown"]

    @property
    def agrees(self) -> bool:
        """Whether no pass that stays is wrong, and the kernels agree."""
        return not self.wrong and not self.ended and self.kernels.agrees is not False

    @property
    def cause(self) -> str:
        """The cause of wrong results: "pass", "kernel", or empty. "compiler" if compiling ends early."""
        if self.wrong:
            return "pass"
        return "compiler" if self.ended else "kernel" if self.kernels.agrees is False else ""

    @property
    def verdict(self) -> str:
        """The result in one line."""
        if self.wrong:
            first = self.wrong[0]
            change = f": {first.change}" if first.change else ""
            return f"first wrong pass: {first.name} ({first.number} of {self.total}){change}"
        if self.ended:
            return f"compiling fails after {self.last} ({self.total}): {self.ended}"
        if self.kernels.agrees is False:
            what = self.kernels.reason or f"result {self.kernels.output} is {off(self.kernels.error)}"
            return f"{self._kept}: the kernels are wrong: {what}"
        if self.unknown:
            return f"no wrong pass was found, but {_graphs(len(self.unknown))} could not be run"
        return (
            f"{self._kept}: the kernels could not be judged"
            if self.kernels.agrees is None
            else (f"all {self.total} passes and the kernels keep the results")
        )

    @property
    def _kept(self) -> str:
        number = plural(self.total - len(self.unknown), "pass").replace("passs", "passes")
        return f"{number} that could be judged keep the results" if self.unknown else f"all {number} keep the results"

    @property
    def rounding(self) -> list[str]:
        """The passes that change rounding only, with the differences."""
        return [f"{one.name} ({shown_part(one.error)})" for one in self.passes if one.outcome == "rounding"]

    def to_dict(self) -> dict[str, Any]:
        """Return the passes as JSON-ready values."""
        return {
            "kind": "passes",
            "runtime": self.runtime,
            "file": self.file,
            "total": self.total,
            "verdict": self.verdict,
            "cause": self.cause,
            "ended": self.ended,
            "kernels": self.kernels.to_dict(),
            "passes": [one.to_dict() for one in self.passes],
        }


def _graphs(count: int) -> str:
    return plural(count, "graph")
