"""TensorIterator and Loop: a body run once per slice, or while a condition holds.

Source: operation pages TensorIterator-1, Loop-5. Bodies are inferred in irexec/model/inference and run by the engine.
"""

from __future__ import annotations

from typing import Annotated

from irexec.core.types import BOOLEAN, INDICES, Array
from irexec.ops.spec.operator import Elements, operator
from irexec.ops.spec.tensors import EachTensor
from irexec.ops.spec.traits import HasBodies

# Each port of an operator with bodies has its own type, so the ports share no type variable.


@operator("TensorIterator", "opset1", HasBodies)
def tensor_iterator_1(*inputs: EachTensor) -> list[EachTensor]:
    """Run the body once per slice of the sliced inputs; outputs are the last values, or all values concatenated."""
    raise TypeError("only the engine can run an operator with bodies")


@operator("Loop", "opset5", HasBodies)
def loop_5(
    trip_count: Annotated[Array, Elements("T_COUNT", INDICES)],
    execution_condition: Annotated[Array, Elements("T_CONDITION", {BOOLEAN})],
    /,
    *inputs: EachTensor,
) -> list[EachTensor]:
    """Run the body at most `trip_count` times (-1: no limit), as long as its condition holds."""
    raise TypeError("only the engine can run an operator with bodies")
