"""Layers of single elements by compiled code: their operands, and the tasks that their rows make."""

from __future__ import annotations

from collections.abc import Sequence

from irexec.native import compiler
from irexec.native.elementwise import write_elementwise
from irexec.native.memory import Records
from irexec.ops.compute.contiguous import all_contiguous, contiguous
from irexec.ops.compute.follow import Layout, Operands
from irexec.ops.compute.parallel import num_threads, split
from irexec.ops.compute.team import WORTH_PRODUCTS, run_tasks
from irexec.types import Array


class CompiledPointwise:
    """Layers of single elements over arrays of one size."""

    def __init__(self, layout: Layout, size: int, work: int) -> None:
        self._size, self._width = size, layout.width
        self._operands = Operands(layout.operands, layout.ways)
        self._layer = Records.of([[0, 0, 0, layout.width, size]])
        self._work = work
        self._tasks: dict[int, Records] = {}
        made = compiler()
        name = "_".join(("elementwise", *(step.name for step in layout.after)))
        self._function = made.made(
            name, 4, lambda module, name: write_elementwise(module, name, made.lanes, layout.after)
        )

    def __call__(self, source: Array, out: Array, coming: Sequence[Array]) -> None:
        operands = self._operands.records(all_contiguous(coming))
        run_tasks(self._function, self._layer.filled(contiguous(source), out, operands), self._parts(), 0)

    def _parts(self) -> Records:
        parts = 4 * num_threads() if self._work >= WORTH_PRODUCTS and num_threads() > 1 else 1
        if (found := self._tasks.get(parts)) is None:
            found = self._tasks[parts] = Records.of(split(-(-self._size // self._width), parts))
        return found
