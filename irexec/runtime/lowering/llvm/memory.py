"""Records of 64-bit numbers: the parameters of compiled code, including the addresses of arrays.

Compiled code keeps no references, so the memory that it reads and writes must be kept alive as long as it may run.
Therefore addresses are taken here, by records, and records keep references to the memory at these addresses.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from irexec.core.types import Array

# The value of a field; an array or a Records object is stored as its address.
Field: TypeAlias = "int | Array | Records"


class Records:
    """An immutable sequence of records of equal length, starting at `address` and `stride` bytes apart.

    `held` are the objects at the addresses among the numbers.
    """

    __slots__ = ("address", "count", "held", "numbers", "stride")

    def __init__(self, numbers: Array, held: Sequence[Any] = ()) -> None:
        self.numbers, self.held = np.ascontiguousarray(numbers, np.int64), held
        self.count, self.stride = len(self.numbers), self.numbers.strides[0]
        self.address = begin(self.numbers)

    @classmethod
    def of(cls, rows: Sequence[Sequence[Field]]) -> Records:
        """Return records with these rows of fields."""
        numbers = np.array([[_number(field) for field in row] for row in rows], np.int64)
        return cls(numbers, [field for row in rows for field in row if not isinstance(field, int)])

    @classmethod
    def named(cls, names: tuple[str, ...], rows: Iterable[Mapping[str, Field]]) -> Records:
        """Return records whose fields are the values of `names` in each row, in this order."""
        return cls.of([[row[name] for name in names] for row in rows])

    def __len__(self) -> int:
        return self.count

    def filled(self, *fields: Field) -> Records:
        """Return a copy whose first record begins with these fields."""
        numbers = self.numbers.copy()
        numbers[0, : len(fields)] = [_number(field) for field in fields]
        return Records(numbers, (self, *fields))


def _number(field: Field) -> int:
    if isinstance(field, np.ndarray):
        return begin(field)
    return field.address if isinstance(field, Records) else field


def begin(array: Array) -> int:
    """Return the address of an array's first element. NumPy's `ctypes.data` takes several times as long."""
    # The first element is contiguous, whatever the strides of the array.
    memory: Any = array if array.flags.c_contiguous or not array.size else array[(0,) * array.ndim + (...,)]
    try:
        return _address_of(_first_byte(memory))
    except (TypeError, ValueError):  # it is read-only or empty
        return int(array.__array_interface__["data"][0])


_address_of, _first_byte = ctypes.addressof, ctypes.c_char.from_buffer
