"""Sums of products in vectors of 32 bits per element: of f32, or of several smaller numbers in each element."""

from __future__ import annotations

from typing import Any, Literal

from llvmlite import ir

from irexec.lowering.llvm.code import F32, I32, Code

# "floats" are f32. "bytes" are four bytes in each element, unsigned data times signed weights, with sums of 32 bits,
# which are stored as f32; those of "whole_bytes" are stored as they are.
# "pairs" are two bf16 in each element, with sums in f32. "numbers" are whole numbers of 32 bits, which wrap.
Arithmetic = Literal["floats", "bytes", "whole_bytes", "pairs", "numbers"]
# What bytes are made of: f32 on a grid, or unsigned or signed bytes.
Source = Literal["floats", "unsigned", "signed"]
# The numbers in an element.
FOLDS: dict[Arithmetic, int] = {"floats": 1, "bytes": 4, "whole_bytes": 4, "pairs": 2, "numbers": 1}


def is_whole(kind: Arithmetic) -> bool:
    """Return whether sums are whole numbers."""
    return kind in ("bytes", "whole_bytes", "numbers")


def has_starts(kind: Arithmetic) -> bool:
    """Return whether sums start with a number for each column."""
    return kind in ("bytes", "whole_bytes")


def sums_type(kind: Arithmetic, count: int) -> Any:
    return ir.VectorType(I32 if is_whole(kind) else F32, count)


def no_sums(kind: Arithmetic, count: int) -> Any:
    """Return the initial sums, which are zero."""
    return ir.Constant(sums_type(kind, count), None)


def add_products(code: Code, kind: Arithmetic, sums: Any, data: Any, weights: Any) -> Any:
    """Return `sums` with the products of each element of `data` and `weights` added."""
    if kind == "floats":
        return code.call("fmuladd", weights, data, sums)
    b, elements = code.builder, ir.VectorType(I32, sums.type.count)
    left, right = b.bitcast(data, elements), b.bitcast(weights, elements)
    if kind == "numbers":
        return b.add(sums, b.mul(left, right))
    # Newer versions of LLVM have these functions with vectors of smaller elements, and still accept this form.
    name = "avx512bf16.dpbf16ps" if kind == "pairs" else "avx512.vpdpbusd"
    function = code.intrinsic(f"x86.{name}.{32 * sums.type.count}", sums.type, sums, left, right)
    return b.call(function, [sums, left, right])


def bits(code: Code, vector: Any) -> Any:
    """Return the bits of a vector of f32 as whole numbers."""
    return code.builder.bitcast(vector, ir.VectorType(I32, vector.type.count))


def as_floats(code: Code, kind: Arithmetic, sums: Any) -> Any:
    """Return sums of "bytes" as f32, other sums as they are; whole numbers of 32 bits as elements for storing."""
    if kind == "bytes":
        return code.builder.sitofp(sums, ir.VectorType(F32, sums.type.count))
    return code.builder.bitcast(sums, ir.VectorType(F32, sums.type.count)) if is_whole(kind) else sums
