"""Interleaving: each row of the result takes every n-th element from the same row of another array."""

from __future__ import annotations

from typing import Any

from irexec.runtime.lowering.llvm.code import Code, begun

# The fields of `interleave`'s record, each a 64-bit number. Lengths and positions count elements of f32.
LAYER = (
    "source", "result", "places",  # addresses; `places` has a PLACE for each row of a plane and each phase
    "rows", "columns",  # the extents of a plane of the result
    "phases",
)  # fmt: skip
# The first element in the source, its distance to the first element of the next plane, the first column in the result,
# and the number of elements.
PLACE = ("start", "pitch", "column", "count")
TASK = ("first_plane", "last_plane", "first_row", "last_row")


def write_interleave(module: Any, name: str, lanes: int) -> Code:
    """Write `interleave(layer, task, scratch, round)`: interleave the rows and planes that the task names."""
    code, layer, task = begun(module, name, lanes, LAYER, TASK)
    places = layer.places.numbers()
    with code.loop(task.first_plane, task.last_plane) as plane, code.loop(task.first_row, task.last_row) as row:
        result = layer.result.floats() + (plane * layer.rows + row) * layer.columns
        with code.loop(0, layer.phases) as phase:
            start, pitch, column, count = (
                places.number((row * layer.phases + phase) * len(PLACE) + field) for field in range(len(PLACE))
            )
            source = layer.source.floats() + start + plane * pitch
            with code.loop(0, count) as number:
                result.put(column + number * layer.phases, source.scalar(number))
    return code.end()
