"""States that grow: an Assign of a Concat of the variable's value and new elements appends to a buffer in place.

The steps are recognized in the plan: ReadValue, a Gather along the first axis that may reorder the value, Concat,
Assign. Nothing is assumed of the values: elements are appended only behind the latest value of the buffer itself. Any
other value (the first one, one that was set, reordered, or restored after a failure) is copied to a new buffer, by the
kernel of Concat. A value is a view of its buffer, and its elements do not change while the buffer grows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irexec.core.structure import ASSIGN, READ_VALUE
from irexec.core.types import Array
from irexec.ops.spec.traits import Concatenation, Selection, Stateful, Trait
from irexec.runtime.engine.memory import MemoryPlan, Sharing
from irexec.runtime.engine.step import Step

# A new buffer has space for one AHEAD-th more of its elements, and at least for LEAST more, along the axis.
AHEAD, LEAST = 4, 16


class Buffer:
    """Memory of a variable that grows along an axis. `value`: its latest value."""

    def __init__(self, axis: int) -> None:
        self.axis = axis
        self._memory: Array | None = None
        self.value: Array | None = None

    def append(self, past: Array, new: Array, concat: Callable[..., Array]) -> Array:
        """Return `past` followed by `new`, as views of the buffer if their types permit; `concat` is the kernel."""
        if not (past.ndim == new.ndim and past.dtype == new.dtype and self._rest(past) == self._rest(new)):
            return concat(past, new)
        length, end = past.shape[self.axis], past.shape[self.axis] + new.shape[self.axis]
        if self._memory is not None and past is self.value and end <= self._memory.shape[self.axis]:
            self._memory[self._part(length, end)] = new
            self.value = self._memory[self._part(0, end)]
        else:
            shape = list(past.shape)
            shape[self.axis] = end + max(end // AHEAD, LEAST)
            memory = np.empty(shape, past.dtype)
            self.value = concat(past, new, out=(target := memory[self._part(0, end)]))
            # A kernel that makes an array of its own, such as one that adds noise, makes every further value, too.
            self._memory = memory if self.value is target else None
        return self.value

    def _rest(self, array: Array) -> tuple[int, ...]:
        before, behind = array.shape[: self.axis], array.shape[self.axis + 1 :]
        return *before, *behind

    def _part(self, start: int, stop: int) -> tuple[slice, ...]:
        return (*[slice(None)] * self.axis, slice(start, stop))


def reordering(gather: Callable[..., Array]) -> Callable[..., Array]:
    """Return a call of a Gather along the first axis that returns its data if the order stays."""

    def run(data: Array, indices: Array, axis: Array) -> Array:
        stays = indices.shape == data.shape[:1] and np.array_equal(indices, np.arange(len(indices)))
        return data if stays else gather(data, indices, axis)

    return run


def growing(
    steps: Sequence[Step], template: Sequence[Any], memory: MemoryPlan, sharing: Sharing, results: Sequence[int]
) -> dict[int, str | None]:
    """Return, by the number of the step, the variable to which a Concat appends, and None for each Gather that may
    reorder its value.
    """
    assigns = [step for step in steps if step.operator.type == ASSIGN]
    maker = {slot: number for number, step in enumerate(steps) for slot in step.outputs}
    readers = Counter(slot for step in steps for slot in step.inputs)
    escaping = {sharing.group[slot] for slot in results}
    found: dict[int, str | None] = {}

    def made(slot: int, trait: type[Trait]) -> int | None:
        """Return the number of the step that makes a value without a buffer, if its operator has this trait."""
        number = maker.get(slot)
        is_own = number is not None and trait in steps[number].operator.traits and number not in memory.buffer_of
        return number if is_own else None

    for assign in assigns:
        concat = made(assign.inputs[0], Concatenation)
        if concat is None or len(steps[concat].inputs) != 2 or sharing.group[assign.inputs[0]] in escaping:
            continue
        past = steps[concat].inputs[0]
        gather = made(past, Selection)
        if gather is not None and readers[past] == 1 and _is_along_first(steps[gather], template):
            past = steps[gather].inputs[0]
        else:
            gather = None
        read, name = made(past, Stateful), assign.node.attributes["variable_id"]
        if (
            read is not None
            and steps[read].operator.type == READ_VALUE
            and steps[read].node.attributes["variable_id"] == name
        ):
            found[concat] = name
            if gather is not None:
                found[gather] = None
    return found


def _is_along_first(gather: Step, template: Sequence[Any]) -> bool:
    axis = template[gather.inputs[2]]
    return axis is not None and axis.size == 1 and axis.item() == 0 and not gather.node.attributes.get("batch_dims")
