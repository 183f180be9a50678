"""OpenVINO as a runtime for comparisons: with any device and any properties, in any of its releases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from irexec.core.types import Array
from irexec.model.graph.model import Model, Value
from irexec.tools.compare.runtimes.hosted import KNOWN, LIMIT
from irexec.tools.compare.runtimes.runtime import Steps
from irexec.tools.compare.runtimes.separate import Apart, Remote


class OpenVINO(Apart):
    """One device of OpenVINO. `config` is passed unchanged. `original` is the model that it reads from its own
    file; every other model is written to a file for it. `cached`: models are loaded from a cache. `tracing`: a folder
    to which it writes the graph after each pass of a compilation. `python` and `environment`: see Worker. Raises
    CannotRun.
    """

    def __init__(
        self,
        device: str = "CPU",
        config: Mapping[str, str] | None = None,
        original: Model | None = None,
        *,
        limit: float | None = LIMIT,
        python: str = "",
        environment: Mapping[str, str] | None = None,
        cached: bool = False,
        tracing: str = "",
    ) -> None:
        given = dict(config or {})
        own = {"device": device or "CPU", "judged": "no", "cached": "yes" if cached else "", "tracing": tracing}
        super().__init__(
            KNOWN["openvino"], {**own, **given}, title="OpenVINO", original=original, limit=limit, python=python,
            environment=environment,
        )  # fmt: skip
        settings = ", ".join(f"{key}={value}" for key, value in given.items())
        self.name += f" ({settings})" if settings else ""

    @property
    def remote(self) -> type[Remote]:
        return _Loaded


class _Loaded(Remote):
    """A model loaded in OpenVINO, whose results can be exposed together with the values that they read."""

    def observe_with_results(
        self, steps: Steps, values: Sequence[Value | None]
    ) -> list[list[tuple[Array, Array | None]]]:
        shown = [None if value is None else self.shown(value) for value in values]
        found: list[list[Any]] = self._call("observe_with_results", steps, shown)
        return [[(result, value) for result, value in step] for step in found]
