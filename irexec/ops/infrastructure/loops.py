"""TensorIterator and Loop: a body run once per slice, or while a condition holds.

Source: operation pages TensorIterator-1, Loop-5. Inference and execution of bodies are the validator's and engine's.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from irexec.ops.declare.operator import Elements, operator
from irexec.types import ANY, BOOLEAN, INDICES, Array

# Ports of a body operation have a type each: one variable cannot stand for them.
Each: TypeAlias = Annotated[Array, Elements(None, ANY)]


@operator("TensorIterator", "opset1", has_bodies=True)
def tensor_iterator_1(*inputs: Each) -> list[Each]:
    """The body once per slice of the sliced inputs; outputs are the last values, or all of them concatenated."""
    raise TypeError("the engine runs bodies")


@operator("Loop", "opset5", has_bodies=True)
def loop_5(
    trip_count: Annotated[Array, Elements("T_COUNT", INDICES)],
    execution_condition: Annotated[Array, Elements("T_CONDITION", {BOOLEAN})],
    /,
    *inputs: Each,
) -> list[Each]:
    """The body at most `trip_count` times (-1: without bound), as long as its condition holds."""
    raise TypeError("the engine runs bodies")
