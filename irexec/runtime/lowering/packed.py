"""Products with packed (low-bit) weights, and panels of packed kernels: compiled code reads weights as the file stores
them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from irexec.core.threads.parallel import split
from irexec.core.types import BF16, F16, NF4, Array
from irexec.ir.weights.file import release_pages
from irexec.ops.convolution.columns import Range
from irexec.ops.spec.prepared import Prepared
from irexec.runtime.engine.packed.matrix import PackedMatrix
from irexec.runtime.lowering.llvm import compiler
from irexec.runtime.lowering.llvm.after import After
from irexec.runtime.lowering.llvm.host import Native
from irexec.runtime.lowering.llvm.memory import Field, Records
from irexec.runtime.lowering.llvm.packed import LAYER, write_few, write_many, write_panels
from irexec.runtime.lowering.llvm.packed_rows import SIDE, write_some
from irexec.runtime.lowering.llvm.unpacking import TABLE, Packing
from irexec.runtime.lowering.narrow import computes_in_f32, converted
from irexec.runtime.lowering.products import MOST_ROWS, READ_ROWS, RowsProduct
from irexec.runtime.lowering.table import Lowered, Site
from irexec.runtime.lowering.tasks import pieces_of, tasks_for
from irexec.runtime.lowering.work import Work

# Up to this number of rows, elements are unpacked in registers and summed along the depth.
FEW_ROWS = 6
# The number of products of a partial sum, whose weights stay in the cache; the number of vectors of columns that are
# unpacked at a time.
DEPTH_STEP, VECTORS = 512, 2
# Up to this number of rows, 16-bit elements are unpacked in their order: transposing them would take as long as the
# products of these rows.
SOME_ROWS = 31
# The smallest group, in dwords, that is transposed before it is unpacked.
LEAST_DWORDS = 4
# The number of elements of a kernel that are unpacked at a time, unless one panel has more.
UNPACKED = 1 << 18


class PackedProduct(Lowered):
    """Rows times a packed matrix, summed in f32."""

    along = "column"

    def __init__(self, site: Site, matrix: PackedMatrix) -> None:
        super().__init__(site)
        self._compiled = CompiledPacked(matrix)

    def reads(self, place: int) -> bool:
        return place != 1

    def shape(self, a: Array, b: Any) -> tuple[int, ...] | None:
        fits = a.ndim >= 2 and a.shape[-1] == self._compiled.depth and a.size
        return (*a.shape[:-1], self._compiled.columns) if fits else None

    def tasks(
        self, work: Work, inputs: Sequence[Any], out: Array, after: tuple[After, ...] = (), operands: Records | int = 0
    ) -> None:
        self._compiled.tasks(work, inputs[0], out, after, operands)


class CompiledPacked(RowsProduct):
    """The product of `a` `[..., K]` and the transposed matrix `[N, K]`."""

    def __init__(self, matrix: PackedMatrix) -> None:
        self._matrix = matrix
        self.columns, self.depth = matrix.codes.rows, matrix.codes.columns
        self._packing = packing_of(matrix)
        self._group = self.depth // matrix.groups
        super().__init__(self.depth, _record_of(matrix))

    def _prepare(self, rows: int, after: tuple[After, ...]) -> tuple[Native, Records, int]:
        """Return the function and tasks for this number of rows, and the scratch memory of each task."""
        made = compiler()
        parts = tasks_for(max(rows, READ_ROWS) * self.depth * self.columns)
        if rows <= FEW_ROWS:
            pieces = split(self.columns, parts, FEW_ROWS)
            is_blocked = self._packing.is_of_dwords and self._group % (self._packing.in_dword * made.lanes) == 0
            few = made.written(write_few, rows, self._packing, is_blocked, after)
            longest = max(last - first for first, last in pieces)
            return few, Records.of([list(piece) for piece in pieces]), rows * (self.depth + longest + FEW_ROWS)
        is_square = made.lanes == SIDE * SIDE and self.depth % made.lanes == 0 and self._group == self.depth
        if rows <= SOME_ROWS and self._packing.in_dword == 2 and is_square:
            return self._some(rows, parts, after)
        across, height = VECTORS * made.lanes, made.height(rows, VECTORS)
        row_pieces = pieces_of(rows, -(-rows // MOST_ROWS), height)
        pieces = split(self.columns, parts, across)
        tasks = [[*columns, *these] for these, columns in product(row_pieces, pieces)]
        together = _unpacked_together(self._packing, self._group, self.depth)
        many = made.written(write_many, height, VECTORS, DEPTH_STEP, self._packing, *together, after)
        tallest = max(last - first for first, last in row_pieces)
        return many, Records.of(tasks), across * (DEPTH_STEP + -(-tallest // height) * height)

    def _some(self, rows: int, parts: int, after: tuple[After, ...]) -> tuple[Native, Records, int]:
        made = compiler()
        pieces = split(self.columns, parts, SIDE)
        some = made.written(write_some, DEPTH_STEP, self._packing, after)
        longest = max(last - first for first, last in pieces)
        vectors = SIDE * DEPTH_STEP + -(-rows // SIDE) * made.lanes * made.lanes
        return some, Records.of([[*piece, 0, rows] for piece in pieces]), vectors + rows * (longest + SIDE)


class PackedKernel:
    """The packed kernel `[G, O, I, *K]` of a convolution."""

    def __init__(self, matrix: PackedMatrix, shape: tuple[int, ...]) -> None:
        self.matrix, self.shape, self.size, self.dtype = matrix, shape, prod(shape), matrix.dtype


class Panels:
    """Panels `[G, blocks, depth, height]` of a packed kernel, some of which are unpacked at a time.

    f16 and bf16 without zero points and scales are arranged in panels once, so that unpacking only converts them.
    """

    def __init__(self, kernel: PackedKernel, height: int, prepared: Prepared) -> None:
        matrix, self._height = kernel.matrix, height
        (self._groups, self._outputs), depth = kernel.shape[:2], matrix.codes.columns
        self._blocks, self._panel = -(-self._outputs // height), depth * height
        self._halves: Array | None = None
        packing, type = packing_of(matrix), matrix.codes.type
        if type in (F16, BF16) and type.dtype is not None and not packing.steps and computes_in_f32(type):
            rows = matrix.codes.part(0, matrix.codes.rows).view(type.dtype).reshape(self._groups, self._outputs, depth)
            self._halves = prepared.of((rows,), ("panels", height), lambda: in_panels(rows, height))
            release_pages(rows)
            return
        together = _unpacked_together(packing, depth // matrix.groups, depth)
        self._function = compiler().written(write_panels, height, packing, *together)
        self._layer = _record_of(matrix)

    def parts(self) -> list[tuple[Range, Range]]:
        """Return the groups and blocks of panels that are unpacked together."""
        most = max(1, UNPACKED // self._panel)
        groups = split(self._groups, -(-self._groups // max(1, most // self._blocks)))
        return list(product(groups, split(self._blocks, -(-self._blocks // most))))

    def unpacking(self, groups: Range, blocks: Range) -> Callable[[Work], Array]:
        """Return a function `f(work)` that adds the jobs that unpack some panels, and returns these panels, in scratch
        memory with one more vector at the end.
        """
        places = list(product(range(*groups), range(*blocks)))
        size = len(places) * self._panel

        def converting(work: Work) -> Array:
            assert self._halves is not None
            panels = work.scratch("panels", (size + TABLE,))
            converted(work, self._halves[slice(*groups), slice(*blocks)].reshape(-1), panels[:size])
            return panels

        if self._halves is not None:
            return converting
        columns = [g * self._outputs + b * self._height for g, b in places]
        tasks = Records.of([[column, number * self._panel] for number, column in enumerate(columns)])

        def unpacked(work: Work) -> Array:
            panels = work.scratch("panels", (size + TABLE,))
            work.add(self._function, self._layer.filled(0, panels), tasks)
            return panels

        return unpacked


def in_panels(weights: Array, height: int) -> Array:
    """Return `[G, O, depth]` as `[G, blocks, depth, height]`: weights for the same pixels are adjacent."""
    groups, outputs, depth = weights.shape
    blocks = -(-outputs // height)
    padded = np.zeros((groups, blocks * height, depth), weights.dtype)
    padded[:, :outputs] = weights
    return np.ascontiguousarray(padded.reshape(groups, blocks, height, depth).swapaxes(2, 3))


def _unpacked_together(packing: Packing, group: int, depth: int) -> tuple[bool, int]:
    """Return two arguments of `write_many`: whether no vector has elements of two groups, and the number of dwords that
    are unpacked together.
    """
    lanes = compiler().lanes
    dwords = lanes
    while dwords >= LEAST_DWORDS and group != depth and group % (dwords * packing.in_dword):
        dwords //= 2
    return group % lanes == 0 or group == depth, dwords if dwords >= LEAST_DWORDS else 0


def _record_of(matrix: PackedMatrix) -> Records:
    """Return the parameters of a packed matrix as the record that `llvm.packed` reads."""
    columns, depth = matrix.codes.rows, matrix.codes.columns
    parameters = [_by_columns(each, columns) for each in (matrix.zero, matrix.scale)]
    strides = [0 if len(each) == 1 else each.strides[0] // each.itemsize for each in parameters]
    fields: list[Field] = [0, 0, 0, matrix.codes.data, *parameters, depth, columns, depth // matrix.groups, *strides]
    assert len(fields) == len(LAYER)
    return Records.of([fields])


def packing_of(matrix: PackedMatrix) -> Packing:
    """Return the description of how the elements of a matrix are computed."""
    arithmetic = matrix.codes.arithmetic
    narrow = (arithmetic.name,) if arithmetic in (F16, BF16) else ()
    steps: list[str] = []
    if matrix.zero is not None:
        steps += ["whole"] if matrix.is_zero_exact else ["zero", *narrow]
    if matrix.takes_raised:
        steps += ["raised", *narrow]
    elif matrix.scale is not None:
        steps += ["scale", *narrow]
    if matrix.final is not arithmetic and matrix.final in (F16, BF16):
        steps.append(matrix.final.name)
    table = matrix.codes.table
    values = tuple(table.tolist()) if table is not None and matrix.codes.type is NF4 else ()
    made = compiler()
    return Packing(matrix.codes.type.name, tuple(steps), values, made.permutes, made.converts_halves)


def can_multiply(matrix: PackedMatrix) -> bool:
    """Return whether compiled code supports a packed matrix: groups of 4-bit elements must have an even size."""
    length, rest = divmod(matrix.codes.columns, matrix.groups)
    return not rest and bool(length) and not (matrix.codes.type.bitwidth == 4 and length % 2)


def _by_columns(parameters: Array | None, columns: int) -> Array:
    """Return zero points or scales `[rows or 1, groups]` as `[groups, rows]`, each row followed by one more vector."""
    if parameters is None:
        parameters = np.ones((1, 1), np.float32)
    groups = parameters.shape[1]
    memory = np.zeros(groups * columns + TABLE, np.float32)
    found = memory[: groups * columns].reshape(groups, columns)
    found[...] = parameters.T
    return found
