"""Rows as unsigned bytes in the same order: four adjacent bytes form a 32-bit element."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from irexec.lowering.llvm.arithmetic import Source, as_floats, bits
from irexec.lowering.llvm.code import F64, I32, Code, begun
from irexec.lowering.llvm.levels import reader

# The fields of the record, each a 64-bit number.
LAYER = (
    "source", "result", "grid",  # addresses; `grid`: the reciprocal of the step, and ROUNDER - zero
)  # fmt: skip
TASK = ("first", "last")
# The fields of `starts`' record: addresses of a whole number in f64, of two numbers for each column, and of the result.
STARTS = ("zero", "weight_sums", "begin", "result")
# Tasks begin at multiples of this number of elements: the maximum number of lanes of a vector.
MULTIPLE = 16


def write_bytes(module: Any, name: str, lanes: int, source: Source = "floats") -> Code:
    """Write `bytes(layer, task, scratch, round)`: the levels of some elements, which begin at a multiple of MULTIPLE.

    Up to one vector of bytes after the last element is also written.
    """
    code, layer, task = begun(module, name, lanes, LAYER, TASK)
    read, kind = reader(code, layer.source, layer.grid, source), ir.VectorType(ir.IntType(8), lanes)
    target = layer.result.run(kind.element) + task.first

    def write(x: Any, mask: Any) -> None:
        target.put_vector(x, code.builder.trunc(read(task.first + x, mask), kind))

    code.in_vectors(task.last - task.first, write)
    return code.end()


def write_starts(module: Any, name: str, lanes: int) -> Code:
    """Write `starts(layer, task, scratch, round)`: `begin - zero * weight_sums` for each column."""
    code, layer, task = begun(module, name, lanes, STARTS, TASK)
    b = code.builder
    number = b.load(b.inttoptr(layer.zero.value, F64.as_pointer()), align=1)
    zero = code.splat(b.fptosi(number, I32))

    def write(x: Any, mask: Any) -> None:
        begin, sums = (bits(code, each.floats().vector(x, mask)) for each in (layer.begin, layer.weight_sums))
        layer.result.floats().put_vector(x, as_floats(code, "whole_bytes", b.sub(begin, b.mul(zero, sums))), mask)

    code.in_vectors(task.last, write)
    return code.end()
