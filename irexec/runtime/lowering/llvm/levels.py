"""Elements that pack several numbers: bytes of four channels of f32 on a grid, bf16 of two channels, or four adjacent
bytes of a row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from irexec.runtime.lowering.llvm.arithmetic import FOLDS, Arithmetic, Source, as_floats, bits
from irexec.runtime.lowering.llvm.code import F64, I32, Code, Number, Run, begun

# The fields of `levels`' record, each a 64-bit number. Lengths and positions count elements.
LAYER = (
    "source", "result", "grid",  # addresses; `grid`: the reciprocal of the step, and ROUNDER - zero
    "channels", "packed",  # the number of channels of a group, and of the elements that pack them
    "pixels",  # the number of pixels of a channel
)  # fmt: skip
TASK = ("first", "last", "first_pixel", "last_pixel")
# The fields of `bytes`' record: addresses as in LAYER.
BYTES = ("source", "result", "grid")
RANGE = ("first", "last")
# The fields of `starts`' record: addresses of an integer in f64, of two numbers for each column, and of the result.
STARTS = ("zero", "weight_sums", "begin", "result")
# Tasks begin at multiples of this number of elements: the maximum number of lanes of a vector.
MULTIPLE = 16
# Adding this to a small number rounds it to an integer, which is then in the lowest bits of the sum.
ROUNDER = 12582912.0


def write_levels(module: Any, name: str, lanes: int, kind: Arithmetic, source: Source = "floats") -> Code:
    """Write `levels(layer, task, scratch, round)`: pack some channels of f32, as bytes of four channels or bf16 of two
    channels in an element.

    The last element of a group is filled with copies of the group's last channel, whose weights there are 0.
    """
    fold = FOLDS[kind]
    code, layer, task = begun(module, name, lanes, LAYER, TASK)
    read = reader(code, layer.source, layer.grid, source) if kind == "bytes" else None
    count = task.last_pixel - task.first_pixel
    with code.loop(task.first, task.last) as element:
        group, begin = element // layer.packed, element % layer.packed * fold
        rows = [
            (group * layer.channels + (begin + place).at_most(layer.channels - 1)) * layer.pixels + task.first_pixel
            for place in range(fold)
        ]
        target = layer.result.floats() + element * layer.pixels + task.first_pixel

        def write(x: Number, mask: Any, rows: Sequence[Number] = rows, target: Run = target) -> None:
            if read is not None:
                target.put_vector(x, _joined(code, [read(row + x, mask) for row in rows]), mask)
            else:
                vectors = [(layer.source.floats() + row).vector(x, mask) for row in rows]
                target.put_vector(x, _paired(code, *(bits(code, vector) for vector in vectors)), mask)

        code.in_vectors(count, write)
    return code.end()


def write_bytes(module: Any, name: str, lanes: int, source: Source = "floats") -> Code:
    """Write `bytes(layer, task, scratch, round)`: store the levels of some elements, from a multiple of MULTIPLE on.

    Up to one vector of bytes after the last element is also written.
    """
    code, layer, task = begun(module, name, lanes, BYTES, RANGE)
    read, kind = reader(code, layer.source, layer.grid, source), ir.VectorType(ir.IntType(8), lanes)
    target = layer.result.run(kind.element) + task.first

    def write(x: Any, mask: Any) -> None:
        target.put_vector(x, code.builder.trunc(read(task.first + x, mask), kind))

    code.in_vectors(task.last - task.first, write)
    return code.end()


def write_starts(module: Any, name: str, lanes: int) -> Code:
    """Write `starts(layer, task, scratch, round)`: store the start value of each column's sums,
    `begin - zero * weight_sums`.
    """
    code, layer, task = begun(module, name, lanes, STARTS, RANGE)
    b = code.builder
    number = b.load(b.inttoptr(layer.zero.value, F64.as_pointer()), align=1)
    zero = code.splat(b.fptosi(number, I32))

    def write(x: Any, mask: Any) -> None:
        begin, sums = (bits(code, each.floats().vector(x, mask)) for each in (layer.begin, layer.weight_sums))
        layer.result.floats().put_vector(x, as_floats(code, "whole_bytes", b.sub(begin, b.mul(zero, sums))), mask)

    code.in_vectors(task.last, write)
    return code.end()


def reader(code: Code, source: Number, grid: Number, kind: Source) -> Callable[[Number, Any], Any]:
    """Return the function `read(index, mask)`, which returns a vector of 32-bit integers: the elements' levels in their
    lowest bytes.
    """
    if kind == "floats":
        factor, rounder = (code.splat(grid.floats().scalar(place)) for place in range(2))
        run = source.floats()
        return lambda index, mask: bits(code, code.call("fmuladd", run.vector(index, mask), factor, rounder))
    b, wide, run = code.builder, ir.VectorType(I32, code.lanes), source.run(ir.IntType(8))
    flip = ir.Constant(wide, [128 if kind == "signed" else 0] * code.lanes)
    return lambda index, mask: b.xor(b.zext(run.vector(index, mask), wide), flip)


def _paired(code: Code, first: Any, second: Any) -> Any:
    """Return one vector of the upper halves of two vectors of f32, whose lower halves are 0 because they are bf16."""
    b, kind = code.builder, first.type
    lower = b.lshr(first, ir.Constant(kind, [16] * kind.count))
    return b.bitcast(b.or_(lower, b.and_(second, ir.Constant(kind, [0xFFFF_0000] * kind.count))), code.vector)


def _joined(code: Code, levels: list[Any]) -> Any:
    """Return one vector whose bytes are the lowest bytes of four vectors' elements."""
    b, kind = code.builder, levels[0].type

    def constant(number: int) -> Any:
        return ir.Constant(kind, [number] * kind.count)

    result = b.and_(levels[0], constant(255))
    for place, level in enumerate(levels[1:], 1):
        byte = level if place == 3 else b.and_(level, constant(255))
        result = b.or_(result, b.shl(byte, constant(8 * place)))
    return b.bitcast(result, code.vector)
