"""If: runs one of two bodies, depending on a condition.

Source: operation page If-8. Bodies are inferred in irexec/model/inference and run by the engine.
"""

from __future__ import annotations

from typing import Annotated

from irexec.core.types import BOOLEAN, Array
from irexec.ops.spec.operator import Elements, operator
from irexec.ops.spec.tensors import EachTensor
from irexec.ops.spec.traits import HasBodies


@operator("If", "opset8", HasBodies)
def if_8(cond: Annotated[Array, Elements("T_CONDITION", {BOOLEAN})], /, *inputs: EachTensor) -> list[EachTensor]:
    """The results of `then_body` if `cond` (a scalar or one element) is true, otherwise those of `else_body`."""
    raise TypeError("only the engine can run an operator with bodies")
