"""Matrices that lie anyhow, copied; those that lie transposed in squares of as many rows as a vector has lanes."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from irexec.native.code import I32, Code, Fields, copy_run

# The fields of what `transpose` is given, each a number of 64 bits. Lengths and places count elements of f32.
LAYER = (
    "source", "result", "starts",  # addresses; of numbers: where each matrix begins in the source
    "rows", "columns",  # of the result
    "step", "pitch",  # of the source: from row to row of the result, and from column to column
)  # fmt: skip
TASK = ("first_matrix", "last_matrix", "first_row", "last_row")


def write_copy(module: Any, name: str, lanes: int) -> Code:
    """`copy(layer, task, scratch, round)`: some rows of some matrices."""
    code = Code(module, name, 4, lanes)
    layer, task = Fields(code.parameters[0], LAYER), Fields(code.parameters[1], TASK)
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
    """`transpose(layer, task, scratch, round)`: some rows, a square or more high and wide, of some matrices.

    Their rows lie side by side in the source.
    """
    code = Code(module, name, 4, lanes)
    layer, task = Fields(code.parameters[0], LAYER), Fields(code.parameters[1], TASK)
    with code.loop(task.first_matrix, task.last_matrix) as matrix:
        source = layer.source.floats() + layer.starts.numbers().number(matrix)
        result = layer.result.floats() + matrix * layer.rows * layer.columns
        with code.loop(task.first_row, task.last_row, lanes) as row:
            # The last squares may overlap those before.
            first = row.at_most(task.last_row - lanes)
            with code.loop(0, layer.columns, lanes) as column:
                left = column.at_most(layer.columns - lanes)
                square = [(source + (left + number) * layer.pitch + first).vector() for number in range(lanes)]
                for number, vector in enumerate(_turned(code, square)):
                    (result + (first + number) * layer.columns + left).put_vector(0, vector)
    return code.end()


def _turned(code: Code, square: list[Any]) -> list[Any]:
    """The columns of a square as rows: in halves, quarters and so on, what is off the diagonal changes places."""
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
