"""Tensor types: everything known of a tensor before it exists — element type, shape, and sometimes its values."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from irexec.records import record
from irexec.types.dimension import Dimension
from irexec.types.element import DYNAMIC, ElementType
from irexec.types.shape import PartialShape

if TYPE_CHECKING:
    Array: TypeAlias = np.ndarray[Any, Any]
else:

    class Array:
        """Any array: of any element type and rank. A name for annotations: declaring an operator needs no NumPy."""


# Values are propagated for tensors that describe shapes and axes; larger ones are data.
MAX_KNOWN = 4096


@record(frozen=True, eq=False)
class TensorType:
    """What a port carries.

    `value` is the constant array when all of it is known. `partial` is an object array of the tensor's shape whose
    items are int (known) or Dimension (known to lie in an interval), for integer tensors that describe shapes.
    """

    element_type: ElementType = DYNAMIC
    shape: PartialShape = PartialShape.dynamic()
    value: Array | None = None
    partial: Array | None = None

    @property
    def rank(self) -> int | None:
        return self.shape.rank

    @property
    def known(self) -> list[int | Dimension] | None:
        """The values in row-major order as int or Dimension, for a shape-like tensor; None when nothing is known."""
        if self.value is not None:
            try:
                return [int(v) for v in self.value.ravel()]
            except (OverflowError, ValueError):  # Infinity or nan.
                return None
        if self.partial is not None:
            return list(self.partial.ravel())
        return None

    @property
    def ints(self) -> list[int] | None:
        """The values in row-major order when every one is known; None otherwise."""
        known = self.known
        if known is None or not all(isinstance(v, int) for v in known):
            return None
        return [int(v) for v in known]

    @property
    def scalar(self) -> Any:
        """The one element of a known scalar or one-element tensor; None when it is not known."""
        return self.value.reshape(-1)[0].item() if self.value is not None and self.value.size == 1 else None

    def without_value(self) -> TensorType:
        return replace(self, value=None, partial=None)

    @staticmethod
    def of(array: Array, element_type: ElementType | None = None) -> TensorType:
        """The type of an existing constant."""
        known = array if array.size <= MAX_KNOWN else None
        return TensorType(element_type or ElementType.of(array.dtype), PartialShape(array.shape), known)

    def __str__(self) -> str:
        return f"{self.element_type}{self.shape}"
