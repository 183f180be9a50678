"""Reducing a model for which a pass is wrong: `irexec reduce --with passes`."""

from __future__ import annotations

from collections.abc import Mapping

from irexec.core.diagnostics import IRError
from irexec.tools.compare.runtimes.openvino_runtime import OpenVINO
from irexec.tools.compare.runtimes.runtime import CannotRun, CannotWrite
from irexec.tools.passes.find import find_passes
from irexec.tools.reduce.case import Case
from irexec.tools.reduce.verdict import Fault, Sameness
from irexec.tools.run.record import Reference


class ByPasses:
    """A judge: a case fails if a pass of OpenVINO's compiler is wrong; the failure is the same if it is the same pass.

    `same` is matched with the name of the pass and what it changes. `runtime` computes the results of the script.
    """

    def __init__(self, device: str, config: Mapping[str, str], limit: float | None, same: Sameness) -> None:
        """Raises CannotRun."""
        self._device, self._config, self._limit, self._same = device, dict(config), limit, same
        self.runtime = OpenVINO(device, self._config, limit=limit)
        self.name = f"the passes of {self.runtime.name}"
        self.hint: str | None = None

    def fault(self, case: Case, like: Fault | None = None) -> Fault | None:
        return self._same.first(lambda: self._attempt(case, like))

    def _attempt(self, case: Case, like: Fault | None) -> Fault | None:
        try:
            reference = Reference(case.model, case.steps)
            found = find_passes(reference, device=self._device, config=self._config, limit=self._limit)
        except CannotWrite:
            return None
        except (CannotRun, IRError):
            if like is None:
                raise
            return None
        for one in found.wrong:
            words = f"{one.name}: {one.change}"
            if self._same.accepts(words) and (like is None or one.name == like.detail):
                return Fault("difference", one.name, f"wrong pass of {self.runtime.name}: {words}")
        return None
