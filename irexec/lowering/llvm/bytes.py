"""Rows of f32 on a grid as unsigned bytes, in the same order: four neighbours are an element of 32 bits."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from irexec.lowering.llvm.arithmetic import bits
from irexec.lowering.llvm.code import Code, Fields

# The fields of the record, each a 64-bit number.
LAYER = (
    "source", "result", "grid",  # addresses; `grid`: the reciprocal of the step, and ROUNDER less the zero
)  # fmt: skip
TASK = ("first", "last")
# Elements between which work is divided: the most lanes of a vector.
MULTIPLE = 16


def write_bytes(module: Any, name: str, lanes: int) -> Code:
    """Write `bytes(layer, task, scratch, round)`: the levels of some elements, which begin at a multiple of MULTIPLE.

    Up to a vector of bytes behind the last element is written, too.
    """
    code = Code(module, name, 4, lanes)
    layer, task = Fields(code.parameters[0], LAYER), Fields(code.parameters[1], TASK)
    factor, rounder = (code.splat(layer.grid.floats().scalar(place)) for place in range(2))
    source, kind = layer.source.floats() + task.first, ir.VectorType(ir.IntType(8), lanes)
    target = layer.result + task.first

    def write(x: Any, mask: Any) -> None:
        levels = bits(code, code.call("fmuladd", source.vector(x, mask), factor, rounder))
        place = code.builder.inttoptr((target + x).value, kind.as_pointer())
        code.builder.store(code.builder.trunc(levels, kind), place, align=1)

    code.in_vectors(task.last - task.first, write)
    return code.end()
