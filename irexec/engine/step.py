"""A step of a plan: one layer with its callable, its slots, and what its results must be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from irexec.graph.model import Node
from irexec.ops.declare.operator import Operator
from irexec.records import field, record
from irexec.types import DYNAMIC, TensorType

Call = Callable[..., Any]


@record(eq=False)
class Step:
    """One layer of the plan. Slot 0 always holds None, for inputs that are not connected.

    `inputs` and `outputs` are slots, `given` and `types` their inferred types. `takes_out`: `call` has an `out`
    parameter for its only result. `frees`: slots that nothing reads after this step.

    `dtype` and `shape` are those of the one result, if there is one and they are known. `is_sure`: inference could
    check all of the operator's constraints on shapes and types.
    """

    node: Node
    operator: Operator
    inputs: tuple[int, ...]
    given: tuple[TensorType | None, ...]
    outputs: tuple[int, ...]
    types: tuple[TensorType, ...]
    call: Call
    takes_out: bool
    frees: tuple[int, ...] = ()
    dtype: np.dtype[Any] | None = field(init=False)
    shape: tuple[int, ...] | None = field(init=False)
    is_sure: bool = field(init=False)

    def __post_init__(self) -> None:
        self.dtype = self.shape = None
        if len(self.types) == 1:
            type = self.types[0]
            self.dtype = type.element_type.dtype
            self.shape = type.shape.to_shape() if type.shape.is_static else None
        self.is_sure = all(t is None or (t.element_type is not DYNAMIC and t.shape.is_static) for t in self.given)
