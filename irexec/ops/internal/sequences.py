"""Sequences whose data keep the time as the first axis in memory, although their shapes state the batch first.

Source: OpenVINO's pass ov::intel_cpu::OptimizeSequenceTransposes, which replaces the Transposes around a sequence by
Reshapes, and notes the axis of the time where files do not contain it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from irexec.core.records import replace
from irexec.core.types import Array
from irexec.ops.spec.operator import Operator

_INPUT, _RESULT = (1, 0, 2), (2, 1, 0, 3)
"""The orders of the Transposes that the pass removes: of the first input, [N, T, C], and of the first result,
[N, D, T, C]. Both are their own inverses."""


class TimeFirst(Operator):
    """A sequence operator that reads its first input, and stores its first result, in the order with the time first."""

    def __init__(self, operator: Operator) -> None:
        self.__dict__.update(operator.__dict__)
        self.signature = replace(operator.signature, takes_out=False)
        self.specializer, self.view, self.inplace, self.as_stored = None, (), (), ()
        self.kernel, self._operator = self._computed, operator

    def _computed(self, x: Array, *others: Any, **attributes: Any) -> Any:
        batch, length, *rest = x.shape
        data = x.reshape(length, batch, *rest).transpose(_INPUT)
        first, *states = self._operator.kernel(data, *others, **attributes)
        return [np.ascontiguousarray(first.transpose(_RESULT)).reshape(first.shape), *states]
