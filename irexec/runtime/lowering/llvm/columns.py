"""Kernels over columns: sums, extrema and softmax along axes that are not the last; a vector of columns at a time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from irexec.runtime.lowering.llvm.code import Code, begun
from irexec.runtime.lowering.llvm.functions import exp_below_0
from irexec.runtime.lowering.llvm.rows import EXTREMES, larger

Kind = Literal["sum", "largest", "smallest", "softmax"]
# The fields of `columns`' record, each a 64-bit number. Lengths count elements of f32.
LAYER = (
    "source", "result",  # addresses
    "depth", "width",  # the length of a column, and the number of columns side by side
    "vectors",  # the number of vectors of columns side by side
)  # fmt: skip
TASK = ("first_vector", "last_vector")


def write_columns(module: Any, name: str, lanes: int, kind: Kind) -> Code:
    """Write `columns(layer, task, scratch, round)`: apply the kernel `kind` to some vectors of columns."""
    code, layer, task = begun(module, name, lanes, LAYER, TASK)
    b = code.builder
    with code.loop(task.first_vector, task.last_vector) as vector:
        plane, place = vector // layer.vectors, vector % layer.vectors * lanes
        mask = code.mask(layer.width - place)
        source = layer.source.floats() + plane * layer.depth * layer.width + place
        result = layer.result.floats() + place

        def folded(fold: Callable[[Any, Any], Any], neutral: Any) -> Any:
            with code.folding(0, layer.depth, [neutral]) as column:
                column.values = [fold(column.values[0], source.vector(column.index * layer.width, mask))]
            return column.values[0]

        if kind == "softmax":
            result = result + plane * layer.depth * layer.width
            # NaN need not be handled here: e to the power of NaN is NaN, and so is the sum.
            most = folded(partial(larger, code), code.constant(float("-inf")))
            with code.folding(0, layer.depth, [code.zeros()]) as column:
                at = column.index * layer.width
                high, scale = exp_below_0(code, b.fsub(source.vector(at, mask), most))
                power = b.fmul(high, scale)
                result.put_vector(at, power, mask)
                column.values = [b.fadd(column.values[0], power)]
            factor = b.fdiv(code.constant(1.0), column.values[0])
            with code.loop(0, layer.depth) as index:
                at = index * layer.width
                result.put_vector(at, b.fmul(result.vector(at, mask), factor), mask)
        else:
            name_of, neutral = EXTREMES.get(kind, ("", 0.0))
            fold = partial(code.call, name_of) if name_of else b.fadd
            (result + plane * layer.width).put_vector(0, folded(fold, code.constant(neutral)), mask)
    return code.end()
