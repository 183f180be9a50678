"""VariableState: the value of a request's variable between inferences."""

from __future__ import annotations

from typing import Any

from irexec.engine.state import VariableState as EngineState
from irexec.openvino.tensor import Tensor


class VariableState:
    """A variable of a request. Its `state` is a Tensor; it may be set to a tensor or an array."""

    def __init__(self, state: EngineState, kind: Any) -> None:
        self._state, self._kind = state, kind

    @property
    def name(self) -> str:
        return self._state.name

    @property
    def state(self) -> Tensor:
        return Tensor.of_values(self._state.state, self._kind)

    @state.setter
    def state(self, value: Any) -> None:
        self._state.state = value.values() if isinstance(value, Tensor) else value

    def reset(self) -> None:
        """Reset the variable to its value before the first Assign."""
        self._state.reset()

    def __repr__(self) -> str:
        return f"<VariableState: {self.name!r} {self.state!r}>"
