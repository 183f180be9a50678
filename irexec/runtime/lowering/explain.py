"""Explains which layers of a model are lowered, which are computed together, and which keep their kernels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from irexec.model.graph.model import Model
from irexec.runtime.engine.plan import Plan
from irexec.runtime.engine.plans import Plans
from irexec.runtime.lowering.backend import Backend, Mode, is_available
from irexec.runtime.lowering.table import has_lowering


class Explanation(NamedTuple):
    """How one layer runs in a lowered model. `detail`: the layer with which it is computed, or why NumPy computes
    it.
    """

    layer: str
    type: str
    form: str
    detail: str

    def to_dict(self) -> dict[str, str]:
        return self._asdict()


COMPILED, TOGETHER, KERNEL = "compiled", "together", "kernel"


def explain(model: Model, shapes: Sequence[tuple[int, ...]]) -> list[Explanation]:
    """Explain each layer that runs, for inputs of these shapes, bodies included.

    Raises ImportError if compiled code is not available, and IRError for a model that cannot be planned.
    """
    if not is_available():
        raise ImportError("compiled code is not available: llvmlite is not installed, or IREXEC_FAST is 0")
    backend, plans = Backend(Mode.AT_ONCE), Plans(model)
    # A plan for these static shapes is made only when the shapes occur for the second time.
    plans.of(tuple(shapes))
    return list(_explained(plans.of(tuple(shapes)), backend))


def _explained(plan: Plan, backend: Backend) -> Iterator[Explanation]:
    groups = backend.groups(plan)
    leaders = {number: group.first for group in groups.values() for number in (*group.following, *group.absorbed)}
    for number, step in enumerate(plan.steps):
        name, type = step.node.friendly_name, step.operator.type
        if number in leaders:
            leader = plan.steps[leaders[number]].node
            yield Explanation(name, type, TOGETHER, f"with {leader.friendly_name} ({leader.type})")
        elif number in groups:
            yield Explanation(name, type, COMPILED, "")
        elif step.operator.is_run_by_engine:
            yield Explanation(name, type, KERNEL, "the engine runs its bodies or its variable")
        elif not has_lowering(step.operator):
            yield Explanation(name, type, KERNEL, f"{type} has no compiled form")
        else:
            yield Explanation(name, type, KERNEL, "no compiled form for these types, shapes, constants or attributes")
        for body in plan.subplans.get(number, ()):
            yield from _explained(body, backend)
