"""Kernels over rows, the last axes of a tensor: in NumPy, and in compiled code once compiling pays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from irexec.native import pays
from irexec.native.capture import captured_all
from irexec.ops.compute.contiguous import all_contiguous
from irexec.ops.compute.follow import Lead, Link, after_sums
from irexec.types import Array, TensorType

if TYPE_CHECKING:
    from irexec.native.rows import Kind
    from irexec.ops.compute.rows import CompiledRows

# Smaller arrays are left to NumPy, which has less overhead, as are rows so long that only NumPy's pairwise sums are
# exact enough.
LEAST_SIZE, SHORTEST, LONGEST = 1 << 5, 2, 1 << 16
# NumPy's cost of an element, in multiply-adds.
PLAIN_WORK = 32


class RowWise:
    """`plain(data, *others, out=None)`, which does `kind` to the rows of f32 `data`: so many of its last axes.

    `number` is the parameter of the kind, `others` is the number of inputs besides the data, `means` the shape of a
    result that has one element for each row.
    """

    def __init__(
        self,
        plain: Callable[..., Array],
        axes: int,
        kind: Kind,
        number: float = 0.0,
        others: int = 0,
        means: tuple[int, ...] | None = None,
    ) -> None:
        self.plain, self.axes, self.kind, self.number, self.others = plain, axes, kind, number, others
        self.means = means
        self._compiled: CompiledRows | None = None
        self._calls = 0

    def __call__(self, data: Array, *others: Any, out: Array | None = None) -> Array:
        compiled = self._when_it_pays(data.size, self.width(data))
        if compiled is None or not (out is None or out.flags.c_contiguous):
            return self.plain(data, *others, out=out)
        shape = data.shape if self.means is None else self.means
        target = np.empty(shape, data.dtype) if out is None else out
        compiled(data, self.width(data), target)
        captured_all()
        return target

    def width(self, data: Array) -> int:
        """Return the number of elements in a row."""
        return prod(data.shape[data.ndim - self.axes :])

    def leads(self, links: Sequence[Link], result: TensorType) -> tuple[int, Lead] | None:
        """Lead layers that follow along the columns of a normalization over the last axis."""
        if self.axes != 1 or not self.kind.startswith("normalized"):
            return None
        after, operands = after_sums(links, result.shape.to_shape(), np.dtype(np.float32), "column")

        def call(data: Array, *others: Array, out: Array) -> bool:
            own, coming = others[: self.others], others[self.others :]
            compiled = self._when_it_pays(data.size, self.width(data))
            if compiled is None:
                if (made := self.plain(data, *own, out=out)) is not out:
                    np.copyto(out, made)
                return False
            arrays = all_contiguous(coming)
            compiled(data, self.width(data), out, after, operands.records(arrays))
            return True

        return (len(after), call) if after else None

    def _when_it_pays(self, size: int, width: int) -> CompiledRows | None:
        """Return the compiled kernel if compiling pays and this many elements in rows of this width fit it."""
        if size < LEAST_SIZE or not SHORTEST <= width <= LONGEST:
            return None
        if self._compiled is None:
            self._calls += 1
            if pays(self._calls, size * PLAIN_WORK):
                from irexec.ops.compute.rows import CompiledRows

                self._compiled = CompiledRows(self.kind, self.number)
        return self._compiled
