"""The elementwise operations of the layers that follow a kernel, in the form that the code generator takes."""

from __future__ import annotations

from typing import Literal

from irexec.records import NamedTuple

Binary = Literal["add", "subtract", "subtract_from", "multiply", "divide", "divide_by", "maximum", "minimum"]
Unary = Literal["absolute", "clamp", "negative", "sigmoid", "sqrt", "square", "tanh"]
Activation = Literal["swish", "gelu_erf", "gelu_tanh", "hsigmoid", "hswish", "mish", "leaky"]
Kind = Binary | Unary | Activation
# Those that compute powers of e: a step costs dozens of instructions instead of one or two.
DEAR = frozenset({"swish", "sigmoid", "gelu_erf", "gelu_tanh", "mish", "tanh"})
# The most numbers that a step takes.
NUMBERS = 8
# The record of an operand, of 64-bit numbers: its address, and for an operand with a number or a run for each row,
# which of them row r of the result takes: the one at r // divisor % cycle * step.
OPERAND = ("address", "divisor", "cycle", "step")


class After(NamedTuple):
    """One step: its kind, and what it takes, which is at an address of f32.

    After sums that is a number for each channel (the same for a whole run of the result), one for each column (for
    each element of a run), an array of the result's shape ("result"), or one of the shape of a channel ("plane"), whose
    size is the operand's cycle. After single elements it is a number ("row") or a run of numbers ("run") for each row,
    see OPERAND. "numbers" are NUMBERS numbers that all elements share.
    """

    kind: Kind
    takes: Literal["channel", "column", "result", "plane", "row", "run", "numbers"]

    @property
    def name(self) -> str:
        return f"{self.kind}_{self.takes}"
