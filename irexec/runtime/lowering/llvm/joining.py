"""Concatenation of arrays: copies runs of the sources into one result."""

from __future__ import annotations

from typing import Any

from irexec.runtime.lowering.llvm.code import Code, begun, copy_run

# The fields of `join`'s record, each a 64-bit number. Lengths and positions count elements of f32.
LAYER = ("sources", "result")  # addresses: the table of the sources' addresses, and the result
TASK = (
    "source", "first_row", "last_row",
    "count", "source_place", "result_place",  # the length of a row, and the positions of the first row
    "source_pitch", "result_pitch",  # the distances between two rows
)  # fmt: skip


def write_join(module: Any, name: str, lanes: int) -> Code:
    """Write `join(layer, task, scratch, round)`: copy some rows of one source, or a part of its only row."""
    code, layer, task = begun(module, name, lanes, LAYER, TASK)
    source = layer.sources.numbers().number(task.source).floats() + task.source_place
    result = layer.result.floats() + task.result_place
    with code.loop(task.first_row, task.last_row) as row:
        copy_run(source + row * task.source_pitch, result + row * task.result_pitch, task.count)
    return code.end()
