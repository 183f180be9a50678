"""A constant as stored in its file: bytes, which are converted to an array only for computation.

Integers that rules need, such as axes and shapes, are read directly from the bytes. A small file is therefore checked
without NumPy, whose import takes longer than the check.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any

from irexec.core.types.element import BOOLEAN, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, ElementType

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy as np

    Array: TypeAlias = np.ndarray[Any, Any]

# The element types that can be read without NumPy, with their format characters of the module `struct`.
_CODES: dict[ElementType, Any] = {
    I8: "b", I16: "h", I32: "i", I64: "q", U8: "B", U16: "H", U32: "I", U64: "Q", F32: "f", F64: "d",
}  # fmt: skip


class Stored:
    """A constant: its element type and shape, and its array, created on demand."""

    __slots__ = ("_array", "_make", "_raw", "element_type", "shape", "size")

    def __init__(
        self,
        element_type: ElementType,
        shape: tuple[int, ...],
        raw: bytes | memoryview,
        make: Callable[[bytes | memoryview, ElementType, tuple[int, ...]], Array],
    ) -> None:
        """`make` creates the read-only array from the bytes `raw`."""
        self.element_type, self.shape, self.size = element_type, shape, prod(shape)
        self._raw, self._make = raw, make
        self._array: Array | None = None

    @property
    def is_view(self) -> bool:
        """Whether the bytes are part of the file or text that they were read from, possibly unaligned."""
        return isinstance(self._raw, memoryview)

    @property
    def raw(self) -> bytes | memoryview:
        """The bytes, packed as in the file."""
        return self._raw

    @property
    def array(self) -> Array:
        """The read-only array; always the same object."""
        if self._array is None:
            self._array = self._make(self._raw, self.element_type, self.shape)
        return self._array

    @property
    def values(self) -> list[Any]:
        """The elements in row-major order as Python's numbers."""
        if self.element_type is BOOLEAN:
            return [byte != 0 for byte in bytes(self._raw)]
        if self.element_type in _CODES and sys.byteorder == "little":
            found: list[Any] = memoryview(self._raw).cast(_CODES[self.element_type]).tolist()
        else:
            found = self.array.reshape(-1).tolist()
        return found

    @property
    def key(self) -> object:
        """A key that is equal for constants of the same type, shape and bytes."""
        return self.element_type, self.shape, bytes(self._raw)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.element_type, self.shape, bytes(self._raw), self._make)


def _again(*arguments: Any) -> Stored:
    return Stored(*arguments)
