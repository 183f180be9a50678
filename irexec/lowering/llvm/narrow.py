"""f16 and bf16 in compiled code: f32 rounded to their numbers, and copies between them and f32 in memory."""

from __future__ import annotations

from typing import Any, Literal

from llvmlite import ir

from irexec.lowering.llvm.code import I16, I32, Code, Fields, Number, Run

Narrow = Literal["f16", "bf16"]
# The fields of the record of `widen` and `narrow`, each a 64-bit number.
LAYER = ("source", "result")
TASK = ("first", "last")


def rounded(code: Code, x: Any, to: Narrow) -> Any:
    """Return f32 numbers rounded to the nearest numbers of a narrow type, ties to even; nan stays nan."""
    b = code.builder
    if to == "f16":
        return b.fpext(b.fptrunc(x, ir.VectorType(ir.HalfType(), x.type.count)), x.type)
    return b.bitcast(_upper_half_rounded(code, x), x.type)


def _upper_half_rounded(code: Code, x: Any) -> Any:
    """Return the bits of bf16 in the upper halves of elements of 32 bits."""
    b, kind = code.builder, ir.VectorType(I32, x.type.count)

    def constant(number: int) -> Any:
        return ir.Constant(kind, [number] * kind.count)

    bits = b.bitcast(x, kind)
    odd = b.and_(b.lshr(bits, constant(16)), constant(1))
    nearest = b.add(b.add(bits, constant(0x7FFF)), odd)
    # The highest bit of the fraction makes it a nan also where the others are cut off.
    nan = b.or_(bits, constant(0x40_0000))
    return b.and_(b.select(b.fcmp_unordered("uno", x, x), nan, nearest), constant(0xFFFF_0000))


def write_widen(module: Any, name: str, lanes: int, kind: Narrow) -> Code:
    """Write `widen(layer, task, scratch, round)`: some narrow numbers as f32."""
    code = Code(module, name, 4, lanes)
    layer, task = Fields(code.parameters[0], LAYER), Fields(code.parameters[1], TASK)
    source, result = layer.source.halves() + task.first, layer.result.floats() + task.first
    code.in_vectors(task.last - task.first, lambda x, mask: result.put_vector(x, read(source, x, mask, kind), mask))
    return code.end()


def write_narrow(module: Any, name: str, lanes: int, kind: Narrow) -> Code:
    """Write `narrow(layer, task, scratch, round)`: some f32 rounded to a narrow type."""
    code = Code(module, name, 4, lanes)
    layer, task = Fields(code.parameters[0], LAYER), Fields(code.parameters[1], TASK)
    source, result = layer.source.floats() + task.first, layer.result.halves() + task.first
    b, elements = code.builder, ir.VectorType(I16, lanes)

    def write(x: Number, mask: Any) -> None:
        vector = source.vector(x, mask)
        if kind == "f16":
            halves = b.bitcast(b.fptrunc(vector, ir.VectorType(ir.HalfType(), lanes)), elements)
        else:
            upper = b.lshr(_upper_half_rounded(code, vector), ir.Constant(ir.VectorType(I32, lanes), [16] * lanes))
            halves = b.trunc(upper, elements)
        _put(result, x, halves, mask)

    code.in_vectors(task.last - task.first, write)
    return code.end()


def read(source: Run, index: Number, mask: Any, kind: Narrow) -> Any:
    """Return a vector of narrow numbers as f32; with a mask, the other lanes are 0."""
    code, b = source.code, source.code.builder
    halves = _halves(source, index, mask)
    if kind == "f16":
        return b.fpext(b.bitcast(halves, ir.VectorType(ir.HalfType(), code.lanes)), code.vector)
    wide = ir.VectorType(I32, code.lanes)
    return b.bitcast(b.shl(b.zext(halves, wide), ir.Constant(wide, [16] * code.lanes)), code.vector)


def _halves(source: Run, index: Number, mask: Any) -> Any:
    code, kind = source.code, ir.VectorType(I16, source.code.lanes)
    place = code.builder.bitcast((source + index).pointer, kind.as_pointer())
    if mask is None:
        return code.builder.load(place, align=2)
    arguments = place, ir.Constant(I32, 2), mask, ir.Constant(kind, None)
    return code.builder.call(code.intrinsic(f"masked.load.v{code.lanes}i16.p0", kind, *arguments), arguments)


def _put(target: Run, index: Number, halves: Any, mask: Any) -> None:
    code = target.code
    place = code.builder.bitcast((target + index).pointer, halves.type.as_pointer())
    if mask is None:
        code.builder.store(halves, place, align=2)
        return
    arguments = halves, place, ir.Constant(I32, 2), mask
    code.builder.call(code.intrinsic(f"masked.store.v{code.lanes}i16.p0", ir.VoidType(), *arguments), arguments)
