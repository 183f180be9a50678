"""States that grow: an Assign of a Concat of the variable's value and new elements appends to a buffer in place.

The steps are recognized in the plan: ReadValue, a Gather along the first axis that may reorder the value, Concat,
Assign. The last three are one call. Nothing is assumed of the values: elements are appended only behind the latest
value of the buffer itself, and if their extents are those that the shape rules accepted. In all other cases (the first
value, one that was set, or restored after a failure), the kernels run, with all their checks, and Concat copies to a
new buffer. A value is a view of its buffer, and its elements do not change while the buffer grows: a Gather that
reorders the value, as the beams of a search do, copies it to the memory of the value before the last reordering, unless
somebody still has a view of that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from sys import getrefcount
from typing import Any, NamedTuple

import numpy as np

from irexec.core.structure import ASSIGN, READ_VALUE
from irexec.core.types import Array
from irexec.ops.spec.traits import Concatenation, Selection, Stateful, Trait
from irexec.runtime.engine.memory import Sharing
from irexec.runtime.engine.step import Step

# A new buffer has space for one AHEAD-th more of its elements, and at least for LEAST more, along the axis.
AHEAD, LEAST = 4, 16
# The references to an array that only an attribute holds: that of the attribute, and that of the function's argument.
_OWN = 2


class Growth(NamedTuple):
    """The variable to which a Concat appends, and the numbers of the steps that the call of the Concat includes.

    `inputs` are the slots that the call reads: the value, what else the Gather reads, and the new elements.
    """

    name: str
    gather: int | None
    assign: int
    inputs: tuple[int, ...]

    @property
    def included(self) -> list[int]:
        return [self.assign] if self.gather is None else [self.gather, self.assign]


class Buffer:
    """Memory of a variable that grows along an axis. `value`: its latest value."""

    def __init__(self, axis: int) -> None:
        self.axis = axis
        self._memory: Array | None = None
        # The memory of an earlier value.
        self._spare: Array | None = None
        self.value: Array | None = None

    def append(self, new: Array, order: Sequence[int] | None = None) -> Array | None:
        """Return the latest value followed by `new`; None if there is no space, or if their types differ. `order`: the
        numbers of the elements along the first axis that the value consists of.
        """
        memory, value = self._memory, self.value
        if memory is None or value is None or new.dtype != memory.dtype or self._rest(new) != self._rest(memory):
            return None
        length = value.shape[self.axis]
        end = length + new.shape[self.axis]
        if end > memory.shape[self.axis]:
            return None
        if order is not None:
            if self._spare is None or getrefcount(self._spare) > _OWN:
                self._spare = np.empty_like(memory)
            past = self._spare[self._part(0, length)]
            for place, number in enumerate(order):
                past[place] = value[number]
            self._memory, self._spare, memory = self._spare, memory, self._spare
        memory[self._part(length, end)] = new
        self.value = memory[self._part(0, end)]
        return self.value

    def renew(self, past: Array, new: Array, concat: Callable[..., Array]) -> Array:
        """Return `past` followed by `new`, in a new buffer if their types permit; `concat` is the kernel."""
        if not (past.dtype == new.dtype and self._rest(past) == self._rest(new)):
            return concat(past, new)
        end = past.shape[self.axis] + new.shape[self.axis]
        shape = list(past.shape)
        shape[self.axis] = end + max(end // AHEAD, LEAST)
        memory = np.empty(shape, past.dtype)
        self.value = concat(past, new, out=(target := memory[self._part(0, end)]))
        # A kernel that makes an array of its own, such as one that adds noise, makes every further value, too.
        self._memory = memory if self.value is target else None
        return self.value

    def _rest(self, array: Array) -> tuple[tuple[int, ...], tuple[int, ...]]:
        shape = array.shape
        return shape[: self.axis], shape[self.axis + 1 :]

    def _part(self, start: int, stop: int) -> tuple[slice, ...]:
        return (*[slice(None)] * self.axis, slice(start, stop))


def renewing(buffers: dict[str, Buffer], name: str, axis: int, concat: Callable[..., Array]) -> Callable[..., Array]:
    """Return the call of a Concat whose result is in a new buffer of the variable."""

    def run(past: Array, new: Array) -> Array:
        if past.ndim != new.ndim:
            return concat(past, new)
        buffer = buffers[name] = Buffer(axis % past.ndim)
        return buffer.renew(past, new, concat)

    return run


def appending(
    buffers: dict[str, Buffer],
    pending: dict[str, Array],
    name: str,
    gather: Callable[..., Array] | None,
    concat: Callable[..., Array],
    assign: Callable[..., Array],
) -> Callable[..., Array]:
    """Return the call of a Concat that includes the Gather before it and the Assign after it: calls with all checks."""

    def run(past: Array, *others: Array) -> Array:
        new, buffer = others[-1], buffers.get(name)
        order = None if gather is None else _order(past, others[0])
        if buffer is not None and buffer.value is past and (gather is None or order):
            is_same = order is None or order == list(range(len(past)))
            if (value := buffer.append(new, None if is_same else order)) is not None:
                pending[name] = value
                return value
        if gather is not None:
            past = gather(past, *others[:-1])
        value = concat(past, new)
        assign(value)
        return value

    return run


def _order(data: Array, indices: Array) -> list[int] | None:
    """Return the numbers of the elements that a Gather along the first axis selects, if there are as many as in its
    data; None for all other indices.
    """
    if indices.shape != data.shape[:1]:
        return None
    found: list[int] = indices.tolist()
    return found if found and min(found) >= 0 and max(found) < len(found) else None


def growing(
    steps: Sequence[Step], template: Sequence[Any], sharing: Sharing, results: Sequence[int]
) -> dict[int, Growth]:
    """Return, by the number of the step, what each Concat that appends to a variable includes."""
    assigns = [number for number, step in enumerate(steps) if step.operator.type == ASSIGN]
    names = Counter(steps[number].node.attributes["variable_id"] for number in assigns)
    maker = {slot: number for number, step in enumerate(steps) for slot in step.outputs}
    readers = Counter(slot for step in steps for slot in step.inputs)
    escaping = {sharing.group[slot] for slot in results}
    found: dict[int, Growth] = {}

    def made(slot: int, trait: type[Trait]) -> int | None:
        """Return the number of the step that makes a value without a known shape, if its operator has this trait."""
        number = maker.get(slot)
        is_own = number is not None and trait in steps[number].operator.traits and steps[number].shape is None
        return number if is_own else None

    for assign in assigns:
        (slot,), outputs = steps[assign].inputs, steps[assign].outputs
        name, concat = steps[assign].node.attributes["variable_id"], made(slot, Concatenation)
        is_alone = names[name] == 1 and not any(output in readers or output in results for output in outputs)
        if concat is None or len(steps[concat].inputs) != 2 or sharing.group[slot] in escaping or not is_alone:
            continue
        if any(step.node.bodies for step in steps[concat:assign]):  # A body that runs may read the variable.
            continue
        past, new = steps[concat].inputs
        others: tuple[int, ...] = ()
        gather = made(past, Selection)
        if gather is not None and readers[past] == 1 and _is_along_first(steps[gather], template):
            past, others = steps[gather].inputs[0], steps[gather].inputs[1:]
        else:
            gather = None
        read = made(past, Stateful)
        if (
            read is not None
            and steps[read].operator.type == READ_VALUE
            and steps[read].node.attributes["variable_id"] == name
        ):
            found[concat] = Growth(name, gather, assign, (past, *others, new))
    return found


def _is_along_first(gather: Step, template: Sequence[Any]) -> bool:
    axis = template[gather.inputs[2]]
    return axis is not None and axis.size == 1 and axis.item() == 0 and not gather.node.attributes.get("batch_dims")
