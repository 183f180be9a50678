"""Copies of strided matrices; transposed matrices are copied in squares with as many rows as a vector has lanes."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from irexec.runtime.lowering.llvm.code import I32, Code, begun, copy_run

# The fields of `transpose`'s record, each a 64-bit number. Lengths and positions count elements of f32.
LAYER = (
    "source", "result", "starts",  # addresses; `starts` are numbers: the start of each matrix in the source
    "rows", "columns",  # the extents of the result
    "step", "pitch",  # strides of the source for the rows and the columns of the result
)  # fmt: skip
TASK = ("first_matrix", "last_matrix", "first_row", "last_row")


def write_copy(module: Any, name: str, lanes: int) -> Code:
    """Write `copy(layer, task, scratch, round)`: copy some rows of some matrices."""
    code, layer, task = begun(module, name, lanes, LAYER, TASK)
    with code.loop(task.first_matrix, task.last_matrix) as matrix, code.loop(task.first_row, task.last_row) as row:
        source = layer.source.floats() + layer.starts.numbers().number(matrix) + row * layer.step
        result = layer.result.floats() + (matrix * layer.rows + row) * layer.columns
        with code.builder.if_else(layer.pitch.equals(1)) as (together, apart):
            with together:
                copy_run(source, result, layer.columns)
            with apart, code.loop(0, layer.columns) as column:
                result.put(column, source.scalar(column * layer.pitch))
    return code.end()


def write_transpose(module: Any, name: str, lanes: int) -> Code:
    """Write `transpose(layer, task, scratch, round)`: copy some rows of some matrices that are at least a square high
    and wide. The rows of the result are adjacent in the source.
    """
    code, layer, task = begun(module, name, lanes, LAYER, TASK)
    with code.loop(task.first_matrix, task.last_matrix) as matrix:
        source = layer.source.floats() + layer.starts.numbers().number(matrix)
        result = layer.result.floats() + matrix * layer.rows * layer.columns
        with code.loop(task.first_row, task.last_row, lanes) as row:
            # The last squares may overlap the squares before them.
            first = row.at_most(task.last_row - lanes)
            with code.loop(0, layer.columns, lanes) as column:
                left = column.at_most(layer.columns - lanes)
                square = [(source + (left + number) * layer.pitch + first).vector() for number in range(lanes)]
                for number, vector in enumerate(turned(code, square)):
                    (result + (first + number) * layer.columns + left).put_vector(0, vector)
    return code.end()


def turned(code: Code, square: list[Any]) -> list[Any]:
    """Return a square of vectors transposed, by swapping its off-diagonal blocks, first halves, then quarters, and so
    on.
    """
    size = len(square)
    square = list(square)
    half = size // 2
    while half:
        upper = [k if not k & half else size + k - half for k in range(size)]
        lower = [k + half if not k & half else size + k for k in range(size)]
        orders = [ir.Constant(ir.VectorType(I32, size), order) for order in (upper, lower)]
        for number in range(size):
            if not number & half:
                pair = square[number], square[number + half]
                square[number], square[number + half] = (code.builder.shuffle_vector(*pair, order) for order in orders)
        half //= 2
    return square
