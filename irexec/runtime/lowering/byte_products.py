"""MatMul of rows and a constant matrix in 8-bit integers ("bytes"), on machines with instructions for such products.

Sums are exact. Either the rows are results of a FakeQuantize, and the matrix consists of integers times a step
for each column: each sum is then multiplied by both steps in f32. Or rows and matrix are integers stored as f64,
as in ONNX's MatMulInteger.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irexec.core.threads.parallel import split
from irexec.core.types import Array
from irexec.ops.matrix.matmul import as_matrix
from irexec.ops.matrix.product import FEW_ROWS
from irexec.runtime.engine.packed.matrix import PackedMatrix
from irexec.runtime.lowering.follow import Operands
from irexec.runtime.lowering.grids import MOST_PRODUCTS, Grid, Rows, packed_rows, signed_bytes, whole_rows
from irexec.runtime.lowering.levels import ELEMENT_BYTES, WORK, fits_32_bits, numbers_of_grid
from irexec.runtime.lowering.llvm import compiler
from irexec.runtime.lowering.llvm.after import After
from irexec.runtime.lowering.llvm.arithmetic import Source
from irexec.runtime.lowering.llvm.levels import BYTES, MULTIPLE, STARTS, write_bytes, write_starts
from irexec.runtime.lowering.llvm.memory import Records
from irexec.runtime.lowering.products import CompiledProduct
from irexec.runtime.lowering.table import Lowered, OfWholeNumbers, Site
from irexec.runtime.lowering.tasks import tasks_for
from irexec.runtime.lowering.work import F32, Work


def byte_product(site: Site, transposed: bool) -> InBytes | None:
    """Return the product of a MatMul's first input and its constant second input, computed in bytes; None if either
    input is not quantized.
    """
    grid, constant = site.grids[0], site.types.constants[1]
    if grid is None or constant is None or constant.ndim != 2 or not compiler().has_bytes:
        return None
    depth = constant.codes.columns if isinstance(constant, PackedMatrix) else constant.shape[1 if transposed else 0]
    if depth % ELEMENT_BYTES or not 0 < depth <= MOST_PRODUCTS or not all(constant.shape):
        return None
    if constant.dtype == np.float64:
        return whole_product(site, grid)
    rows = _rows(site, constant, transposed)
    return None if rows is None or rows.numbers is None else ByteProduct(site, grid, rows.numbers, rows.steps)


def whole_product(site: Site, grid: Grid) -> WholeProduct | None:
    """Return the product of integers on a grid and a constant matrix of signed bytes, both stored as f64; None if
    the matrix has other values, or sums may exceed 32 bits.
    """
    constant, attributes = site.types.constants[1], site.types.attributes
    if constant is None or constant.ndim != 2 or constant.dtype != np.float64 or not compiler().has_bytes:
        return None
    if isinstance(constant, PackedMatrix):
        columns = constant.all_rows()
    else:
        columns = as_matrix(constant, attributes["transpose_b"], 1).T
    depth = columns.shape[1]
    if attributes["transpose_a"] or depth % ELEMENT_BYTES or not 0 < depth <= MOST_PRODUCTS or not len(columns):
        return None
    numbers = signed_bytes(columns)
    return None if numbers is None else WholeProduct(site, grid, numbers)


def _rows(site: Site, constant: Array | PackedMatrix, transposed: bool) -> Rows | None:
    """Return the columns of a MatMul's constant as rows of integers and the step of each; None if its type is not
    supported.
    """
    if isinstance(constant, PackedMatrix):
        return packed_rows(constant)
    value = site.node.inputs[1]
    if value is None or constant.dtype != F32:
        return None
    columns = as_matrix(constant, transposed, 1).T
    return site.prepared.of((constant,), ("whole rows", transposed), lambda: whole_rows(columns, value))


class InBytes(Lowered):
    """Rows on a grid times a matrix whose columns are the rows of `numbers`."""

    def __init__(
        self,
        site: Site,
        grid: Grid,
        numbers: Array,
        *,
        is_whole: bool = False,
        source: Source = "floats",
        bias: Array | None = None,
    ) -> None:
        super().__init__(site)
        self._columns, self._depth = numbers.shape
        self._is_whole, self._source, self._bias = is_whole, source, bias
        self._grid, self._numbers, self._prepared = grid, numbers, site.prepared
        self._grid_numbers = numbers_of_grid(grid)
        # The key: whether there are few rows, which need another layout.
        self._compiled: dict[bool, CompiledProduct] = {}
        # Used if the zero point is computed: the weights' sums, and the start values of the product's sums for zero
        # point 0.
        self._begin: dict[CompiledProduct, tuple[Array, Array]] = {}

    def shape(self, a: Array, b: Any) -> tuple[int, ...] | None:
        return (*a.shape[:-1], self._columns) if a.ndim >= 2 and a.shape[-1] == self._depth and a.size else None

    def tasks(
        self, work: Work, inputs: Sequence[Any], out: Array, after: tuple[After, ...] = (), operands: Records | int = 0
    ) -> None:
        """Add the jobs that multiply the data, which are f32 on the grid, or contiguous bytes."""
        data = inputs[0]
        data = work.contiguous(data) if self._source == "floats" else data
        self._compiled_for(data.size // self._depth).tasks(work, self._levels(work, data), out, after, operands)

    def _levels(self, work: Work, data: Array) -> Array:
        """Return the bytes of the data, four to an element, in scratch memory with one more vector at the end."""
        function = compiler().written(write_bytes, self._source)
        out = work.scratch("bytes", (data.size // ELEMENT_BYTES + MULTIPLE,))
        layer = Records.named(BYTES, [{"source": data, "result": out, "grid": self._grid_numbers}])
        pieces = split(data.size, tasks_for(data.size * WORK), MULTIPLE)
        work.add(function, layer, Records.of([list(piece) for piece in pieces]))
        elements = (*data.shape[:-1], self._depth // ELEMENT_BYTES)
        return out[: data.size // ELEMENT_BYTES].reshape(elements)

    def _compiled_for(self, rows: int) -> CompiledProduct:
        few = rows < FEW_ROWS
        if (found := self._compiled.get(few)) is None:
            form = "byte product", self._grid.zero, few, self._is_whole
            known = (self._numbers,) if self._bias is None else (self._numbers, self._bias)
            found = self._prepared.of(known, form, lambda: self._compile(rows))
            self._compiled[few] = found
        return found

    def _compile(self, rows: int) -> CompiledProduct:
        elements = np.ascontiguousarray(self._numbers).view(np.float32).T
        return CompiledProduct(elements, rows, self._sums_and_starts()[1], is_whole=self._is_whole)

    def _sums_and_starts(self) -> tuple[Array, Array]:
        """Return, for each column of the matrix, the sum of its weights and the start value of its sums of products."""
        sums = self._numbers.sum(1, dtype=np.int64)
        starts = sums * self._grid.zero + (0 if self._bias is None else self._bias.astype(np.int64))
        return sums.astype(np.int32), starts.astype(np.int32)


class ByteProduct(InBytes):
    """A product whose sums are multiplied by the step of the grid and by the step of each column."""

    along = "column"

    def __init__(self, site: Site, grid: Grid, numbers: Array, steps: Array) -> None:
        super().__init__(site, grid, numbers)
        self._scales = (steps.astype(np.float64) * grid.step).astype(np.float32)
        self._alone = self.behind((), Operands([]))

    def reads(self, place: int) -> bool:
        return place != 1

    def tasks(
        self, work: Work, inputs: Sequence[Any], out: Array, after: tuple[After, ...] = (), operands: Records | int = 0
    ) -> None:
        if not after:
            after, operands = self._alone[0], self._alone[1].records(())
        super().tasks(work, inputs, out, after, operands)

    def behind(self, after: tuple[After, ...], operands: Operands) -> tuple[tuple[After, ...], Operands]:
        return (After(np.multiply, "column"), *after), operands.behind(self._scales)


class WholeProduct(OfWholeNumbers, InBytes):
    """A product of integers stored as f64."""

    along = "column"

    def __init__(self, site: Site, grid: Grid, numbers: Array) -> None:
        super().__init__(site, grid, numbers, is_whole=True)
        self._site = site

    def can_add(self, bias: Array) -> bool:
        """Return whether `bias` consists of integers, and every sum of products plus its bias fits into 32
        bits.
        """
        return fits_32_bits(self._numbers, bias)

    def of_bytes(self, source: Source, bias: Array | None, *, is_whole: bool) -> OfBytes:
        """Return the same product for an input of bytes; its sums are stored as integers (`is_whole`) or scaled in
        f32.
        """
        return OfBytes(self._site, self._grid, self._numbers, is_whole=is_whole, source=source, bias=bias)


class OfBytes(InBytes):
    """A product whose first input is contiguous bytes; a third input, one f64, is the zero point of the bytes."""

    def tasks(
        self, work: Work, inputs: Sequence[Any], out: Array, after: tuple[After, ...] = (), operands: Records | int = 0
    ) -> None:
        data, _, *zero = inputs
        if not zero:
            super().tasks(work, inputs, out, after, operands)
            return
        compiled = self._compiled_for(data.size // self._depth)
        starts = self._starts(work, compiled, zero[0])
        compiled.tasks(work, self._levels(work, data), out, after, operands, starts)

    def _starts(self, work: Work, compiled: CompiledProduct, zero: Array) -> Array:
        """Return the start value of each column's sums for a zero point computed at run time, in scratch memory."""
        if compiled not in self._begin:
            sums, begin = map(compiled.padded, self._sums_and_starts())
            self._begin[compiled] = sums, begin
        sums, begin = self._begin[compiled]
        out = work.scratch("starts", sums.shape)
        function = compiler().written(write_starts)
        layer = Records.named(STARTS, [{"zero": zero, "weight_sums": sums, "begin": begin, "result": out}])
        work.add(function, layer, Records.of([[0, sums.size]]))
        return out
