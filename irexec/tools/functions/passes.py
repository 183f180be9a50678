"""`passes` as a function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from irexec.tools.functions.given import Inputs, ModelLike, WeightsLike, model_of, reference_of
from irexec.tools.functions.result import Result
from irexec.tools.passes import result
from irexec.tools.passes.find import device_of, find_passes
from irexec.tools.render.passes import show_passes
from irexec.tools.render.printing import Printout
from irexec.tools.status import NotebookStatus


@dataclass(slots=True, repr=False)
class Passes(Result, result.PassesFound):
    """The passes of OpenVINO's compiler that changed the graph: `passes`, `wrong`, `kernels`, `cause`, `verdict`."""

    verdict = result.PassesFound.verdict

    def show(self, page: Printout) -> None:
        show_passes(self, page)


def passes(
    model: ModelLike,
    other: str = "openvino",
    inputs: Inputs | None = None,
    *,
    weights: WeightsLike = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    seed: int = 0,
    config: Mapping[str, str] | None = None,
    limit: float | None = 600.0,
) -> Passes:
    """Find the pass of OpenVINO's compiler that changes the results of a model, as `irexec passes` does.

    `other`: "openvino" or "openvino:DEVICE". The other arguments are those of `compare`. Raises IRError for a model
    that cannot be run, and RuntimeError if OpenVINO cannot compile it.
    """
    reference = reference_of(model_of(model, weights), inputs, shapes, seed)
    with NotebookStatus() as status:
        found = find_passes(
            reference,
            device=device_of(other),
            config=config,
            limit=limit,
            progress=lambda done, total: status.count(done, total, "graphs run"),
        )
    return Passes(**{field.name: getattr(found, field.name) for field in fields(found)})
