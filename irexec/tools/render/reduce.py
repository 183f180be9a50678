"""A reduction as text: the failure, the size of the reduced model, the stages, and the files written."""

from __future__ import annotations

from collections.abc import Sequence

from irexec.core.structure import CONST, RESULT
from irexec.model.arrays.brief import plural
from irexec.tools.reduce.reduce import Reduction
from irexec.tools.reduce.stages import Stage
from irexec.tools.render.printing import Printout
from irexec.tools.status import Status


def show_reduction(reduction: Reduction, layers: int, files: Sequence[str], page: Printout) -> None:
    """Print the failure, the remaining layers, the number of candidates, and the files."""
    page.line(reduction.message, "error")
    page.line(
        f"{plural(reduction.case.size, 'layer')} of {layers} still {'fails' if reduction.case.size == 1 else 'fail'}"
    )
    page.heading("layers")
    rows = []
    for node in reduction.case.model.walk():
        if node.type not in (CONST, RESULT):
            shapes = ", ".join(f"{v.element_type}{v.type.shape}" for v in node.outputs)
            rows.append((node.friendly_name, node.type, shapes))
    page.table(rows, ("name",), names=0)
    page.heading(f"{reduction.tried} candidates tried")
    page.table([(name, str(tried), _fewer(fewer)) for name, tried, fewer in reduction.history], ("name",))
    if files:
        page.line()
        page.line(f"saved {', '.join(files)}", "dim")


def _fewer(count: int) -> str:
    return f"{count} layers fewer" if count > 1 else "1 layer fewer" if count == 1 else ""


class ReductionStatus:
    """Reports the progress of a reduction in a status line."""

    def __init__(self, status: Status) -> None:
        self._status = status

    def tried(self, reduction: Reduction, stage: Stage, smaller: bool) -> None:
        left = plural(reduction.case.size, "layer")
        self._status.show(f"{stage.name}: {reduction.tried} candidates tried, {left} left")
