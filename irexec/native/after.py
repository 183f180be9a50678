"""What a layer that follows does to each element of a result, as compiled code is told it."""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal["add", "multiply", "clamp", "swish", "sigmoid", "gelu_erf", "gelu_tanh"]
# So many numbers a step may take.
NUMBERS = 8


class After(NamedTuple):
    """One step: its kind, and what it takes, which is at an address of f32.

    That is a number for each channel (the same for a whole run of the result) or column (one for each element of a
    run), an array of the result's shape, or NUMBERS numbers.
    """

    kind: Kind
    takes: Literal["channel", "column", "result", "numbers"]

    @property
    def name(self) -> str:
        return f"{self.kind}_{self.takes}"
