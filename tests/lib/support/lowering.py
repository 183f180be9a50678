"""Models that run kernels, and models that are lowered before their first call."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import irexec
from irexec import Model
from irexec.runtime import engine
from irexec.runtime.lowering.backend import Backend, Mode

if TYPE_CHECKING:
    from irexec.runtime.lowering.fusion import Group
    from irexec.runtime.lowering.table import Lowered


def kernels(model: Model) -> irexec.CompiledModel:
    """Return the model as its kernels compute it."""
    compiled: irexec.CompiledModel = irexec.compile_model(model, config={"EXECUTION_MODE_HINT": "ACCURACY"})
    return compiled


def lowered(model: Model) -> irexec.CompiledModel:
    """Return the model, lowered before its first call."""
    compiled: irexec.CompiledModel = irexec.compile_model(model, config={"EXECUTION_MODE_HINT": "PERFORMANCE"})
    assert compiled.is_lowered
    return compiled


def lowered_engine(model: Model) -> engine.CompiledModel:
    """Return the engine's own compiled model, lowered before its first call."""
    return engine.CompiledModel(model, Backend(Mode.AT_ONCE))


def forms(compiled: engine.CompiledModel) -> dict[str, Lowered]:
    """Return the lowered forms of the layers of a model by type; of several layers of one type the last."""
    from irexec.runtime.lowering.table import Fused

    steps = compiled._plans.general.steps
    return {
        steps[group.first].node.type: group.form.first if isinstance(group.form, Fused) else group.form
        for group in groups(compiled)
    }


def groups(compiled: engine.CompiledModel) -> list[Group]:
    """Return the layers with a lowered form, each with the layers that are computed together with it."""
    assert isinstance(compiled.backend, Backend)
    return list(compiled.backend.groups(compiled._plans.general).values())


def ran(code: Any, *arrays: Any) -> Any:
    """Run compiled code on some arrays, and return the last of them."""
    from irexec.runtime.lowering.work import Work

    work = Work()
    code.tasks(work, *arrays)
    work.run()
    return arrays[-1]


def entries(request: engine.InferRequest) -> list[str]:
    """Return the entries of a program: sequences and layers."""
    from irexec.runtime.lowering import tasks

    (own,) = request._runners.values()
    program = own._program
    assert program is not None
    return [
        "sequence" if isinstance(call[0], tasks.Sequence) else own.plan.steps[number].node.type
        for number, call in zip(program.numbers, program.calls, strict=True)
    ]


def small_ones_too(setting: Callable[[Any, str, Any], object]) -> None:
    """Let compiled code accept small arrays as well. `setting(module, name, value)` sets a name, as
    `monkeypatch.setattr` does.
    """
    from irexec.runtime.lowering import pointwise, rows, work

    setting(rows, "LEAST_SIZE", 1)
    setting(rows, "SHORTEST", 1)
    setting(rows, "LEAST_WIDTH", 1)
    setting(pointwise, "LEAST_WORK", 1)
    setting(work, "LEAST_SIZE", 1)
