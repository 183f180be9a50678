"""The program of a lowered plan: consecutive compiled layers form one sequence, which runs without Python in between.

A program is derived from the plan and its buffers, before they hold any value. An array *lasts* if every run has the
same array in its slot: a constant, the buffer of a step, or a view of a lasting array. A caller's inputs do not last,
unless they are small: every run then copies them into memory of the program.

A run need not call a step whose inputs last if

- the group of an earlier step computes it (irexec.runtime.lowering.fusion), or
- its results are views of its inputs, and follow from the shapes and constants alone, or
- it copies its input in another shape: compiled code then makes the copy, in memory of the program, or
- compiled code alone computes it (`Lowered.tasks`). Values of f16 and bf16 are then in f32 (wide.py).

All other steps are calls, in order. The results of a call are verified in every run. The results of all other steps are
arrays of the expected element type and shape by their construction; if they are not, a call reports it.

A program holds references to all memory that its compiled code reads and writes: records of tasks hold the arrays at
their addresses (irexec.runtime.lowering.llvm.memory).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain
from math import prod
from typing import Any

import numpy as np

from irexec.core.structure import ASSIGN
from irexec.core.types import Array
from irexec.ops.spec.traits import KeepsElements
from irexec.runtime.engine.lowered import Call, Program
from irexec.runtime.engine.memory import Sharing, may_view
from irexec.runtime.engine.plan import Plan
from irexec.runtime.engine.step import Step
from irexec.runtime.lowering.fusion import Group
from irexec.runtime.lowering.narrow import rounding_of
from irexec.runtime.lowering.tasks import Sequence as JobSequence
from irexec.runtime.lowering.wide import Wide
from irexec.runtime.lowering.work import F32, Work

# Copying a larger input takes longer than the calls of its readers that the copy saves.
MOST_COPIED = 1 << 20
# Copying a larger result takes longer than the call that the copy saves.
MOST_RETURNED = 1 << 19


def program(plan: Plan, calls: Sequence[Call], outs: Mapping[int, Array], groups: Mapping[int, Group]) -> Program:
    """Return the program of a plan. `calls`: the calls of all steps, lowered or not; `outs`: the result buffers, by
    step.
    """
    builder = _Builder(plan, calls, outs, groups)
    included = plan.included
    for number in range(len(plan.steps)):
        if number not in included:
            builder.add(number)
    return builder.program()


class _Builder:
    def __init__(
        self, plan: Plan, calls: Sequence[Call], outs: Mapping[int, Array], groups: Mapping[int, Group]
    ) -> None:
        self._plan, self._calls, self._outs, self._groups = plan, calls, outs, groups
        self._following = {number for group in groups.values() for number in group.following}
        # The groups that compute steps before their own number, and the slots that are free after these groups.
        self._absorbed = {number: group.first for group in groups.values() for number in group.absorbed}
        self._free_behind: dict[int, list[int]] = {}
        self._constants = {0, *(slot for slot, array in enumerate(plan.template) if array is not None)}
        self._lasting = set(self._constants)
        self._slots: list[Any] = plan.template.copy()
        for slot, node in zip(plan.parameters, plan.model.parameters, strict=True):
            type = plan.inference[node.outputs[0]]
            dtype = type.element_type.dtype
            # The only integers that compiled code often reads are 8-bit integers.
            if dtype is None or dtype not in (F32, np.uint8, np.int8) or not type.shape.is_static:
                continue
            shape = type.shape.to_shape()
            if prod(shape) * dtype.itemsize <= MOST_COPIED:
                self._slots[slot] = np.empty(shape, dtype)
                self._lasting.add(slot)
        self._scratch: dict[str, Array] = {}
        self._copies = _Copies(plan)
        self._work = Work(self._scratch)
        self._wide = Wide(self._slots, self._constants)
        self._frees: list[int] = []
        self._entries: list[Call] = []
        self._numbers: list[int] = []
        # The results of the program that are copied from its memory, by step.
        self._returned: dict[int, Array] = {}

    def add(self, number: int) -> None:
        """Add a step to the program; all earlier steps have been added before."""
        if number in self._absorbed:
            # A later step computes it, and reads the inputs.
            self._free_behind.setdefault(self._absorbed[number], []).extend(self._calls[number][-1])
            return
        self._frees += self._free_behind.pop(number, [])
        found = self._results(number)
        if found is None:
            if number in self._outs:
                self._last(number, [self._outs[number]])
            self._append(number, self._calls[number])
            return
        self._last(number, found)
        _, _, single, outs, checks, frees = self._calls[number]
        expected = [checks] if single else checks
        if all((array.dtype, array.shape) == (*check,) for array, check in zip(found, expected, strict=False)):
            self._frees += frees
        else:
            made = found[0] if single else tuple(found)
            self._append(number, (lambda: made, (), single, outs, checks, frees))

    def program(self) -> Program:
        for slot in self._plan.results:
            self._wide.write(self._work, slot)
        self._end_sequence()
        for number, array in self._returned.items():
            _, _, *bound, _ = self._calls[number]
            self._append(number, (array.copy, (), *bound, ()))
        return Program(self._slots, self._entries, self._numbers)

    def _last(self, number: int, arrays: Sequence[Array]) -> None:
        for slot, array in zip(self._plan.steps[number].outputs, arrays, strict=False):
            self._slots[slot] = array
            self._lasting.add(slot)

    def _append(self, number: int, call: Call) -> None:
        for slot in call[1]:
            self._wide.write(self._work, slot)
        self._end_sequence()
        *bound, frees = call
        # A lasting array is the same in every run.
        self._entries.append((*bound, tuple([slot for slot in (*self._frees, *frees) if slot not in self._lasting])))
        self._numbers.append(number)
        self._frees = []

    def _end_sequence(self) -> None:
        """Combine the jobs before this point into one call."""
        if self._work.jobs:
            self._entries.append((JobSequence(self._work.jobs), (), False, (), (), ()))
            self._numbers.append(self._numbers[-1] if self._numbers else 0)
            self._work = Work(self._scratch)

    def _results(self, number: int) -> Sequence[Array] | None:
        """Return the results of a step that needs no call, and add its jobs; None for any other step."""
        step = self._plan.steps[number]
        if number in self._following:
            return [self._outs[number]]
        _, inputs, *_ = self._calls[number]
        if step.operator.is_run_by_engine or not self._lasting.issuperset(inputs):
            return None
        arrays = [self._slots[slot] for slot in inputs]
        if (group := self._groups.get(number)) is not None:
            out = self._outs[number] if number in self._outs else self._own(number, group, arrays)
            if out is None or not self._has_tasks(number, group, out):
                return None
            if number not in self._outs and self._copies.is_returned(number):
                self._returned[number] = out
            return [out, *group.form.unread(out.shape)]
        is_view = step.operator.view and not step.takes_out
        return self._viewed(number, step, arrays) if is_view else None

    def _own(self, number: int, group: Group, arrays: Sequence[Any]) -> Array | None:
        """Return memory for the result of a step without a buffer in the plan; None if the result outlives the run and
        cannot be copied at its end.
        """
        step = self._plan.steps[number]
        shape, dtype = group.form.shape(*arrays), step.types[0].element_type.dtype
        if shape is None or dtype is None or rounding_of(dtype) is not None:
            return None
        size = prod(shape) * dtype.itemsize
        memory = self._copies.memory(number, -(-size // F32.itemsize))
        if memory is not None:
            return np.ndarray(shape, dtype, memory)
        is_returned = self._copies.is_returned(number) and size <= MOST_RETURNED
        return np.empty(shape, dtype) if is_returned else None

    def _has_tasks(self, number: int, group: Group, out: Array) -> bool:
        """Add the jobs of a group, and return whether they do all of its work."""
        work = Work(self._scratch)
        slots, memory = self._calls[number][1], out
        try:
            if rounding_of(out.dtype) is not None:
                ends = [self._plan.steps[step].outputs[0] for step in (number, *group.following)]
                memory = self._copies.until_read(number, ends, out.shape)
            elif out.dtype != F32 and not group.form.stores_its_type:
                return False
            arrays = [
                self._wide.of(work, slot, partial(self._copies.until_read, number, [slot]))
                if group.form.reads(place)
                else self._slots[slot]
                for place, slot in enumerate(slots)
            ]
            if group.form.shape(*arrays) != out.shape:
                return False
            group.form.tasks(work, arrays, memory)
        except Exception:
            # NumPy is needed (`Unsuited`), or there is an error: a call of the step reports it.
            return False
        self._work.jobs += work.jobs
        if memory is not out:
            for step in (number, *group.following):
                self._wide.made(self._plan.steps[step].outputs[0], memory.reshape(self._outs[step].shape))
        return True

    def _viewed(self, number: int, step: Step, arrays: Sequence[Any]) -> Sequence[Array] | None:
        """Return the results of a step if they are views that do not depend on computed values, or a copy of an input
        in another shape.
        """
        others = [slot for index, slot in enumerate(step.inputs) if not may_view(step, index)]
        if not self._constants.issuperset(others):
            return None
        try:
            made = self._calls[number][0](*arrays)
        except Exception:
            # A call of the step reports the error.
            return None
        results = list(made) if isinstance(made, (tuple, list)) else [made]
        viewed = [array for index, array in enumerate(arrays) if array is not None and may_view(step, index)]
        if all(any(np.may_share_memory(result, array) for array in viewed) for result in results):
            return results if self._viewed_wide(number, step, len(results)) else None
        slot, dtype = step.inputs[0], arrays[0].dtype
        is_wide = slot in self._wide and dtype == step.dtype
        if KeepsElements not in step.operator.traits or not (is_wide or step.dtype == dtype == F32):
            return None
        memory = self._copies.memory(number, results[0].size)
        if memory is None or not self._work.copied(self._wide[slot] if is_wide else arrays[0], memory):
            return None
        memory = memory.reshape(results[0].shape)
        if not is_wide:
            return [memory]
        self._wide.made(step.outputs[0], memory)
        return [np.empty(memory.shape, dtype)]

    def _viewed_wide(self, number: int, step: Step, count: int) -> bool:
        """Record the step's views of a narrow value's f32 array; return False if its results are not views."""
        base = next(
            (slot for index, slot in enumerate(step.inputs) if slot in self._wide and may_view(step, index)), None
        )
        if base is None:
            return True
        made = self._calls[number][0](*(self._wide[s] if s in self._wide else self._slots[s] for s in step.inputs))
        results = list(made) if isinstance(made, (tuple, list)) else [made]
        if len(results) != count or not all(np.may_share_memory(result, self._wide[base]) for result in results):
            return False
        for slot, result in zip(step.outputs, results, strict=False):
            self._wide.views(slot, base, result)
        return True


class _Copies:
    """Memory of a program for copies of values; a new copy reuses the memory of a copy that no later step reads."""

    def __init__(self, plan: Plan) -> None:
        self._sharing = Sharing(plan.steps, len(plan.template))
        self._end: dict[int, int] = {}
        for number, step in enumerate(plan.steps):
            growth = plan.growing.get(number)
            for slot in (*step.inputs, *step.outputs, *(growth.inputs if growth else ())):
                self._end[self._sharing.group[slot]] = number
        assigned = chain.from_iterable(step.inputs for step in plan.steps if step.operator.type == ASSIGN)
        self._assigned = {self._sharing.group[slot] for slot in assigned}
        self._results = set(plan.results)
        self._escaping = self._assigned | {self._sharing.group[slot] for slot in plan.results}
        self._outputs = [step.outputs for step in plan.steps]
        self._live: list[tuple[int, Array]] = []

    def memory(self, number: int, size: int) -> Array | None:
        """Return memory for the first result of a step; None for values that outlive the run."""
        group = self._sharing.group[self._outputs[number][0]]
        if group in self._escaping:
            return None
        return self._taken(number, self._end[group], size)

    def is_returned(self, number: int) -> bool:
        """Return whether the only result of a step is a result of the plan, and not the value of a variable."""
        slots = self._outputs[number]
        return len(slots) == 1 and slots[0] in self._results and self._sharing.group[slots[0]] not in self._assigned

    def until_read(self, number: int, slots: Sequence[int], shape: tuple[int, ...]) -> Array:
        """Return memory that is reserved from a step on until the last read of these slots."""
        end = max(self._end[self._sharing.group[slot]] for slot in slots)
        return self._taken(number, end, prod(shape)).reshape(shape)

    def _taken(self, number: int, end: int, size: int) -> Array:
        for place, (last, array) in enumerate(self._live):
            if last < number and array.size == size:
                self._live[place] = end, array
                return array
        array = np.empty(size, np.float32)
        self._live.append((end, array))
        return array
