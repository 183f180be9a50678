"""Elementwise layers that are not fused with another kernel: the operations of `epilogue` from one array to another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irexec.runtime.lowering.llvm.after import After
from irexec.runtime.lowering.llvm.code import Code, begun, copy_run
from irexec.runtime.lowering.llvm.epilogue import epilogue

# The fields of `elementwise`'s record, each a 64-bit number. Lengths count elements of f32.
LAYER = (
    "source", "result", "operands",  # addresses
    "width", "size",  # lengths of a row and of all rows
)  # fmt: skip
TASK = ("first_row", "last_row")


def write_elementwise(module: Any, name: str, lanes: int, after: Sequence[After]) -> Code:
    """Write `elementwise(layer, task, scratch, round)`: compute some rows. The last row of the array may be shorter."""
    code, layer, task = begun(module, name, lanes, LAYER, TASK)
    with code.loop(task.first_row, task.last_row) as row:
        place = row * layer.width
        count = (layer.size - place).at_most(layer.width)
        change = epilogue(code, after, layer.operands, row, place)
        copy_run(layer.source.floats() + place, layer.result.floats() + place, count, change)
    return code.end()
