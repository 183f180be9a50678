"""Methods of nodes for constants and for reading and assigning variables."""

from __future__ import annotations

from typing import Any

import numpy as np

from irexec.api.openvino.kinds.kind import KindOfNode
from irexec.api.openvino.shapes import Strides
from irexec.api.openvino.tensor import Tensor
from irexec.core.structure import ASSIGN, CONST, READ_VALUE
from irexec.core.types import BOOLEAN, Array
from irexec.model.graph import model as graph


class Constant(KindOfNode):
    """A node with a constant value."""

    __slots__ = ()
    type_name = CONST

    @property
    def data(self) -> Array:
        """The value as an array that shares its memory and cannot be written, in the form of a Tensor's data."""
        return _read_only(_tensor(self).data)

    @property
    def tensor_view(self) -> Tensor:
        return _tensor(self)

    @property
    def strides(self) -> Strides:
        return _tensor(self).strides

    def get_data(self, *, dtype: Any = None, copy: bool = False) -> Array:
        """Return the value as an array, converted to another dtype if one is given; a copy can be written."""
        array = self.constant
        assert array is not None
        if dtype is not None:
            return np.array(array, dtype) if copy or array.dtype != dtype else _read_only(array)
        shown = _tensor(self).data
        return shown.copy() if copy else _read_only(shown)

    def get_tensor_view(self) -> Tensor:
        return _tensor(self)

    def get_strides(self) -> Strides:
        return _tensor(self).strides

    def get_byte_size(self) -> int:
        return _tensor(self).byte_size

    def get_vector(self) -> Array:
        """Return all elements as a 1-D array; those of packed integers as uint8.

        Raises RuntimeError for i4, bf16, floats of 8 bits or less and strings, which have no dtype of NumPy.
        """
        kind = self.outputs[0].element_type
        assert self.constant is not None
        if kind.kind == "u" and kind.is_packed:
            return self.constant.reshape(-1).astype(np.uint8)
        if kind is not BOOLEAN and (kind.is_packed or kind.to_dtype() != kind.dtype):
            raise RuntimeError(f"Unsupported data type! {kind} has no dtype of NumPy")
        return self.constant.reshape(-1).view(np.int8 if kind is BOOLEAN else kind.dtype)

    def get_value_strings(self) -> list[str]:
        """Return the elements as texts."""
        assert self.constant is not None
        values = self.constant.reshape(-1).tolist()
        return [
            str(int(v)) if isinstance(v, (bool, int)) else f"{v:.9g}" if isinstance(v, float) else v for v in values
        ]

    def get_value(self) -> Array | None:
        return self.constant


class _OfVariable(KindOfNode):
    """A node that reads or assigns a variable."""

    __slots__ = ()

    def get_variable_id(self) -> str:
        return str(self.attributes["variable_id"])


class Assign(_OfVariable):
    """A node that assigns a variable."""

    __slots__ = ()
    type_name = ASSIGN


class ReadValue(_OfVariable):
    """A node that reads a variable."""

    __slots__ = ()
    type_name = READ_VALUE


def _read_only(array: Array) -> Array:
    view = array.view()
    view.flags.writeable = False
    return view


def _tensor(node: graph.Node) -> Tensor:
    assert node.constant is not None
    return Tensor.of_values(node.constant, node.outputs[0].element_type)
