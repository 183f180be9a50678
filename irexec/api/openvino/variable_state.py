"""VariableState: the value of a request's variable between inferences."""

from __future__ import annotations

from typing import Any

import numpy as np

from irexec.api.openvino.tensor import Tensor
from irexec.core.arguments import expected
from irexec.core.types import Array, TensorType
from irexec.runtime.engine.state import VariableState as EngineState


class VariableState:
    """A variable of a request. Its `state` is a Tensor; it may be set to a tensor or an array."""

    def __init__(self, state: EngineState, type: TensorType) -> None:
        self._state, self._type = state, type

    @property
    def name(self) -> str:
        return self._state.name

    @property
    def state(self) -> Tensor:
        return Tensor.of_values(self._state.state, self._type.element_type)

    @state.setter
    def state(self, value: Any) -> None:
        array: Array = (
            value.values() if isinstance(value, Tensor) else expected(value, np.ndarray, "VariableState.state")
        )
        if not self._type.shape.accepts(array.shape):
            raise RuntimeError(f"variable {self.name!r} is {self._type}; the tensor has shape {list(array.shape)}")
        self._state.state = array

    def reset(self) -> None:
        """Reset the variable to its value before the first Assign."""
        self._state.reset()

    def __repr__(self) -> str:
        return f"<VariableState: {self.name!r} {self.state!r}>"
