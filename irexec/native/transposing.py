"""Matrices that lie transposed, turned: squares of as many rows and columns as a vector has lanes, in registers."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from irexec.native.code import I32, Code, Fields

# The fields of what `transpose` is given, each a number of 64 bits. Lengths and places count elements of f32.
LAYER = (
    "source", "result", "starts",  # addresses; of numbers: where each matrix begins in the source
    "rows", "columns",  # of the result
    "pitch",  # of the source: from column to column of the result
)  # fmt: skip
TASK = ("first_matrix", "last_matrix", "first_row", "last_row")


def write_transpose(module: Any, name: str, lanes: int) -> Code:
    """`transpose(layer, task, scratch, round)`: some rows, a square or more high and wide, of some matrices."""
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
