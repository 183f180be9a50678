"""Records of 64-bit numbers: how compiled code is told what to do, and where arrays lie.

Compiled code holds nothing, so what it reads and writes has to be held as long as it may run. Addresses are therefore
taken here, by records, and records hold what is at the addresses among their numbers.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from irexec.types import Array

# An array, and other records, stand for where they begin.
Field: TypeAlias = "int | Array | Records"


class Records:
    """Records of as many numbers each, one after the other from `address` on, `stride` bytes apart; they stay the same.

    `held` is what the numbers that are addresses lead to.
    """

    __slots__ = ("address", "count", "held", "numbers", "stride")

    def __init__(self, numbers: Array, held: Sequence[Any] = ()) -> None:
        self.numbers, self.held = np.ascontiguousarray(numbers, np.int64), held
        self.count, self.stride = len(self.numbers), self.numbers.strides[0]
        self.address = begin(self.numbers)

    @classmethod
    def of(cls, rows: Sequence[Sequence[Field]]) -> Records:
        """Records with these fields."""
        numbers = np.array([[_number(field) for field in row] for row in rows], np.int64)
        return cls(numbers, [field for row in rows for field in row if not isinstance(field, int)])

    @classmethod
    def named(cls, names: tuple[str, ...], rows: Iterable[Mapping[str, Field]]) -> Records:
        """Records with the fields of these names, in this order."""
        return cls.of([[row[name] for name in names] for row in rows])

    def __len__(self) -> int:
        return self.count

    def filled(self, *fields: Field) -> Records:
        """A copy whose first record begins with these fields."""
        numbers = self.numbers.copy()
        for place, field in enumerate(fields):
            numbers[0, place] = _number(field)
        return Records(numbers, (self, *fields))


def _number(field: Field) -> int:
    if isinstance(field, np.ndarray):
        return begin(field)
    return field.address if isinstance(field, Records) else field


def begin(array: Array) -> int:
    """Where the first element of an array lies. NumPy's own answer takes several times as long."""
    memory: Any = array
    try:
        return _address_of(_first_byte(memory))
    except (TypeError, ValueError):  # it is read-only, empty, or does not lie in one piece
        return int(array.ctypes.data)


_address_of, _first_byte = ctypes.addressof, ctypes.c_char.from_buffer
