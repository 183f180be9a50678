"""The elementwise operations of the layers fused after a kernel, in the form used by the code generator."""

from __future__ import annotations

from typing import Literal, NamedTuple

Binary = Literal["add", "subtract", "subtract_from", "multiply", "divide", "divide_by", "maximum", "minimum", "prelu"]
Unary = Literal["absolute", "clamp", "negative", "round", "sigmoid", "sqrt", "square", "tanh"]
Activation = Literal["swish", "gelu_erf", "gelu_tanh", "hsigmoid", "hswish", "mish", "leaky", "line", "quantize"]
# Rounding to the numbers of a narrower type.
Rounding = Literal["f16", "bf16"]
Kind = Binary | Unary | Activation | Rounding
# Operations that compute powers of e; each takes dozens of instructions instead of one or two.
DEAR = frozenset({"swish", "sigmoid", "gelu_erf", "gelu_tanh", "mish", "tanh"})
# The maximum number of constants that a step takes.
NUMBERS = 8
# The record of an operand, in 64-bit numbers: its address; and, for an operand with a number or a run for each row,
# three numbers from which the index for row r of the result is computed: r // divisor % cycle * step.
OPERAND = ("address", "divisor", "cycle", "step")


class After(NamedTuple):
    """One elementwise operation: its kind and the form of its operand, whose elements are f32.

    After sums, the operand is a number for each channel (the same for a whole run of the result), a number for each
    column (for each element of a run), an array of the result's shape ("result"), or an array of the shape of a channel
    ("plane"), whose size is the operand's cycle. After elementwise layers it is a number ("row") or a run of numbers
    ("run") for each row, see OPERAND. "numbers" are NUMBERS numbers that all elements share; "line" and "quantize" may
    also have NUMBERS numbers for each channel or row.
    """

    kind: Kind
    takes: Literal["channel", "column", "result", "plane", "row", "run", "numbers"]

    @property
    def name(self) -> str:
        return f"{self.kind}_{self.takes}"
