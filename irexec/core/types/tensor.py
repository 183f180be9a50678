"""Tensor types: element type, shape, and values if they are known before the model runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from irexec.core.types.dimension import Dimension
from irexec.core.types.element import DYNAMIC, ElementType
from irexec.core.types.shape import ANY_SHAPE, PartialShape
from irexec.core.types.stored import Stored
from irexec.core.types.traced import is_traced, plain_number

if TYPE_CHECKING:
    Array: TypeAlias = np.ndarray[Any, Any]
else:

    class Array:
        """An array of any element type and rank: a name for annotations, so that declaring an operator imports no
        NumPy.
        """


# The maximum number of elements of a tensor whose values are propagated: larger tensors do not describe shapes or axes.
MAX_KNOWN = 4096


class TensorType:
    """The type of a port, or of a value; it is immutable.

    `value` is the array if all elements are known. For integer tensors that describe shapes, `partial` is an object
    array whose items are int (known) or Dimension (within an interval).
    """

    __slots__ = ("_value", "element_type", "partial", "shape")

    def __init__(
        self,
        element_type: ElementType = DYNAMIC,
        shape: PartialShape = ANY_SHAPE,
        value: Array | Stored | None = None,
        partial: Array | None = None,
    ) -> None:
        """A `value` that has not been read from its file becomes an array when it is first accessed."""
        self.element_type, self.shape, self._value, self.partial = element_type, shape, value, partial

    @property
    def value(self) -> Array | None:
        return self._value.array if isinstance(self._value, Stored) else self._value

    @property
    def has_value(self) -> bool:
        """Whether all elements are known."""
        return self._value is not None

    @property
    def held(self) -> Array | Stored | None:
        """The value as it is stored: an array, or a constant that has not been read from its file."""
        return self._value

    @property
    def rank(self) -> int | None:
        return self.shape.rank

    @property
    def known(self) -> list[int | Dimension] | None:
        """The values in row-major order as int or Dimension, for a shape-like tensor; None if no element is known."""
        if self._value is not None:
            value = self._value
            try:
                return list(map(int, value.values if isinstance(value, Stored) else value.ravel()))
            except (OverflowError, ValueError):  # Infinity or NaN.
                return None
        if self.partial is not None:
            return list(self.partial.ravel())
        return None

    @property
    def ints(self) -> list[int] | None:
        """The values in row-major order if all of them are known; None otherwise."""
        known = self.known
        if known is None or not all(isinstance(v, int) for v in known):
            return None
        return [plain_number(v) for v in known]

    @property
    def scalar(self) -> Any:
        """The element of a scalar or one-element tensor; None if the element is not known."""
        value = self._value
        if self.partial is not None and self.partial.size == 1 and is_traced(one := self.partial.item()):
            return one
        if value is None or value.size != 1:
            return None
        return value.values[0] if isinstance(value, Stored) else value.reshape(-1)[0].item()

    def without_value(self) -> TensorType:
        return TensorType(self.element_type, self.shape)

    @staticmethod
    def of(array: Array, element_type: ElementType | None = None) -> TensorType:
        """Return the type of an existing constant."""
        known = array if array.size <= MAX_KNOWN else None
        return TensorType(element_type or ElementType.of(array.dtype), PartialShape(array.shape), known)

    def __str__(self) -> str:
        return f"{self.element_type}{self.shape}"
