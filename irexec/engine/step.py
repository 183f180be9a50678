"""A step of a plan: one layer with its callable, its slots, and what its results must be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from irexec.graph.model import Node
from irexec.ops.declare.operator import Operator
from irexec.records import record
from irexec.types import DYNAMIC, TensorType

Call = Callable[..., Any]


@record(eq=False)
class Step:
    """One layer of the plan. Slot 0 always holds None, for inputs that are not connected.

    `inputs` and `outputs` are slots, `given` and `types` their inferred types. `takes_out`: `call` has an `out`
    parameter for its only result. `frees`: slots that nothing reads after this step.
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

    @property
    def dtype(self) -> np.dtype[Any] | None:
        """The dtype of the one result, if there is one and its type is known."""
        return self.types[0].element_type.dtype if len(self.types) == 1 else None

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The shape of the one result, if there is one and its extents are known."""
        static = len(self.types) == 1 and self.types[0].shape.is_static
        return self.types[0].shape.to_shape() if static else None

    @property
    def is_sure(self) -> bool:
        """True when inference could check all of the operator's constraints on shapes and types."""
        return all(type is None or (type.shape.is_static and type.element_type is not DYNAMIC) for type in self.given)
