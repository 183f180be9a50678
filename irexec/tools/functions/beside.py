"""Arguments of commands that run a model in irexec and beside it in another runtime."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TypeVar

from irexec.core.diagnostics import Refusal
from irexec.model.graph.model import Model
from irexec.tools.bisect.environments import Environments, package_of
from irexec.tools.compare.errors import Bounds
from irexec.tools.compare.runtimes.choose import runtime_of
from irexec.tools.compare.runtimes.runtime import Runtime
from irexec.tools.functions.command import Command
from irexec.tools.functions.given import Inputs, ModelLike, WeightsLike, model_of, reference_of
from irexec.tools.run.record import Reference

R = TypeVar("R")


@dataclass(frozen=True)
class Beside(Command[R]):
    """A model with its inputs, and the other side with its properties. A Reference is a model that has its inputs."""

    model: ModelLike | Reference
    other: str | os.PathLike[str] | Model | None
    inputs: Inputs | None = None
    _: KW_ONLY
    weights: WeightsLike = None
    shapes: Mapping[str, Sequence[int]] | None = None
    seed: int = 0
    config: Mapping[str, str] | None = None
    timeout: float | None = 600.0

    @property
    def given(self) -> ModelLike:
        """The model as it is given, without inputs."""
        return self.model.model if isinstance(self.model, Reference) else self.model

    def read(self) -> Model:
        """Return the model. Raises IRError."""
        return self.model.model if isinstance(self.model, Reference) else model_of(self.model, self.weights)

    def reference(self, read: Model | None = None) -> Reference:
        """Return irexec's run of the model. `read`: the model if it is known. Raises IRError."""
        if isinstance(self.model, Reference):
            return self.model
        return reference_of(read or self.read(), self.inputs, self.shapes, self.seed)

    def runtime(self, model: Model, python: str = "") -> Runtime:
        """Return the runtime that the other side names. `python`: its interpreter. Raises CannotRun."""
        return runtime_of(os.fspath(str(self.other)), dict(self.config or {}), model, self.timeout, python)


@dataclass(frozen=True)
class Judged(Beside[R]):
    """Results that are judged: within bounds, or else within the tolerances of the operators."""

    _: KW_ONLY
    atol: float | None = None
    rtol: float | None = None

    @property
    def bounds(self) -> Bounds | None:
        """The bounds; None without them."""
        return Bounds.given(self.atol, self.rtol)


@dataclass(frozen=True)
class InReleases(Judged[R]):
    """A failure in releases of a runtime, each with its interpreter."""

    other: str = "openvino"
    _: KW_ONLY
    releases: str | None = None
    environments: str | os.PathLike[str] | None = None
    pythons: Mapping[str, str] | None = None

    def made(self) -> Environments:
        """Return the environments of the releases. Raises CannotRun."""
        return Environments(package_of(self.other), self.environments, self.pythons)


class NoFailure(Refusal, ValueError):
    """There is nothing to find: the model does not fail."""

    code = "U011"

    def __init__(self, wanted: str, runtime: str, name: str, hint: str | None) -> None:
        why = f": {hint}" if hint else ""
        super().__init__(f"nothing to {wanted}: {runtime} does not fail on {name} with these inputs{why}")
