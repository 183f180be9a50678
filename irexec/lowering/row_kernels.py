"""Row kernels in compiled code: means, normalization and softmax along the last axes of a tensor."""

from __future__ import annotations

import numpy as np

from irexec.lowering.llvm import compiler
from irexec.lowering.llvm.after import After
from irexec.lowering.llvm.memory import Records
from irexec.lowering.llvm.rows import Kind, write_rows
from irexec.lowering.recent import Recent
from irexec.lowering.tasks import tasks_for
from irexec.lowering.work import Work
from irexec.threads.parallel import split
from irexec.types import Array

# The cost of an element, in multiply-adds.
WORK: dict[Kind, int] = {
    "sum": 2,
    "mean": 2,
    "length": 3,
    "largest": 2,
    "smallest": 2,
    "centred": 6,
    "normalized_inside": 10,
    "normalized_outside": 10,
    "softmax": 48,
}


class CompiledRows:
    """The compiled kernel `kind` over the rows of f32 arrays."""

    def __init__(self, kind: Kind, number: float = 0.0) -> None:
        self._kind: Kind = kind
        self._number = np.array([number], np.float32)
        self._known = Recent[tuple[int, int], Records]()

    def tasks(
        self,
        work: Work,
        data: Array,
        width: int,
        out: Array,
        after: tuple[After, ...] = (),
        operands: Records | int = 0,
    ) -> None:
        """Process rows of `data` of this width into `out`, which is contiguous and may be `data` itself."""
        layer = Records.of([[work.contiguous(data), out, operands, self._number, width]])
        work.add(compiler().written(write_rows, self._kind, after), layer, self._parts(data.size // width, data.size))

    def _parts(self, rows: int, size: int) -> Records:
        parts = tasks_for(size * WORK[self._kind])
        return self._known.of((rows, parts), lambda: Records.of(split(rows, parts)))
