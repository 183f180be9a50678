"""Variables that ReadValue reads and Assign writes; a request keeps them from one inference to the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from irexec.core.structure import READ_VALUE
from irexec.core.types import DYNAMIC, Array
from irexec.model.graph.model import Model, Node

if TYPE_CHECKING:
    from irexec.runtime.engine.growing import Buffer


class VariableState:
    """A variable of a request. `state` is its array; assigning to `state` sets the variable."""

    def __init__(self, variables: Variables, name: str) -> None:
        self._variables, self.name = variables, name

    @property
    def state(self) -> Array:
        value = self._variables.values.get(self.name)
        return self._variables.initial(self.name) if value is None else value

    @state.setter
    def state(self, value: Any) -> None:
        wanted = self._variables.dtypes.get(self.name)
        self._variables.values[self.name] = np.array(value, dtype=wanted)

    def reset(self) -> None:
        """Reset the variable to its value before the first Assign."""
        self._variables.values.pop(self.name, None)

    def __repr__(self) -> str:
        return f"<VariableState: {self.name!r} {self.state.dtype}{list(self.state.shape)}>"


class Variables:
    """All variables of a request. Assigned values take effect at the end of the inference."""

    def __init__(self, model: Model) -> None:
        self.values: dict[str, Array] = {}
        self.pending: dict[str, Array] = {}
        self.buffers: dict[str, Buffer] = {}
        self.readers: dict[str, Node] = {
            node.attributes["variable_id"]: node for node in model.walk() if node.type == READ_VALUE
        }
        self.dtypes = {name: node.outputs[0].element_type.dtype for name, node in self.readers.items()}

    def initial(self, name: str) -> Array:
        """Return the value of a variable without init_value: zeros of its shape, with 0 for unknown extents."""
        node = self.readers[name]
        shape = node.outputs[0].type.shape
        extents = [] if shape.rank is None else [d.min for d in shape]
        kind = node.outputs[0].element_type
        return np.zeros(extents, np.float32 if kind is DYNAMIC else kind.dtype)

    def reader(self, node: Node) -> Callable[..., Array]:
        """Return the callable of a ReadValue."""
        name = node.attributes["variable_id"]

        def read(init_value: Array | None = None) -> Array:
            if (value := self.values.get(name)) is not None:
                return value
            return self.initial(name) if init_value is None else init_value

        return read

    def writer(self, node: Node) -> Callable[..., Array]:
        """Return the callable of an Assign."""
        name = node.attributes["variable_id"]

        def write(value: Array) -> Array:
            self.pending[name] = value
            return value

        return write

    def commit(self) -> None:
        """Store the assigned values. They are copied, because a value may be a caller's array, unless they are in the
        buffer of the variable.
        """
        for name, value in self.pending.items():
            buffer = self.buffers.get(name)
            is_own = buffer is not None and buffer.value is value
            self.values[name] = value if is_own else value.copy()
        self.pending.clear()

    def restore(self, values: dict[str, Array]) -> None:
        """Restore these values and discard later assignments."""
        self.values = values
        self.pending.clear()

    def reset(self) -> None:
        self.values.clear()
        self.pending.clear()
        self.buffers.clear()
