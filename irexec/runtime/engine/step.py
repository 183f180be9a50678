"""A step of a plan: one layer with its callable, its slots, and the expected types of its results."""

from __future__ import annotations

from typing import Any

import numpy as np

from irexec.core.records import record
from irexec.core.types import TensorType
from irexec.model.graph.model import Node
from irexec.ops.spec.operator import Operator
from irexec.runtime.engine.kernels import Call


@record(eq=False)
class Step:
    """One layer of the plan. Slot 0 always holds None, for inputs that are not connected.

    `inputs` and `outputs` are slots, `given` and `types` their inferred types. `takes_out`: `call` has an `out`
    parameter for its only result. `frees`: slots that nothing reads after this step.

    `dtype` and `shape` describe a single result; they are None if they are not known. `is_sure`: inference could check
    all of the operator's constraints on shapes and types.
    """

    node: Node
    operator: Operator
    inputs: tuple[int, ...]
    given: tuple[TensorType | None, ...]
    outputs: range
    types: tuple[TensorType, ...]
    call: Call
    takes_out: bool
    dtype: np.dtype[Any] | None
    shape: tuple[int, ...] | None
    is_sure: bool
    frees: tuple[int, ...] = ()
