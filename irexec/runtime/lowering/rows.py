"""MVN, SoftMax, reductions and other layers lowered in f32, over rows (the last axes of a tensor); some also over
columns (axes that are not the last).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from irexec.core.threads.parallel import split
from irexec.core.types import Array
from irexec.ops.activation.softmax import softmax_1, softmax_8
from irexec.ops.normalization.mvn import mvn_1, mvn_6, reduced_axes
from irexec.ops.reduction.reduction import reduce_l2_4, reduce_max_1, reduce_mean_1, reduce_min_1, reduce_sum_1
from irexec.ops.spec.operator import Operator
from irexec.runtime.lowering.llvm import compiler
from irexec.runtime.lowering.llvm.after import After
from irexec.runtime.lowering.llvm.columns import Kind as ColumnKind
from irexec.runtime.lowering.llvm.columns import write_columns
from irexec.runtime.lowering.llvm.memory import Records
from irexec.runtime.lowering.llvm.rows import Kind, write_rows
from irexec.runtime.lowering.narrow import computes_in_f32
from irexec.runtime.lowering.recent import Recent
from irexec.runtime.lowering.table import Lowered, Site, lowers
from irexec.runtime.lowering.tasks import tasks_for
from irexec.runtime.lowering.work import Work

# Smaller arrays are left to NumPy, which has less overhead, as are rows so long that only NumPy's pairwise sums are
# exact enough.
LEAST_SIZE, SHORTEST, LONGEST = 1 << 5, 2, 1 << 16
# Fewer columns side by side would leave most of a vector unused.
LEAST_WIDTH = 8


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


class RowWise(Lowered):
    """A layer that applies `kind` to the rows of f32 data; a row extends over the last `axes` axes.

    `number` is the parameter of the kind. `keep_dims`: whether a result of one element for each row keeps the axes;
    None for a result of the data's shape.
    """

    def __init__(self, site: Site, axes: int, kind: Kind, number: float = 0.0, keep_dims: bool | None = None) -> None:
        super().__init__(site)
        self._axes, self._keep_dims = axes, keep_dims
        self._rows = CompiledRows(kind, number)
        self.selects = kind in ("largest", "smallest")
        self.along = "column" if axes == 1 and kind.startswith("normalized") else None

    def shape(self, data: Array, *others: Any) -> tuple[int, ...] | None:
        longest = data.size if self.selects else LONGEST
        is_taken = data.size >= LEAST_SIZE and SHORTEST <= self._width(data) <= longest
        if not is_taken or self._keep_dims is None:
            return data.shape if is_taken else None
        return (*data.shape[: data.ndim - self._axes], *[1] * (self._axes * self._keep_dims))

    def tasks(
        self, work: Work, inputs: Sequence[Any], out: Array, after: tuple[After, ...] = (), operands: Records | int = 0
    ) -> None:
        self._rows.tasks(work, inputs[0], self._width(inputs[0]), out, after, operands)

    def _width(self, data: Array) -> int:
        """Return the number of elements in a row."""
        return prod(data.shape[data.ndim - self._axes :])


class ColumnWise(Lowered):
    """A layer that applies `kind` to the columns of f32 data: along `axes`, which are consecutive.

    `keep_dims`: whether a result of one element for each column keeps the axes; None for a result of the data's shape.
    """

    def __init__(self, site: Site, kind: ColumnKind, axes: range, keep_dims: bool | None = None) -> None:
        super().__init__(site)
        self._kind: ColumnKind = kind
        self._axes, self._keep_dims = axes, keep_dims
        self.selects = kind in ("largest", "smallest")
        self._function = compiler().written(write_columns, kind)

    def shape(self, data: Array, *others: Any) -> tuple[int, ...] | None:
        if data.size < LEAST_SIZE or prod(data.shape[self._axes.stop :]) < LEAST_WIDTH:
            return None
        extents: list[int] = list(data.shape)
        if self._keep_dims is not None:
            extents[self._axes.start : self._axes.stop] = [1] * (len(self._axes) * self._keep_dims)
        return tuple(extents)

    def tasks(self, work: Work, inputs: Sequence[Any], out: Array, *_: Any) -> None:
        data = inputs[0]
        planes, depth, width = (
            prod(data.shape[part])
            for part in (
                slice(self._axes.start),
                slice(self._axes.start, self._axes.stop),
                slice(self._axes.stop, None),
            )
        )
        vectors = -(-width // compiler().lanes)
        layer = Records.of([[work.contiguous(data), out, depth, width, vectors]])
        parts = split(planes * vectors, tasks_for(data.size * WORK[self._kind]))
        work.add(self._function, layer, Records.of(parts))


_OVER_COLUMNS: dict[Kind, ColumnKind] = {
    "sum": "sum",
    "largest": "largest",
    "smallest": "smallest",
    "softmax": "softmax",
}


def _over(site: Site, axes: Sequence[int], rank: int, kind: Kind, keep_dims: bool | None = None) -> Lowered | None:
    """Return the lowered form of a kernel for rows or for columns, whichever fits the axes; None if neither does."""
    if (count := last_axes(axes, rank)) is not None:
        return RowWise(site, count, kind, 1.0, keep_dims)
    found = sorted({axis % rank for axis in axes if -rank <= axis < rank})
    if not found or len(found) < len(axes) or found[-1] - found[0] >= len(found) or kind not in _OVER_COLUMNS:
        return None
    return ColumnWise(site, _OVER_COLUMNS[kind], range(found[0], found[-1] + 1), keep_dims)


def last_axes(axes: Sequence[int], rank: int) -> int | None:
    """Return the number of `axes` if these are the last axes of a tensor of this rank, else None."""
    found = sorted(axis % rank for axis in axes if -rank <= axis < rank)
    return len(axes) if axes and found == list(range(rank - len(axes), rank)) else None


@lowers(softmax_1, softmax_8)
def _(site: Site, *, axis: int) -> Lowered | None:
    x = site.types.inputs[0]
    if x is None or x.rank is None or not computes_in_f32(x.element_type):
        return None
    return _over(site, [axis], x.rank, "softmax")


def _mvn(site: Site, axes: Sequence[int], normalize_variance: bool, eps: float, inside: bool) -> Lowered | None:
    data = site.types.inputs[0]
    if data is None or data.rank is None or not computes_in_f32(data.element_type):
        return None
    count = last_axes(axes, data.rank)
    kind: Kind = "centred" if not normalize_variance else "normalized_inside" if inside else "normalized_outside"
    return None if count is None else RowWise(site, count, kind, eps)


@lowers(mvn_1)
def _(
    site: Site, *, across_channels: bool, reduction_axes: tuple[int, ...], normalize_variance: bool, eps: float
) -> Lowered | None:
    data = site.types.inputs[0]
    if data is None or data.rank is None:
        return None
    return _mvn(site, reduced_axes(reduction_axes, across_channels, data.rank), normalize_variance, eps, True)


@lowers(mvn_6)
def _(site: Site, *, normalize_variance: bool, eps: float, eps_mode: str) -> Lowered | None:
    axes = site.types.constants[1]
    if axes is None:
        return None
    return _mvn(site, axes.reshape(-1).tolist(), normalize_variance, eps, eps_mode.lower() == "inside_sqrt")


def _reduces(operator: Operator, kind: Kind) -> None:
    @lowers(operator)
    def _(site: Site, *, keep_dims: bool) -> Lowered | None:
        data, axes = site.types.inputs[0], site.types.constants[1]
        if data is None or axes is None or data.rank is None or not computes_in_f32(data.element_type):
            return None
        return _over(site, axes.reshape(-1).tolist(), data.rank, kind, keep_dims)


_reduces(reduce_l2_4, "length")
_reduces(reduce_max_1, "largest")
_reduces(reduce_mean_1, "mean")
_reduces(reduce_min_1, "smallest")
_reduces(reduce_sum_1, "sum")
