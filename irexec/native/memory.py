"""Where arrays lie in memory, for compiled code."""

from __future__ import annotations

import ctypes
from typing import Any

from irexec.native.notes import keep
from irexec.types import Array


def address(array: Array) -> int:
    """Where a contiguous array begins. NumPy's own answer takes several times as long."""
    keep(array)
    memory: Any = array
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(memory))
    except (TypeError, ValueError):  # it is read-only, or empty
        return int(array.ctypes.data)


def with_addresses(record: Array, data: Array, out: Array, operands: Array | None) -> Array:
    """A copy of the record of a layer, which begins with where its data, its result and others' operands lie."""
    made = record.copy()
    made[0], made[1], made[2] = address(data), address(out), 0 if operands is None else address(operands)
    return made
