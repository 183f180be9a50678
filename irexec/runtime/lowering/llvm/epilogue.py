"""Epilogues: elementwise layers fused with another layer, applied to each element of its result before it is stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from irexec.runtime.lowering.llvm.after import NUMBERS, OPERAND, After
from irexec.runtime.lowering.llvm.code import Change, Code, Fields, Number
from irexec.runtime.lowering.llvm.converting import rounded
from irexec.runtime.lowering.llvm.functions import (
    clamped,
    gelu_erf,
    gelu_tanh,
    hsigmoid,
    hswish,
    logistic,
    logistic_times,
    mish,
    tanh,
)


def epilogue(code: Code, steps: Sequence[After], operands: Number, index: Number, place: Number) -> Change:
    """Return the function that applies steps to a run of the result.

    `index`: the channel or row of the run, or its first column. `place`: the position of the run in the result.
    `operands`: the address of the records of the steps' operands.
    """
    changes = [
        _change(code, step, Fields(operands + number * 8 * len(OPERAND), OPERAND), index, place)
        for number, step in enumerate(steps)
    ]

    def change(index: Number, vector: Any, mask: Any) -> Any:
        for each in changes:
            vector = each(index, vector, mask)
        return vector

    return change


def _change(code: Code, step: After, operand: Fields, index: Number, place: Number) -> Change:
    run = operand.address.floats()
    if step.takes in ("row", "run"):
        index = index // operand.divisor % operand.cycle * operand.step
    if step.kind in _OF_NUMBERS:
        first = code.number(0) if step.takes == "numbers" else index * NUMBERS
        numbers = [code.splat(run.scalar(first + number)) for number in range(NUMBERS)]
        formula = _OF_NUMBERS[step.kind]
        return lambda index, vector, mask: formula(code, vector, numbers)
    write = _OF_TWO[step.kind]
    if step.takes in ("channel", "row"):
        one = code.splat(run.scalar(index))
        return lambda index, vector, mask: write(code, vector, one)
    if step.takes == "plane":
        place = place % operand.cycle
    run = run + (place if step.takes in ("result", "plane") else index)
    return lambda index, vector, mask: write(code, vector, run.vector(index, mask))


_OF_TWO: dict[str, Callable[[Code, Any, Any], Any]] = {
    "add": lambda code, x, y: code.builder.fadd(x, y),
    "subtract": lambda code, x, y: code.builder.fsub(x, y),
    "subtract_from": lambda code, x, y: code.builder.fsub(y, x),
    "multiply": lambda code, x, y: code.builder.fmul(x, y),
    "divide": lambda code, x, y: code.builder.fdiv(x, y),
    "divide_by": lambda code, x, y: code.builder.fdiv(y, x),
    "maximum": lambda code, x, y: code.call("maximum", x, y),
    "minimum": lambda code, x, y: code.call("minimum", x, y),
    "prelu": lambda code, x, y: _scaled_below_0(code, x, y),
}


def _scaled_below_0(code: Code, x: Any, slope: Any) -> Any:
    b = code.builder
    return b.select(b.fcmp_ordered("<", x, code.zeros()), b.fmul(x, slope), x)


def _quantize(code: Code, x: Any, numbers: Sequence[Any]) -> Any:
    """FakeQuantize for input_low < input_high, with the operations of its kernel in the same order, so that the results
    are the same bits.

    The numbers are input_low, the extent of the input, the highest level, the step of the output, and output_low.
    """
    b = code.builder
    low, extent, highest, step, output_low = numbers[:5]
    level = b.fmul(b.fdiv(b.fsub(x, low), extent), highest)
    level = clamped(code, code.call("rint", level), code.zeros(), highest)
    return b.fadd(b.fmul(level, step), output_low)


_OF_NUMBERS: dict[str, Callable[[Code, Any, Sequence[Any]], Any]] = {
    "clamp": lambda code, x, numbers: clamped(code, x, *numbers[:2]),
    "sigmoid": lambda code, x, numbers: logistic(code, x),
    "swish": lambda code, x, numbers: logistic_times(code, code.builder.fmul(x, numbers[0]), x),
    "gelu_erf": gelu_erf,
    "gelu_tanh": gelu_tanh,
    "hsigmoid": lambda code, x, numbers: hsigmoid(code, x),
    "hswish": lambda code, x, numbers: hswish(code, x),
    "mish": lambda code, x, numbers: mish(code, x),
    "tanh": lambda code, x, numbers: tanh(code, x),
    "leaky": lambda code, x, numbers: _scaled_below_0(code, x, numbers[0]),
    "line": lambda code, x, numbers: code.builder.fadd(code.builder.fmul(x, numbers[0]), numbers[1]),
    "quantize": _quantize,
    "absolute": lambda code, x, numbers: code.call("fabs", x),
    "negative": lambda code, x, numbers: code.builder.fneg(x),
    "round": lambda code, x, numbers: code.call("rint", x),
    "sqrt": lambda code, x, numbers: code.call("sqrt", x),
    "square": lambda code, x, numbers: code.builder.fmul(x, x),
    "f16": lambda code, x, numbers: rounded(code, x, "f16"),
    "bf16": lambda code, x, numbers: rounded(code, x, "bf16"),
}
