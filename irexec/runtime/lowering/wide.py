"""f32 arrays for values of narrow types (f16, bf16) in a program, used as long as only compiled code reads the values.

Each value of f16 or bf16 has the memory that the plan gives it. Compiled layers store it as f32, rounded to the numbers
of its type, in separate memory, which other compiled layers read. Its own memory is written before the first call that
reads it, and so before the plan uses this memory for another value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irexec.core.types import Array
from irexec.runtime.lowering.narrow import converted, rounding_of
from irexec.runtime.lowering.work import Unsuited, Work

Allocate = Callable[[tuple[int, ...]], Array]
"""Returns f32 memory of a shape for a value; the memory is reserved as long as the value is read."""


class Wide:
    """The f32 arrays of narrow values. `slots` are the values' own arrays, `constants` the slots of constants."""

    def __init__(self, slots: Sequence[Any], constants: set[int]) -> None:
        self._slots, self._constants = slots, constants
        self._arrays: dict[int, Array] = {}
        # The slots of values whose own memory has not been written; for views, the slots of the viewed values.
        self._unwritten: set[int] = set()
        self._viewed: dict[int, int] = {}

    def __contains__(self, slot: int) -> bool:
        return slot in self._arrays

    def __getitem__(self, slot: int) -> Array:
        return self._arrays[slot]

    def made(self, slot: int, array: Array) -> None:
        """Record that compiled code computes the value of a slot in f32."""
        self._arrays[slot] = array
        self._unwritten.add(slot)

    def views(self, slot: int, base: int, array: Array) -> None:
        """Record an f32 view of the value of another slot."""
        self._arrays[slot], self._viewed[slot] = array, base

    def of(self, work: Work, slot: int, allocate: Allocate) -> Any:
        """Return the array of a slot, in f32 if it has a narrow type.

        Raises Unsuited if compiled code cannot widen it.
        """
        array = self._slots[slot]
        if array is None or rounding_of(array.dtype) is None:
            return array
        if slot not in self._arrays:
            if slot in self._constants:
                self._arrays[slot] = array.astype(np.float32)
            else:
                if not array.flags.c_contiguous:
                    raise Unsuited
                self._arrays[slot] = allocate(array.shape)
                converted(work, array, self._arrays[slot])
        return self._arrays[slot]

    def write(self, work: Work, slot: int) -> None:
        """Add the jobs that write the value of a slot to its own memory, unless they were added before."""
        while slot in self._viewed:
            slot = self._viewed[slot]
        if slot in self._unwritten:
            self._unwritten.remove(slot)
            converted(work, self._arrays[slot], self._slots[slot])
