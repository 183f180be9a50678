"""Models by the kernels, and lowered from their first call on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import irexec
from irexec import Model, engine
from irexec.lowering.backend import Backend, Mode

if TYPE_CHECKING:
    from irexec.lowering.fusion import FusedGroup
    from irexec.lowering.plans import LoweredPlan
    from irexec.lowering.table import Lowered


def kernels(model: Model) -> irexec.CompiledModel:
    """The model as its kernels compute it."""
    compiled: irexec.CompiledModel = irexec.compile_model(model, config={"EXECUTION_MODE_HINT": "ACCURACY"})
    return compiled


def lowered(model: Model) -> irexec.CompiledModel:
    """The model lowered from its first call on."""
    compiled: irexec.CompiledModel = irexec.compile_model(model, config={"EXECUTION_MODE_HINT": "PERFORMANCE"})
    assert compiled.is_lowered
    return compiled


def lowered_engine(model: Model) -> engine.CompiledModel:
    """The engine's own compiled model, lowered from its first call on."""
    return engine.CompiledModel(model, Backend(Mode.AT_ONCE))


def forms(compiled: engine.CompiledModel) -> dict[str, Lowered]:
    """The lowered forms of the layers of a model by type; of several layers of one type the last."""
    steps = compiled._plans.general.steps
    return {steps[number].node.type: form for number, form in _plan(compiled).calls.items()}


def groups(compiled: engine.CompiledModel) -> list[FusedGroup]:
    """The groups of layers that are computed together."""
    return _plan(compiled).groups


def _plan(compiled: engine.CompiledModel) -> LoweredPlan:
    assert isinstance(compiled.backend, Backend)
    return compiled.backend._lowered(compiled._plans.general)


def small_ones_too(setting: Callable[[Any, str, Any], object]) -> None:
    """Let compiled code take small arrays, too. `setting(module, name, value)` sets a name, as `monkeypatch.setattr`
    does.
    """
    from irexec.lowering import contiguous, pointwise, rows

    setting(rows, "LEAST_SIZE", 1)
    setting(rows, "SHORTEST", 1)
    setting(pointwise, "LEAST_WORK", 1)
    setting(contiguous, "LEAST_SIZE", 1)
