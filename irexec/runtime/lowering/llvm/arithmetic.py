"""Sums of products in vectors of 32-bit elements: of f32, or of several smaller numbers that each element packs."""

from __future__ import annotations

from typing import Any, Literal

from llvmlite import ir

from irexec.runtime.lowering.llvm.code import F32, I32, Code

# "floats" are f32. "bytes": each element packs four bytes, unsigned in the data and signed in the weights; 32-bit sums
# are stored as f32. "whole_bytes": the same, with sums stored as 32-bit integers. "pairs": each element packs two bf16;
# sums are f32. "numbers" are 32-bit integers, which wrap around.
Arithmetic = Literal["floats", "bytes", "whole_bytes", "pairs", "numbers"]
# The elements from which packed bytes are made: f32 on a grid, or unsigned or signed bytes.
Source = Literal["floats", "unsigned", "signed"]
# The number of numbers that one element packs.
FOLDS: dict[Arithmetic, int] = {"floats": 1, "bytes": 4, "whole_bytes": 4, "pairs": 2, "numbers": 1}


def is_whole(kind: Arithmetic) -> bool:
    """Return whether the sums of this arithmetic are integers."""
    return kind in ("bytes", "whole_bytes", "numbers")


def has_starts(kind: Arithmetic) -> bool:
    """Return whether the sums of this arithmetic start with a given number for each column, instead of 0."""
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
    # In newer versions of LLVM these functions take vectors of smaller elements, but this form is still accepted.
    name = "avx512bf16.dpbf16ps" if kind == "pairs" else "avx512.vpdpbusd"
    function = code.intrinsic(f"x86.{name}.{32 * sums.type.count}", sums.type, sums, left, right)
    return b.call(function, [sums, left, right])


def bits(code: Code, vector: Any) -> Any:
    """Return the bits of a vector of f32 as 32-bit integers."""
    return code.builder.bitcast(vector, ir.VectorType(I32, vector.type.count))


def as_floats(code: Code, kind: Arithmetic, sums: Any) -> Any:
    """Return sums of "bytes" converted to f32, other sums with unchanged bits, as elements for storing."""
    if kind == "bytes":
        return code.builder.sitofp(sums, ir.VectorType(F32, sums.type.count))
    return code.builder.bitcast(sums, ir.VectorType(F32, sums.type.count)) if is_whole(kind) else sums
