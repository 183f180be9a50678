"""`passes` as a function."""

from __future__ import annotations

from dataclasses import dataclass, fields

from irexec.tools.functions.beside import Beside
from irexec.tools.functions.command import function_of
from irexec.tools.functions.result import Result
from irexec.tools.passes import result
from irexec.tools.passes.find import device_of, find_passes
from irexec.tools.render.passes import show_passes
from irexec.tools.render.printing import Printout
from irexec.tools.status import Status


@dataclass(slots=True, repr=False)
class Passes(Result, result.PassesFound):
    """The passes of OpenVINO's compiler that changed the graph: `passes`, `wrong`, `kernels`, `cause`, `verdict`."""

    verdict = result.PassesFound.verdict

    @property
    def exit_code(self) -> int:
        return 0 if self.agrees else 1

    def show(self, page: Printout, *, all_passes: bool = False) -> None:
        show_passes(self, page, all_passes=all_passes)


@dataclass(frozen=True)
class FindPasses(Beside[Passes]):
    """Find the pass of OpenVINO's compiler that changes the results of a model, as `irexec passes` does.

    `other`: "openvino" or "openvino:DEVICE". The other arguments are those of `compare`. Raises IRError for a model
    that cannot be run, and RuntimeError if OpenVINO cannot compile it.
    """

    other: str = "openvino"

    def work(self, status: Status) -> Passes:
        status.show("compiling")
        found = find_passes(
            self.reference(),
            device=device_of(self.other),
            config=self.config,
            limit=self.timeout,
            compiling=lambda passes: status.show(f"compiling: {passes} passes"),
            progress=lambda done, total: status.count(done, total, "graphs run"),
        )
        return Passes(**{field.name: getattr(found, field.name) for field in fields(found)})


passes = function_of(FindPasses, "passes")
