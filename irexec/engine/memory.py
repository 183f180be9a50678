"""The memory plan: which results share a buffer, because one is dead before the other is made."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from irexec.engine.plan import Step

# A smaller result costs less to allocate than to plan.
_MIN_BYTES = 1 << 12
# A buffer is not given to a result that would leave most of it unused.
_MAX_WASTE = 2


@dataclass(slots=True)
class MemoryPlan:
    """Buffers by size in bytes, and for a step's number the buffer that its result goes to."""

    sizes: list[int] = field(default_factory=list)
    buffer_of: dict[int, int] = field(default_factory=dict)

    def allocate(self, steps: list[Step]) -> dict[int, np.ndarray[Any, Any]]:
        """Make the buffers; the output array of each step that has one."""
        buffers = [np.empty(size, np.uint8) for size in self.sizes]
        outs = {}
        for number, buffer in self.buffer_of.items():
            step = steps[number]
            dtype, shape = step.dtypes[0], step.shapes[0]
            assert dtype is not None and isinstance(shape, tuple)
            outs[number] = buffers[buffer][: math.prod(shape) * dtype.itemsize].view(dtype).reshape(shape)
        return outs


def plan_memory(steps: list[Step], escaping: frozenset[int], foreign: frozenset[int]) -> MemoryPlan:
    """Assign buffers. `escaping`: slots that outlive the run (results, states). `foreign`: inputs and constants.

    A step that is not given its buffer may return one of its inputs, or a view of it; such slots are one group, which
    lives as long as its longest-living member.
    """
    group = _groups(steps)
    end: dict[int, float] = {}
    for number, step in enumerate(steps):
        for slot in (*step.inputs, *step.outputs):
            end[group(slot)] = max(end.get(group(slot), 0), number)
    for slot in escaping:
        end[group(slot)] = float("inf")
    plan = MemoryPlan()
    owner: dict[int, int] = {}
    live: list[tuple[float, int]] = []
    free: list[int] = []
    for number, step in enumerate(steps):
        free += [buffer for last, buffer in live if last < number]
        live = [(last, buffer) for last, buffer in live if last >= number]
        need = _planned_bytes(step)
        if need is None:
            continue
        root = group(step.outputs[0])
        if end[root] == float("inf") or root in owner:
            continue
        buffer = _in_place(step, number, need, group, end, owner, plan.sizes)
        if buffer is not None:
            live = [(last, b) for last, b in live if b != buffer]
        else:
            buffer = _best_fit(free, need, plan.sizes)
            if buffer is None:
                buffer = len(plan.sizes)
                plan.sizes.append(need)
        owner[root] = buffer
        plan.buffer_of[number] = buffer
        live.append((end[root], buffer))
    return plan


def _groups(steps: list[Step]) -> Any:
    parent: dict[int, int] = {}

    def find(slot: int) -> int:
        while (up := parent.get(slot, slot)) != slot:
            parent[slot] = parent.get(up, up)
            slot = parent[slot]
        return slot

    for step in steps:
        if not _writes_own(step):
            first = find(step.outputs[0]) if step.outputs else 0
            for slot in (*step.inputs, *step.outputs[1:]):
                if slot:
                    parent[find(slot)] = first
    return find


def _writes_own(step: Step) -> bool:
    """True when the step's result is the buffer that it is given."""
    return step.takes_out and len(step.outputs) == 1 and isinstance(step.shapes[0], tuple)


def _planned_bytes(step: Step) -> int | None:
    dtype = step.dtypes[0] if step.dtypes else None
    if not _writes_own(step) or dtype is None or dtype.kind == "T":
        return None
    shape = step.shapes[0]
    assert isinstance(shape, tuple)
    need = math.prod(shape) * dtype.itemsize
    return need if need >= _MIN_BYTES else None


def _in_place(
    step: Step, number: int, need: int, group: Any, end: dict[int, float], owner: dict[int, int], sizes: list[int]
) -> int | None:
    """The buffer of an input that dies here and may be overwritten, or None."""
    for index, slot in enumerate(step.inputs):
        port = step.operator.signature.input(index).name
        root = group(slot)
        if port not in step.operator.inplace or root not in owner or end[root] != number:
            continue
        value = step.node.inputs[index]
        same = value is not None and value.type.shape == step.node.outputs[0].type.shape
        alone = [s for s in step.inputs if s and group(s) == root] == [slot]
        if same and alone and value is not None and value.element_type is step.node.outputs[0].element_type:
            return owner[root]
    return None


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
