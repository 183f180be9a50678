"""The element types in which two graphs compute: a pass may replace them by others."""

from __future__ import annotations

from collections.abc import Collection

from irexec.core.structure import CONVERT, PARAMETER, RESULT
from irexec.core.types import F32, F64, I8, I64, U8, ElementType
from irexec.model.graph.model import Model

# The layers whose types stay when the layers between them compute in another type.
_BETWEEN = (PARAMETER, CONVERT, RESULT)


class Types:
    """The element types of the values that the layers of two graphs compute, constants included."""

    def __init__(self, before: Model, after: Model) -> None:
        ours, theirs = _kinds(before), _kinds(after)
        self.lost, self.gained = ours - theirs, theirs - ours
        computed = _kinds(before, _BETWEEN) - _kinds(after, _BETWEEN)
        self.loses_i64, self.loses_f64 = I64 in computed, F64 in computed

    @property
    def of_floats(self) -> str:
        """A text about the float types that were replaced: `f16 becomes f32`; empty if there are none."""
        lost, gained = (_names(kinds) for kinds in (self.lost, self.gained))
        if not lost and not gained:
            return ""
        return f"{lost or F32} becomes {gained or F32}"

    @property
    def of_bytes(self) -> str:
        """The names of the types with 8 bits for quantized values that only the second graph has."""
        return ", ".join(sorted(str(kind) for kind in self.gained if kind in (I8, U8)))

    @property
    def lower(self) -> ElementType | None:
        """The float type with fewer bits than f32 that only the second graph has."""
        lower = [kind for kind in self.gained if kind.is_real and kind.bitwidth < F32.bitwidth]
        return min(lower, key=lambda kind: kind.bitwidth, default=None)


def _kinds(model: Model, without: Collection[str] = ()) -> set[ElementType]:
    nodes = (node for node in model.walk() if node.type not in without)
    return {value.element_type for node in nodes for value in node.outputs}


def _names(kinds: set[ElementType]) -> str:
    return ", ".join(sorted(str(kind) for kind in kinds if kind.is_real))
