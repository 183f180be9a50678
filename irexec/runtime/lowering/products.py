"""Products with a constant matrix by compiled code: its columns in panels, and the tasks for a number of rows."""

from __future__ import annotations

from itertools import product

import numpy as np

from irexec.core.threads.parallel import parallel_for, parts_for, split
from irexec.core.types import Array
from irexec.ops.matrix.product import FEW_ROWS
from irexec.runtime.lowering.llvm import compiler
from irexec.runtime.lowering.llvm.after import After
from irexec.runtime.lowering.llvm.arithmetic import Arithmetic
from irexec.runtime.lowering.llvm.host import Native
from irexec.runtime.lowering.llvm.memory import Records
from irexec.runtime.lowering.llvm.products import write_multiply
from irexec.runtime.lowering.recent import Recent
from irexec.runtime.lowering.tasks import WORTH_PRODUCTS, pieces_of, tasks_for
from irexec.runtime.lowering.work import Work

# The number of products in a partial sum: their operands stay in the caches, and the total is more accurate.
DEPTH_STEP = 512
# The maximum number of rows of one task.
MOST_ROWS = 256
# Reading the panels from memory takes as long as multiplying this number of rows by them.
READ_ROWS = 16


class RowsProduct:
    """A product of `a` `[..., K]` and a constant matrix, whose function and tasks depend on the number of rows."""

    def __init__(self, depth: int, layer: Records) -> None:
        """`layer`: the record of the matrix; each call fills in the addresses of its arrays."""
        self.depth, self._layer = depth, layer
        self._prepared = Recent[tuple[int, tuple[After, ...]], tuple[Native, Records, int]]()

    def tasks(
        self, work: Work, a: Array, out: Array, after: tuple[After, ...] = (), operands: Records | int = 0
    ) -> None:
        """Multiply into `out`, which is contiguous, and apply the layers in `after`: see `llvm.epilogue`. Leading
        axes are arbitrary.
        """
        a = work.contiguous(a)
        known = a.size, after
        function, tasks, scratch = self._prepared.of(known, lambda: self._prepare(a.size // self.depth, after))
        work.add(function, self._layer.filled(a, out, operands), tasks, scratch)

    def _prepare(self, rows: int, after: tuple[After, ...]) -> tuple[Native, Records, int]:
        """Return the function and tasks for this number of rows, and the scratch memory of each task."""
        raise NotImplementedError


class CompiledProduct(RowsProduct):
    """The product of `a` `[..., K]` and one `right` `[K, N]`, both f32 and not empty.

    With `starts`, each 32-bit element packs four bytes, and the sums of each column start with an integer.
    `is_whole`: sums of bytes are stored as integers.
    """

    MANY_ROWS = 64

    def __init__(self, right: Array, rows: int, starts: Array | None = None, *, is_whole: bool = False) -> None:
        self.depth, self.columns = right.shape
        self._kind: Arithmetic = "floats" if starts is None else "whole_bytes" if is_whole else "bytes"
        made = compiler()
        needed = -(-self.columns // made.lanes)
        fitting = [vectors for vectors in (1, 2, 4, 8) if vectors >= needed or vectors == made.registers // 4]
        self.vectors = 2 if rows >= FEW_ROWS else fitting[0]
        parts = parts_for(self._work(rows), WORTH_PRODUCTS)
        while parts > 1 and self.vectors > 2 and needed < 2 * parts * self.vectors:
            self.vectors //= 2
        self.across = self.vectors * made.lanes
        self.panels = _packed(right, self.across)
        step: int = DEPTH_STEP if starts is None else self.depth
        padded = 0 if starts is None else np.resize(starts, len(self.panels) * self.across)
        super().__init__(self.depth, Records.of([[0, 0, 0, self.panels, padded, self.depth, step, self.columns]]))

    def tasks(
        self,
        work: Work,
        a: Array,
        out: Array,
        after: tuple[After, ...] = (),
        operands: Records | int = 0,
        starts: Array | None = None,
    ) -> None:
        """Add the jobs of a product, as `RowsProduct.tasks` does. The sums of each column start with its integer in
        `starts`, if given.
        """
        if starts is None:
            super().tasks(work, a, out, after, operands)
            return
        known = a.size, after
        function, tasks, scratch = self._prepared.of(known, lambda: self._prepare(a.size // self.depth, after))
        work.add(function, self._layer.filled(a, out, operands, self.panels, self.padded(starts)), tasks, scratch)

    def padded(self, numbers: Array) -> Array:
        """Return an array of one number per column, padded with zeros to the width of all panels together."""
        count = len(self.panels) * self.across
        return numbers if numbers.size == count else np.resize(numbers, count)

    def _prepare(self, rows: int, after: tuple[After, ...]) -> tuple[Native, Records, int]:
        """Return the function and tasks for this number of rows, and the scratch memory of each task."""
        height = compiler().height(rows, self.vectors)
        parts = tasks_for(self._work(rows))
        pieces = pieces_of(rows, -(-rows // MOST_ROWS), height)
        tasks = [[p0, p1, r0, r1] for (r0, r1), (p0, p1) in product(pieces, split(len(self.panels), parts))]
        function = compiler().written(write_multiply, height, self.vectors, after, self._kind)
        return function, Records.of(tasks), height * self.across

    def _work(self, rows: int) -> int:
        return max(rows, READ_ROWS) * int(self.depth * self.columns)


def _packed(right: Array, across: int) -> Array:
    """Return `[K, N]` as `[panels, K, across]`, padded with zeros after the last column."""
    depth, columns = right.shape
    panels = np.zeros((-(-columns // across), depth, across), np.float32)

    def pack(number: int) -> None:
        part = right[:, number * across : (number + 1) * across]
        panels[number, :, : part.shape[1]] = part

    parallel_for(len(panels), pack)
    return panels
