"""The elementwise operations of the layers fused after a kernel, in the form used by the code generator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from irexec.ops.activation.formulas import gelu_erf, gelu_tanh, mish, sigmoid, swish

# A function of an element and its operands: of arrays, and of vectors in generated code (llvm.vectors).
Formula: TypeAlias = Callable[..., Any]
# The narrow types to which results are rounded.
Rounding = Literal["f16", "bf16"]
ROUNDED: dict[Rounding, Formula] = {"f16": lambda x: x.rounded("f16"), "bf16": lambda x: x.rounded("bf16")}
# Formulas with powers of e; each takes dozens of instructions instead of one or two.
DEAR = frozenset[Formula]({swish, sigmoid, gelu_erf, gelu_tanh, mish, np.tanh})
# The record of an operand, in 64-bit numbers: its address; and, for an operand with a number or a run for each row,
# three numbers from which the index for row r of the result is computed: r // divisor % cycle * step.
OPERAND = ("address", "divisor", "cycle", "step")
Takes = Literal["channel", "column", "result", "plane", "row", "run", "numbers"]


class After(NamedTuple):
    """One elementwise operation: its formula and the form of its operand, whose elements are f32.

    After sums, the operand is a number for each channel (the same for a whole run of the result), a number for each
    column (for each element of a run), an array of the result's shape ("result"), or an array of the shape of a channel
    ("plane"), whose size is the operand's cycle. After elementwise layers it is a number ("row") or a run of numbers
    ("run") for each row, see OPERAND. "numbers" are numbers that all elements share. `numbers` is how many of these
    the formula takes, or how many for each channel or row.
    """

    formula: Formula
    takes: Takes
    numbers: int = 1

    @property
    def name(self) -> str:
        return f"{self.formula.__name__}_{self.takes}"
