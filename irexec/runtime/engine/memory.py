"""The memory plan: a result reuses the memory of results that are no longer needed when it is computed.

Memory is shared by the following rules and by no other part of the engine:

1. A step that takes `out` and whose one result has a known type is *given* its memory: a buffer of the plan, or fresh
   memory if the result outlives the run, or is small and alone in its group. The result shares memory with no other
   array.
2. The results of any other step may be any of its inputs or views of them, unless the kernel takes `out` (then it
   allocates memory if it is given none) or its operator lists the inputs that results may share memory with in `view`.
   Slots that may share memory are one group, and a group lives as long as its longest-living member.
3. A buffer belongs to the group of the result it was given to; after the last use of that group its memory is free.
4. A result is written into the buffer of an input (*in place*) only if the operator declares the input in `inplace` and
   the input *is* the buffer: computed by a step of rule 1, with the same shape and element type, and with no other slot
   of its group in use. The result of an operator that keeps the elements of a buffer (`KeepsElements`) counts as
   the buffer itself. Other views of a buffer, and arrays that a kernel allocated, are never written to.
5. Values that the run does not own (inputs, constants, states) or that outlive it (results, assigned values) have no
   buffer. Small f32 results have buffers of their own, from which they are copied at the end of the run.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from heapq import heappop, heappush
from typing import Any

import numpy as np

from irexec.core.records import field, record
from irexec.ops.compute.precision import compute_dtype
from irexec.ops.spec.traits import KeepsElements
from irexec.runtime.engine.step import Step

# The size below which a result is cheaper to allocate than to plan, unless compiled code computes it (lowering).
_MIN_BYTES = 1 << 12
# Copying more bytes than this takes longer than the call of compiled code that the copy would save.
MOST_COPIED = 1 << 15
# The alignment of buffers in bytes.
_APART = 64


@record(eq=False)
class MemoryPlan:
    """Buffers in one allocation of `size` bytes: the offset and size of each, and the buffer of each step by number."""

    size: int = 0
    starts: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    buffer_of: dict[int, int] = field(default_factory=dict)

    def largest(self) -> int:
        """Return the number of a step with the largest buffer."""
        return max(self.buffer_of, key=lambda number: self.sizes[self.buffer_of[number]])

    def allocate(self, steps: list[Step]) -> dict[int, np.ndarray[Any, Any]]:
        """Allocate the buffers and return the output array of each step that has a buffer."""
        memory = np.empty(self.size, np.uint8)
        outs = {}
        for number, buffer in self.buffer_of.items():
            dtype, shape = steps[number].dtype, steps[number].shape
            assert dtype is not None and shape is not None
            outs[number] = np.ndarray(shape, dtype, memory, self.starts[buffer])
        return outs


class _Piece:
    """A region of memory whose parts are taken and given back; it grows as required."""

    def __init__(self) -> None:
        self.size = 0
        # The free gaps, no two of which are adjacent: (start, stop) by position, and (bytes, start) by size.
        self._gaps: list[tuple[int, int]] = []
        self._by_size: list[tuple[int, int]] = []

    def take(self, nbytes: int) -> int:
        """Take memory of this size from the smallest sufficient gap, or else at the end, and return its position."""
        nbytes = -(-nbytes // _APART) * _APART
        fitting = bisect_left(self._by_size, (nbytes, 0))
        if fitting < len(self._by_size):
            size, start = self._by_size[fitting]
            self._remove(bisect_left(self._gaps, (start, start + size)))
            if size > nbytes:
                self._add(start + nbytes, start + size)
            return start
        is_last_free = self._gaps and self._gaps[-1][1] == self.size
        start = self._remove(len(self._gaps) - 1)[0] if is_last_free else self.size
        self.size = start + nbytes
        return start

    def give_back(self, start: int, nbytes: int) -> None:
        stop = start + -(-nbytes // _APART) * _APART
        place = bisect_left(self._gaps, (start, stop))
        if place < len(self._gaps) and self._gaps[place][0] == stop:
            stop = self._remove(place)[1]
        if place and self._gaps[place - 1][1] == start:
            start = self._remove(place - 1)[0]
        self._add(start, stop)

    def _add(self, start: int, stop: int) -> None:
        insort(self._gaps, (start, stop))
        insort(self._by_size, (stop - start, start))

    def _remove(self, place: int) -> tuple[int, int]:
        start, stop = self._gaps.pop(place)
        del self._by_size[bisect_left(self._by_size, (stop - start, start))]
        return start, stop


class Sharing:
    """The slots that may share memory (rule 2), as groups; each group is identified by one of its slots.

    `group`: the group of each slot.
    """

    def __init__(self, steps: list[Step], slots: int) -> None:
        self._parent = list(range(slots))
        for step in steps:
            if step.takes_out:
                continue
            shared = [slot for index, slot in enumerate(step.inputs) if slot and may_view(step, index)]
            for slot in (*shared, *step.outputs[1:]):
                self._parent[self._root(slot)] = self._root(step.outputs[0])
        self.group = [slot if slot == up else self._root(slot) for slot, up in enumerate(self._parent)]

    def _root(self, slot: int) -> int:
        parent = self._parent
        while (up := parent[slot]) != slot:
            parent[slot] = slot = parent[up]
        return slot


def may_view(step: Step, index: int) -> bool:
    """Return whether the results of a step without `out` may be this input or views of it (rule 2)."""
    operator = step.operator
    return not operator.view or operator.signature.input(index).name in operator.view


def plan_memory(steps: list[Step], sharing: Sharing, escaping: frozenset[int]) -> MemoryPlan:
    """Assign buffers. `escaping`: slots that outlive the run (results, assigned values)."""
    group = sharing.group
    # For each group, the number of the last step that reads it.
    end: list[float] = [0] * len(group)
    for number, step in enumerate(steps):
        for slot in step.frees:
            end[group[slot]] = number
    for slot in escaping:
        end[group[slot]] = math.inf
    plan = MemoryPlan()
    piece = _Piece()
    given: dict[int, int] = {}
    # The last step that uses each buffer, and a queue of the buffers in this order; a buffer whose use was extended is
    # queued again.
    until: dict[int, float] = {}
    taken: list[tuple[float, int]] = []
    for number, step in enumerate(steps):
        while taken and taken[0][0] < number:
            time, dead = heappop(taken)
            if until.get(dead) == time:
                del until[dead]
                piece.give_back(plan.starts[dead], plan.sizes[dead])
        if KeepsElements in step.operator.traits and step.inputs[0] in given:
            given[step.outputs[0]] = given[step.inputs[0]]
        need = _planned_bytes(step)
        if need is None:
            continue
        last = end[group[step.outputs[0]]]
        if last == math.inf and not (step.dtype == np.float32 and 0 < need <= MOST_COPIED):
            continue
        buffer = _in_place(step, number, group, end, given)
        assert step.dtype is not None
        if buffer is None and need < _MIN_BYTES and not (need and compute_dtype(step.dtype) == np.float32):
            continue
        if buffer is None:
            buffer = len(plan.sizes)
            plan.starts.append(piece.take(need))
            plan.sizes.append(need)
        until[buffer] = last
        heappush(taken, (last, buffer))
        given[step.outputs[0]] = plan.buffer_of[number] = buffer
    plan.size = piece.size
    return plan


def _planned_bytes(step: Step) -> int | None:
    """Return the size in bytes of a result that may be given a buffer (rule 1), None for any other result."""
    dtype, shape = step.dtype, step.shape
    if not step.takes_out or dtype is None or dtype.kind == "T" or shape is None:
        return None
    return math.prod(shape) * dtype.itemsize


def _in_place(step: Step, number: int, group: list[int], end: list[float], given: dict[int, int]) -> int | None:
    """Return the buffer of an input whose last use is this step and that may be overwritten (rule 4), or None.

    Of several buffers, it is that of the most recent layer, which may be fused with this layer
    (irexec.runtime.lowering.fusion).
    """
    found = []
    for index, slot in enumerate(step.inputs):
        if slot not in given or step.operator.signature.input(index).name not in step.operator.inplace:
            continue
        own = group[slot]
        alone = [other for other in step.inputs if other and group[other] == own] == [slot]
        if end[own] == number and alone and _same_type(step, index):
            found.append(slot)
    # The slots of results are numbered in the order of the steps.
    return given[max(found)] if found else None


def _same_type(step: Step, index: int) -> bool:
    """Return True when an input that is a buffer has the shape and element type of the result."""
    given, made = step.given[index], step.types[0]
    if given is None or given is made:
        return given is made
    return given.element_type is made.element_type and given.shape == made.shape
