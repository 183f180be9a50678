"""The memory plan: results share a buffer when one is dead before the other is made.

The rules of sharing memory; nothing else in the engine decides about it:

1. A step that takes `out` and whose one result has a known type is *given* its memory: a buffer of the plan, or fresh
   memory where the result outlives the run, or is small and by itself. Its result shares memory with nothing else.
2. The results of any other step may be its inputs or views of them, whichever they are, unless the kernel takes `out`
   (then it makes memory of its own even when it is given none) or its operator says by `view` which inputs they are.
   Slots that may share memory are one group, and a group lives as long as its longest-living member.
3. A buffer belongs to the group of the result it was given to, and is free again when that group is dead.
4. A result goes into the buffer of an input (*in place*) only where the operator says so by `inplace`, and the input
   *is* the buffer: made by a step of rule 1, of the same shape and element type, no other slot of its group in use.
   What an operator that `reshapes` makes of a buffer is the buffer. Another view of one, or an array that a kernel made
   for itself, is never written to.
5. What the run does not own (inputs, constants, states) or what outlives it (results, assigned values) has no buffer.
"""

from __future__ import annotations

import math
from itertools import accumulate
from typing import Any

import numpy as np

from irexec.engine.step import Step
from irexec.ops.compute.pages import uninitialised
from irexec.records import field, record

# Smaller results are cheaper to allocate than to plan, unless layers that follow are computed with them.
_MIN_BYTES = 1 << 12
# All buffers lie in one piece of memory, each at a multiple of this.
_APART = 64
# A buffer may be at most this many times as large as the result.
_MAX_WASTE = 2


@record(eq=False)
class MemoryPlan:
    """Buffers by size in bytes, and for a step's number the buffer that its result goes to."""

    sizes: list[int] = field(default_factory=list)
    buffer_of: dict[int, int] = field(default_factory=dict)

    def largest(self) -> int:
        """The number of a step with the largest buffer."""
        return max(self.buffer_of, key=lambda number: self.sizes[self.buffer_of[number]])

    def allocate(self, steps: list[Step]) -> dict[int, np.ndarray[Any, Any]]:
        """Make the buffers; the output array of each step that has one."""
        starts = list(accumulate((-(-size // _APART) * _APART for size in self.sizes), initial=0))
        memory = uninitialised(starts[-1])
        outs = {}
        for number, buffer in self.buffer_of.items():
            dtype, shape = steps[number].dtype, steps[number].shape
            assert dtype is not None and shape is not None
            outs[number] = np.ndarray(shape, dtype, memory, starts[buffer])
        return outs


class Sharing:
    """Which slots may share memory: rule 2 as groups, each known by one of its slots."""

    def __init__(self, steps: list[Step]) -> None:
        self._parent: dict[int, int] = {}
        for step in steps:
            if step.takes_out:
                continue
            shared = [slot for index, slot in enumerate(step.inputs) if slot and _may_view(step, index)]
            for slot in (*shared, *step.outputs[1:]):
                self._parent[self.group(slot)] = self.group(step.outputs[0])

    def group(self, slot: int) -> int:
        while (up := self._parent.get(slot, slot)) != slot:
            self._parent[slot] = self._parent.get(up, up)
            slot = self._parent[slot]
        return slot


def _may_view(step: Step, index: int) -> bool:
    operator = step.operator
    return not operator.view or operator.signature.input(index).name in operator.view


def plan_memory(steps: list[Step], sharing: Sharing, escaping: frozenset[int]) -> MemoryPlan:
    """Assign buffers. `escaping`: slots that outlive the run (results, assigned values)."""
    end: dict[int, float] = {}
    for number, step in enumerate(steps):
        for slot in (*step.inputs, *step.outputs):
            end[sharing.group(slot)] = number
    for slot in escaping:
        end[sharing.group(slot)] = math.inf
    plan = MemoryPlan()
    given: dict[int, int] = {}
    live: list[tuple[float, int]] = []
    free: list[int] = []
    for number, step in enumerate(steps):
        free += [buffer for last, buffer in live if last < number]
        live = [(last, buffer) for last, buffer in live if last >= number]
        if step.operator.reshapes and step.inputs[0] in given:
            given[step.outputs[0]] = given[step.inputs[0]]
        need = _planned_bytes(step)
        if need is None:
            continue
        last = end[sharing.group(step.outputs[0])]
        if last == math.inf:
            continue
        buffer = _in_place(step, number, sharing, end, given)
        if buffer is None and need < _MIN_BYTES and not (need and hasattr(step.call, "leads")):
            continue
        if buffer is not None:
            live = [entry for entry in live if entry[1] != buffer]
        else:
            buffer = _best_fit(free, need, plan.sizes)
            if buffer is None:
                buffer = len(plan.sizes)
                plan.sizes.append(need)
        given[step.outputs[0]] = plan.buffer_of[number] = buffer
        live.append((last, buffer))
    return plan


def _planned_bytes(step: Step) -> int | None:
    """The bytes of a result that may be given a buffer (rule 1), None for any other."""
    dtype, shape = step.dtype, step.shape
    if not step.takes_out or dtype is None or dtype.kind == "T" or shape is None:
        return None
    return math.prod(shape) * dtype.itemsize


def _in_place(step: Step, number: int, sharing: Sharing, end: dict[int, float], given: dict[int, int]) -> int | None:
    """The buffer of an input that dies here and may be overwritten (rule 4), or None.

    Of several the one made last: the layer that made it may then compute this one with it (irexec.engine.chains).
    """
    found = []
    for index, slot in enumerate(step.inputs):
        if slot not in given or step.operator.signature.input(index).name not in step.operator.inplace:
            continue
        group = sharing.group(slot)
        alone = [other for other in step.inputs if other and sharing.group(other) == group] == [slot]
        if end[group] == number and alone and _same_type(step, index):
            found.append(slot)
    # Steps number the slots of their results in order.
    return given[max(found)] if found else None


def _same_type(step: Step, index: int) -> bool:
    """True when an input that is a buffer has the shape and element type of the result."""
    given, made = step.given[index], step.types[0]
    return given is not None and given.element_type is made.element_type and given.shape == made.shape


def _best_fit(free: list[int], need: int, sizes: list[int]) -> int | None:
    fitting = [b for b in free if need <= sizes[b] <= _MAX_WASTE * need]
    if fitting:
        best = min(fitting, key=lambda b: sizes[b])
        free.remove(best)
        return best
    # Growing a free buffer keeps their number low.
    smaller = [b for b in free if sizes[b] < need]
    if smaller:
        best = max(smaller, key=lambda b: sizes[b])
        free.remove(best)
        sizes[best] = need
        return best
    return None
