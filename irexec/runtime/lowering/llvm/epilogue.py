"""Epilogues: elementwise layers fused with another layer, applied to each element of its result before it is stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irexec.runtime.lowering.llvm.after import OPERAND, After
from irexec.runtime.lowering.llvm.code import Change, Code, Fields, Number
from irexec.runtime.lowering.llvm.vectors import Vector


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
    if step.takes in ("numbers", "channel", "row"):
        first = code.number(0) if step.takes == "numbers" else index * step.numbers
        numbers = [Vector(code, code.splat(run.scalar(first + number))) for number in range(step.numbers)]
        return lambda index, vector, mask: step.formula(Vector(code, vector), *numbers).value
    if step.takes == "plane":
        place = place % operand.cycle
    run = run + (place if step.takes in ("result", "plane") else index)
    return lambda index, vector, mask: step.formula(Vector(code, vector), Vector(code, run.vector(index, mask))).value
