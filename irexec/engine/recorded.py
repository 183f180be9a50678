"""Recorded runs: steps that are compiled code on memory that lasts are done in one call, without Python between them.

In one of its runs the runner notes what each step hands to compiled code (irexec.native.notes). An array *lasts* when
every run has the same one in the slot: a constant; the buffer of a step, which returns nothing else; a view that a step
took of arrays that last. What a caller gives never lasts. A step is recorded when its inputs last and

- it took views of them, and read nothing besides but constants: there is nothing left to do, or
- all are f32 or constants, and the step says that all it did was to hand tasks to compiled code, or
- it follows such a step, which has computed both (irexec.engine.chains), or
- it copied one to give it another shape: the copy is made by compiled code, in memory of the recording.

Each result of such a step is the very array that was verified when the run was recorded, so it need not be verified
again. All other steps stay what they are, in their places. A recording holds all memory that its compiled code reads
and writes: records of tasks hold what their addresses lead to (irexec.native.memory).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from irexec.engine.chains import Leading
from irexec.engine.constants import BOUND
from irexec.engine.memory import Sharing, may_view
from irexec.engine.plan import Plan
from irexec.engine.step import Step
from irexec.native.notes import Notes, noting
from irexec.ops.compute.contiguous import copied_by_tasks
from irexec.records import NamedTuple
from irexec.types import Array

if TYPE_CHECKING:
    from irexec.ops.compute.team import Job

# What the runner has for a step: see Runner._bind.
Call = tuple[Any, ...]


class Recording(NamedTuple):
    """What a run does: calls, beginning with these slots; `numbers` tells which step each call is, or comes after."""

    template: list[Any]
    calls: list[Call]
    numbers: Sequence[int]


class Recorder:
    """Goes through one run, step by step."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._done: set[int] = set()
        self._constants = {0, *(slot for slot, array in enumerate(plan.template) if array is not None)}
        self._lasting: dict[int, Array | None] = {slot: plan.template[slot] for slot in self._constants}
        self._scratch: dict[str, Array] = {}
        self._copies = _Copies(plan)
        self._jobs: list[Job] = []
        self._calls: list[Call] = []
        self._numbers: list[int] = []

    def noting(self) -> AbstractContextManager[Notes]:
        """Take notes of the step that runs inside."""
        return noting(self._scratch)

    def add(self, number: int, call: Call, inputs: Sequence[Array | None], taken: Notes, slots: list[Any]) -> None:
        """A step that ran on `inputs`; its results are in the slots, where a copy may take the place of one."""
        is_recorded = self._records(number, call, inputs, taken, slots)
        if is_recorded or number in self._plan.memory.buffer_of:
            self._lasting.update((slot, slots[slot]) for slot in self._plan.steps[number].outputs)
        if not is_recorded:
            self._end_sequence()
            self._calls.append(call)
            self._numbers.append(number)

    def recording(self) -> Recording | None:
        """What was recorded when all steps ran; None where nothing was gained."""
        self._end_sequence()
        template = [self._lasting.get(slot) for slot in range(len(self._plan.template))]
        return Recording(template, self._calls, self._numbers) if len(self._calls) < len(self._plan.steps) else None

    def _records(self, number: int, call: Call, inputs: Sequence[Array | None], taken: Notes, slots: list[Any]) -> bool:
        """Record a step; False where it has to run as it is."""
        step = self._plan.steps[number]
        if step.operator.type in BOUND or not all(slot in self._lasting for slot in call[1]):
            return False
        if number in self._done or self._took_views(step, inputs, slots):
            return True
        if not self._is_f32(step, inputs):
            return False
        if number in self._plan.memory.buffer_of and taken.are_complete and taken.jobs:
            self._jobs += taken.jobs
            if isinstance(call[0], Leading):
                self._done.update(call[0].following)
            return True
        return step.operator.reshapes and self._copied(number, step, inputs, slots)

    def _end_sequence(self) -> None:
        """The steps that were recorded since the last one that was not become one call."""
        if self._jobs:
            from irexec.ops.compute.team import Sequence

            self._calls.append((Sequence(self._jobs), (), False, (), (), ()))
            self._numbers.append(self._numbers[-1] if self._numbers else 0)
            self._jobs = []

    def _took_views(self, step: Step, inputs: Sequence[Array | None], slots: list[Any]) -> bool:
        """Whether all results are views of inputs, and which views does not depend on what any run computes."""
        if not step.operator.view or step.takes_out:
            return False
        viewed = [array for index, array in enumerate(inputs) if array is not None and may_view(step, index)]
        others = [slot for index, slot in enumerate(step.inputs) if not may_view(step, index)]
        return self._constants.issuperset(others) and all(
            any(np.may_share_memory(slots[slot], array) for array in viewed) for slot in step.outputs
        )

    def _is_f32(self, step: Step, inputs: Sequence[Array | None]) -> bool:
        return step.dtype == np.float32 and all(
            slot in self._constants or (array is not None and array.dtype == np.float32)
            for slot, array in zip(step.inputs, inputs, strict=False)
        )

    def _copied(self, number: int, step: Step, inputs: Sequence[Array | None], slots: list[Any]) -> bool:
        """Copy the first input by compiled code, in place of the copy that NumPy made."""
        source, (slot,) = inputs[0], step.outputs
        memory = self._copies.memory(number, slots[slot])
        if source is None or memory is None or not self._constants.issuperset(step.inputs[1:]):
            return False
        with self.noting() as taken:
            if not copied_by_tasks(source, memory):
                return False
        self._jobs += taken.jobs
        slots[slot] = memory.reshape(slots[slot].shape)
        return True


class _Copies:
    """Memory for copies, of which one takes the place of another that nothing will read."""

    def __init__(self, plan: Plan) -> None:
        self._sharing = Sharing(plan.steps, len(plan.template))
        self._end: dict[int, int] = {}
        for number, step in enumerate(plan.steps):
            for slot in (*step.inputs, *step.outputs):
                self._end[self._sharing.group[slot]] = number
        assigned = chain.from_iterable(step.inputs for step in plan.steps if step.operator.type == "Assign")
        self._escaping = {self._sharing.group[slot] for slot in (*plan.results, *assigned)}
        self._outputs = [step.outputs for step in plan.steps]
        self._live: list[tuple[int, Array]] = []

    def memory(self, number: int, result: Array) -> Array | None:
        """Memory for the one result of a step, as a run; None for what outlives the run."""
        group = self._sharing.group[self._outputs[number][0]]
        if group in self._escaping:
            return None
        end = self._end[group]
        for place, (last, array) in enumerate(self._live):
            if last < number and array.nbytes == result.nbytes:
                self._live[place] = end, array
                return array
        array = np.empty(result.size, np.float32)
        self._live.append((end, array))
        return array
