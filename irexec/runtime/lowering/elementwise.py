"""Elementwise layers in compiled code: their operands, and the division of their rows into tasks."""

from __future__ import annotations

from collections.abc import Sequence

from irexec.core.threads.parallel import split
from irexec.core.types import Array
from irexec.runtime.lowering.follow import Layout, Operands
from irexec.runtime.lowering.llvm import compiler
from irexec.runtime.lowering.llvm.elementwise import write_elementwise
from irexec.runtime.lowering.llvm.memory import Records
from irexec.runtime.lowering.tasks import tasks_for
from irexec.runtime.lowering.work import Work


class CompiledPointwise:
    """Elementwise layers over arrays of one size."""

    def __init__(self, layout: Layout, size: int, work: int) -> None:
        self._operands = Operands(layout.operands, layout.ways)
        self._layer = Records.of([[0, 0, 0, layout.width, size]])
        self._records = Records.of(split(-(-size // layout.width), tasks_for(work)))
        self._function = compiler().written(write_elementwise, layout.after)

    def tasks(self, work: Work, source: Array, out: Array, coming: Sequence[Array]) -> None:
        operands = self._operands.records(work.all_contiguous(coming))
        work.add(self._function, self._layer.filled(work.contiguous(source), out, operands), self._records)
