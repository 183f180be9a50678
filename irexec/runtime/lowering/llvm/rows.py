"""Kernels over whole rows: means, extrema, norms, normalization and softmax.

A row is read from memory once, and stays in the first-level cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

from llvmlite import ir

from irexec.runtime.lowering.llvm.after import After
from irexec.runtime.lowering.llvm.code import F32, F64, I32, I64, Change, Code, Number, Run, begun, copy_run
from irexec.runtime.lowering.llvm.epilogue import epilogue
from irexec.runtime.lowering.llvm.functions import exp_below_0

# Kinds. "sum". "mean": the sum divided by the width. "length": the root of the sum of squares, divided by the first
# number. "largest" and "smallest": the extreme element, NaN if any element is NaN. "centred": each element minus the
# mean. "normalized_inside" and "normalized_outside": each element minus the mean, divided by the standard deviation,
# with the first number added inside or outside of the root.
Kind = Literal[
    "sum", "mean", "length", "largest", "smallest", "centred", "normalized_inside", "normalized_outside", "softmax"
]
# The fields of `rows`' record, each a 64-bit number. Lengths count elements of f32.
LAYER = (
    "source", "result", "operands", "numbers",  # addresses; `operands` belong to the following layers
    "width",  # the length of a row
)  # fmt: skip
TASK = ("first_row", "last_row")
# Number of independent partial sums, so that an addition need not wait for the previous addition.
APART = 4


def write_rows(module: Any, name: str, lanes: int, kind: Kind, after: Sequence[After] = ()) -> Code:
    """Write `rows(layer, task, scratch, round)`: apply the kernel `kind`, and the following elementwise layers, to some
    rows.
    """
    code, layer, task = begun(module, name, lanes, LAYER, TASK)
    number = layer.numbers.floats().scalar(0)
    with code.loop(task.first_row, task.last_row) as row:
        source = layer.source.floats() + row * layer.width
        result = layer.result.floats() + row * layer.width
        if kind == "softmax":
            _softmax(code, source, result, layer.width)
        elif kind in ("mean", "sum"):
            count = ir.Constant(F32, 1.0) if kind == "sum" else code.builder.sitofp(layer.width.value, F32)
            layer.result.floats().put(row, _mean(code, layer.width, source.vector, count))
        elif kind == "length":
            layer.result.floats().put(row, _mean(code, layer.width, source.vector, number, partial(_root, code)))
        elif kind in EXTREMES:
            layer.result.floats().put(row, _extreme(code, layer.width, source.vector, *EXTREMES[kind]))
        else:
            change = epilogue(code, after, layer.operands, code.number(0), row * layer.width)
            _normalize(code, source, result, layer.width, kind, number, change)
    return code.end()


def _normalize(code: Code, source: Run, result: Run, width: Number, kind: Kind, number: Any, change: Change) -> None:
    b, count = code.builder, code.builder.sitofp(width.value, F32)
    mean = code.splat(_mean(code, width, source.vector, count))

    def centred(x: Number, mask: Any) -> Any:
        vector = b.fsub(source.vector(x, mask), mean)
        return vector if mask is None else b.select(mask, vector, code.zeros())

    def deviation(squares: Any) -> Any:
        kind_of_number = squares.type
        eps = number if kind_of_number == F32 else b.fpext(number, kind_of_number)
        if kind == "normalized_inside":
            squares = b.fadd(squares, eps)
        root = _root(code, squares)
        return b.fadd(root, eps) if kind == "normalized_outside" else root

    factor = code.constant(1.0)
    if kind != "centred":
        factor = code.splat(b.fdiv(ir.Constant(F32, 1.0), _mean(code, width, centred, count, deviation)))
    code.in_vectors(
        width, lambda x, mask: result.put_vector(x, change(x, b.fmul(centred(x, mask), factor), mask), mask)
    )


def _mean(
    code: Code,
    width: Number,
    read: Callable[[Number, Any], Any],
    count: Any,
    of_squares: Callable[[Any], Any] | None = None,
) -> Any:
    """Return the mean of a row, or `of_squares` of the mean of its squares; computed in f64 if a sum overflows f32."""
    b = code.builder

    def term(x: Number, mask: Any) -> Any:
        vector = read(x, mask)
        return vector if of_squares is None else b.fmul(vector, vector)

    total = across_lanes(code, _folded(code, width, term, b.fadd, code.zeros()), b.fadd)
    is_number = b.fcmp_ordered("==", b.fsub(total, total), ir.Constant(F32, 0.0))
    elements = Number(code, b.select(is_number, I64(0), width.value))
    wide = ir.VectorType(F64, code.lanes)
    with code.folding(0, elements, [ir.Constant(wide, None)], code.lanes) as fold:
        mask = code.mask(width - fold.index)
        vector = b.fpext(b.select(mask, read(fold.index, mask), code.zeros()), wide)
        fold.values = [b.fadd(fold.values[0], vector if of_squares is None else b.fmul(vector, vector))]
    exact = b.fdiv(across_lanes(code, fold.values[0], b.fadd), b.fpext(count, F64))
    near = b.fdiv(total, count)
    if of_squares is not None:
        near, exact = of_squares(near), of_squares(exact)
    return b.select(is_number, near, b.fptrunc(exact, F32))


def _root(code: Code, scalar: Any) -> Any:
    kind = scalar.type
    return code.builder.call(code.intrinsic(f"sqrt.{kind.intrinsic_name}", kind, scalar), [scalar])


# LLVM's function and its neutral element, by kind.
EXTREMES = {"largest": ("maximum", float("-inf")), "smallest": ("minimum", float("inf"))}


def _extreme(code: Code, width: Number, read: Callable[[Number, Any], Any], name: str, neutral: float) -> Any:
    fold = partial(code.call, name)
    return across_lanes(code, _folded(code, width, read, fold, code.constant(neutral)), fold)


def _softmax(code: Code, source: Run, result: Run, width: Number) -> None:
    b = code.builder
    # NaN need not be handled here: e to the power of NaN is NaN, and so is the sum.
    lowest = code.constant(float("-inf"))
    highest = _folded(code, width, lambda x, mask: source.vector(x, mask), partial(larger, code), lowest)
    most = code.splat(across_lanes(code, highest, partial(larger, code)))

    def power(x: Number, vector: Any, mask: Any) -> Any:
        high, scale = exp_below_0(code, b.fsub(vector, most))
        return b.fmul(high, scale)

    copy_run(source, result, width, power)
    total = across_lanes(code, _folded(code, width, result.vector, b.fadd, code.zeros()), b.fadd)
    factor = code.splat(b.fdiv(ir.Constant(F32, 1.0), total))
    copy_run(result, result, width, lambda x, vector, mask: b.fmul(vector, factor))


def _folded(code: Code, width: Number, read: Callable[[Number, Any], Any], fold: Any, neutral: Any) -> Any:
    """Return one vector: all vectors of a row combined with `fold`. Lanes beyond the end of the row are `neutral`."""
    b, step = code.builder, APART * code.lanes
    whole, most = width & -step, width & -code.lanes
    with code.folding(0, whole, [neutral] * APART, step) as many:
        many.values = [fold(old, read(many.index + n * code.lanes, None)) for n, old in enumerate(many.values)]
    first, second, third, fourth = many.values
    together = fold(fold(first, second), fold(third, fourth))
    with code.folding(whole, most, [together], code.lanes) as few:
        few.values = [fold(few.values[0], read(few.index, None))]
    mask = code.mask(width - most)
    return fold(few.values[0], b.select(mask, read(most, mask), neutral))


def larger(code: Code, x: Any, y: Any) -> Any:
    """Return the larger of two elements; `x` if `y` is NaN."""
    return code.builder.select(code.builder.fcmp_ordered("<", x, y), y, x)


def across_lanes(code: Code, vector: Any, fold: Callable[[Any, Any], Any]) -> Any:
    """Return a scalar: all lanes of a vector combined with `fold`."""
    lanes = code.lanes
    while lanes > 1:
        lanes //= 2
        order = ir.Constant(ir.VectorType(I32, code.lanes), [n % code.lanes for n in range(lanes, lanes + code.lanes)])
        vector = fold(vector, code.builder.shuffle_vector(vector, vector, order))
    return code.builder.extract_element(vector, ir.Constant(I32, 0))
