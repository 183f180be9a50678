"""Conversions between element types: of elements in memory, and of f32 vectors rounded to narrower types."""

from __future__ import annotations

from typing import Any, Literal

from llvmlite import ir

from irexec.runtime.lowering.llvm.code import F32, F64, I16, I32, I64, Code, begun

Narrow = Literal["f16", "bf16"]
# The LLVM types of elements in memory, by element type.
ELEMENTS = {
    **dict.fromkeys(("boolean", "u8", "i8"), ir.IntType(8)),
    **dict.fromkeys(("u16", "i16", "f16", "bf16"), I16),
    **dict.fromkeys(("u32", "i32"), I32),
    **dict.fromkeys(("u64", "i64"), I64),
    "f32": F32,
    "f64": F64,
}
# The fields of the record of `converted`, each a 64-bit number.
LAYER = ("source", "result")
TASK = ("first", "last")


def write_converted(module: Any, name: str, lanes: int, source: str, target: str) -> Code:
    """Write `converted(layer, task, scratch, round)`: store some elements as elements of another type."""
    code, layer, task = begun(module, name, lanes, LAYER, TASK)
    given, result = layer.source.run(ELEMENTS[source]) + task.first, layer.result.run(ELEMENTS[target]) + task.first
    code.in_vectors(
        task.last - task.first,
        lambda x, mask: result.put_vector(x, converted(code, given.vector(x, mask), source, target), mask),
    )
    return code.end()


def converted(code: Code, x: Any, source: str, target: str) -> Any:
    """Return a vector of elements converted to another type, by the rules of `irexec.ops.compute.casting`.

    Floats are converted only to integers of up to 32 bits, and f64 only to f32.
    """
    b, to = code.builder, ir.VectorType(ELEMENTS[target], x.type.count)
    if source in ("f16", "bf16"):
        x, source = _widened(code, x, source), "f32"
    if target in ("f16", "bf16"):
        return _narrowed(code, converted(code, x, source, "f32"), target)
    is_float = x.type.element in (F32, F64)
    if to.element in (F32, F64):
        if is_float:
            return x if x.type == to else b.fpext(x, to) if to.element == F64 else b.fptrunc(x, to)
        return (b.sitofp if source[0] == "i" else b.uitofp)(x, to)
    if is_float:
        x = _whole(code, x)
    if to.element.width > x.type.element.width:
        return (b.sext if source[0] == "i" else b.zext)(x, to)
    return x if x.type == to else b.trunc(x, to)


def _whole(code: Code, x: Any) -> Any:
    """Return f32 truncated toward zero, as i32; NaN and numbers out of range become the lowest i32."""
    b, low, high = code.builder, code.constant(-(2.0**31)), code.constant(2.0**31)
    fits = b.and_(b.fcmp_ordered(">=", x, low), b.fcmp_ordered("<", x, high))
    return b.fptosi(b.select(fits, x, low), ir.VectorType(I32, x.type.count))


def rounded(code: Code, x: Any, to: Narrow) -> Any:
    """Return f32 numbers rounded to the nearest numbers of a narrow type, ties to even; NaN stays NaN."""
    b = code.builder
    if to == "f16":
        return b.fpext(b.fptrunc(x, ir.VectorType(ir.HalfType(), x.type.count)), x.type)
    return b.bitcast(_upper_half_rounded(code, x), x.type)


def _narrowed(code: Code, x: Any, to: str) -> Any:
    """Return f32 as the 16 bits of a narrow type."""
    b, kind = code.builder, ir.VectorType(I16, x.type.count)
    if to == "f16":
        return b.bitcast(b.fptrunc(x, ir.VectorType(ir.HalfType(), x.type.count)), kind)
    return b.trunc(b.lshr(_upper_half_rounded(code, x), _constant(x, 16)), kind)


def _widened(code: Code, halves: Any, kind: str) -> Any:
    """Return the 16 bits of numbers of a narrow type as f32."""
    b, wide = code.builder, ir.VectorType(I32, halves.type.count)
    if kind == "f16":
        return b.fpext(b.bitcast(halves, ir.VectorType(ir.HalfType(), halves.type.count)), code.vector)
    return b.bitcast(b.shl(b.zext(halves, wide), _constant(halves, 16)), code.vector)


def _upper_half_rounded(code: Code, x: Any) -> Any:
    """Return f32 rounded to bf16, as 32-bit elements whose upper halves are the bits of the bf16."""
    b = code.builder
    bits = b.bitcast(x, ir.VectorType(I32, x.type.count))
    odd = b.and_(b.lshr(bits, _constant(x, 16)), _constant(x, 1))
    nearest = b.add(b.add(bits, _constant(x, 0x7FFF)), odd)
    # With the highest bit of its fraction set, a NaN remains NaN after the lower bits are dropped.
    nan = b.or_(bits, _constant(x, 0x40_0000))
    return b.and_(b.select(b.fcmp_unordered("uno", x, x), nan, nearest), _constant(x, 0xFFFF_0000))


def _constant(x: Any, number: int) -> Any:
    """Return a vector as long as `x` with one 32-bit integer in all lanes."""
    return ir.Constant(ir.VectorType(I32, x.type.count), [number] * x.type.count)
