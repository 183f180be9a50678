"""The failure of a model, searched in releases and in settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from irexec.tools.bisect.bisect import Bisection, bisect
from irexec.tools.bisect.by_model import ByModel
from irexec.tools.bisect.environments import Environments, package_of, version_key
from irexec.tools.bisect.log import Log
from irexec.tools.bisect.settings import Search, SettingsFound
from irexec.tools.compare.errors import Bounds
from irexec.tools.compare.runtimes.onnx_runtime import OnnxRuntime
from irexec.tools.compare.runtimes.openvino_runtime import OpenVINO
from irexec.tools.compare.runtimes.separate import Apart
from irexec.tools.reduce.verdict import Fault
from irexec.tools.run.record import Reference


@dataclass
class OfModel:
    """The failure of irexec's run of a model beside a runtime: `fault`, or else the first one that is found.

    `other`: openvino[:DEVICE] or onnxruntime. `config`: its properties. `limit`: seconds for each answer.
    """

    reference: Reference
    other: str
    environments: Environments
    config: Mapping[str, str]
    bounds: Bounds | None = None
    limit: float | None = 600.0
    progress: Callable[[str], None] = lambda text: None
    fault: Fault | None = None

    def __post_init__(self) -> None:
        self._check = ByModel(self.reference, lambda python: self._runtime(python), self.bounds)
        self._check.fault = self.fault

    def releases(self, releases: str, log: Log | None = None) -> Bisection:
        """Return the first release with another answer. `releases`: A,B,C or A..B. `log`: the answers that are known.

        Raises NoRelease and CannotRun.
        """
        if log is not None and log.fault is not None:
            self._check.fault = log.fault

        def keep(failures: Mapping[str, bool]) -> None:
            if log is not None:
                log.keep(failures, self._check.fault)

        self._check.has_asked = log is not None and bool(log.failures)
        wanted, known = self.environments.releases(releases), {} if log is None else log.failures
        found = bisect(self._check, wanted, self.environments, self.progress, known, keep)
        found.failure, found.others = self._check.message, self._check.others
        return found

    def settings(self, searched: Bisection | None = None) -> SettingsFound:
        """Return the settings that remove the failure, in the newest release that was found to have it, or else in
        the newest that is given, or else in the installed one. Raises NoRelease and CannotRun.
        """
        failing = [] if searched is None else [release for release, fails in searched.failures.items() if fails]
        release = max(failing or self.environments.given, key=version_key, default=None)
        python = "" if release is None else self.environments.python(release)

        def runtime_of(config: Mapping[str, str], environment: Mapping[str, str], cached: bool) -> Apart:
            return self._runtime(python, config, environment, cached)

        return Search(self._check, runtime_of, self.progress).run()

    def _runtime(
        self,
        python: str,
        config: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
        cached: bool = False,
    ) -> Apart:
        kind, given = package_of(self.other), {**self.config, **(config or {})}
        if kind == "onnxruntime":
            return OnnxRuntime(given, limit=self.limit, python=python)
        device = self.other.partition(":")[2]
        return OpenVINO(
            device, given, self.reference.model, limit=self.limit, python=python, environment=environment, cached=cached
        )
