"""What a layer that follows does to each element of a result, as compiled code is told it."""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal["add", "multiply", "clamp", "swish", "sigmoid"]


class After(NamedTuple):
    """One step: its kind, and what it takes: a number for each channel, an array of the result's shape, or numbers.

    Its operand is an address of f32.
    """

    kind: Kind
    takes: Literal["channel", "result", "numbers"]

    @property
    def name(self) -> str:
        return f"{self.kind}_{self.takes}"
