"""Products of some rows with a packed matrix of f16 or bf16, by sums along the depth in square tiles.

The elements are converted in the order of the file and not transposed: a tile has a vector of partial sums for each
combination of SIDE rows and SIDE columns, whose lanes are added up at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from irexec.runtime.lowering.llvm.after import After
from irexec.runtime.lowering.llvm.code import I32, Code, copy_run
from irexec.runtime.lowering.llvm.epilogue import epilogue
from irexec.runtime.lowering.llvm.packed import AHEAD_LEVEL, MANY_TASK, fields, group_of
from irexec.runtime.lowering.llvm.unpacking import Decoder, Packing

# The number of rows, and of columns, of a tile.
SIDE = 4


def write_some(module: Any, name: str, lanes: int, step: int, packing: Packing, after: Sequence[After] = ()) -> Code:
    """Write `some(layer, task, scratch, round)`: multiply at least SIDE rows by some columns. A tile has as many sums
    as a vector has lanes; the depth is a multiple of this number, and consists of a single group.

    Scratch memory holds `step` elements of SIDE columns, the vectors of all tiles, then the sums.
    """
    code = Code(module, name, 4, lanes)
    layer, task, panel = fields(code, MANY_TASK)
    b, depth = code.builder, layer.depth
    rows, width = task.last_row - task.first_row, task.last_column - task.first_column
    tiles = (rows + (SIDE - 1)) // SIDE
    partial = panel + step * SIDE
    sums, pitch = partial + tiles * (lanes * lanes), width + SIDE
    left = layer.left.floats() + task.first_row * depth
    ahead = packing.nbytes(depth * SIDE)
    with code.loop(0, width, SIDE) as start:
        columns = [(task.first_column + start + number).at_most(layer.columns - 1) for number in range(SIDE)]
        with code.loop(0, depth, step) as k:
            count = (depth - k).at_most(step)
            for number, column in enumerate(columns):
                decoder = Decoder.of_group(code, packing, group_of(layer, column, code.number(0)), (lanes,))
                codes = layer.codes + packing.nbytes(column * depth + k)
                with code.loop(0, count, lanes) as index:
                    address = codes + packing.nbytes(index)
                    code.prefetch(address + ahead, AHEAD_LEVEL)
                    (panel + step * number).put_vector(index, decoder.vector(address, lanes))
            with code.loop(0, tiles) as tile:
                # The last tile may overlap the tile before it; both then compute the same sums of the same products.
                first = (tile * SIDE).at_most(rows - SIDE)
                own = partial + tile * (lanes * lanes)
                is_first = k < 1
                before = [b.select(is_first, code.zeros(), own.vector(n * lanes)) for n in range(SIDE * SIDE)]
                with code.folding(0, count, before, lanes) as fold:
                    weights = [(panel + step * n).vector(fold.index) for n in range(SIDE)]
                    given = [(left + ((first + m) * depth + k)).vector(fold.index) for m in range(SIDE)]
                    fold.values = [
                        code.call("fmuladd", given[n // SIDE], weights[n % SIDE], value)
                        for n, value in enumerate(fold.values)
                    ]
                for n, value in enumerate(fold.values):
                    own.put_vector(n * lanes, value)
        with code.loop(0, tiles) as tile:
            first, own = (tile * SIDE).at_most(rows - SIDE), partial + tile * (lanes * lanes)
            total = _added_up(code, [own.vector(n * lanes) for n in range(SIDE * SIDE)])
            for m in range(SIDE):
                part = b.shuffle_vector(total, total, _places([m * SIDE + n for n in range(SIDE)]))
                place = b.bitcast((sums + ((first + m) * pitch + start)).pointer, part.type.as_pointer())
                b.store(part, place, align=4)
    with code.loop(0, rows) as row:
        place = (task.first_row + row) * layer.columns + task.first_column
        change = epilogue(code, after, layer.operands, task.first_column, place)
        copy_run(sums + row * pitch, layer.result.floats() + place, width, change)
    return code.end()


def _added_up(code: Code, vectors: list[Any]) -> Any:
    """Return a vector with the sum of each vector's lanes; there are as many vectors as lanes."""
    b, lanes = code.builder, code.lanes
    assert len(vectors) == lanes
    even, odd = (_places(range(first, 2 * lanes, 2)) for first in (0, 1))
    while len(vectors) > 1:
        pairs = zip(vectors[::2], vectors[1::2], strict=True)
        vectors = [b.fadd(b.shuffle_vector(x, y, even), b.shuffle_vector(x, y, odd)) for x, y in pairs]
    return vectors[0]


def _places(numbers: Sequence[int]) -> Any:
    return ir.Constant(ir.VectorType(I32, len(numbers)), list(numbers))
