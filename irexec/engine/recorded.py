"""Recorded runs: steps that are compiled code on memory that lasts are done in one call, without Python between them.

In one of its runs the runner notes what each step hands to compiled code (irexec.native.notes). An array *lasts* when
every run has the same one in the slot: a constant; the buffer of a step, which returns nothing else; a view that a step
took of arrays that last. A step is recorded when its inputs last and

- it took views of them, and read nothing besides but constants: there is nothing left to do, or
- all are f32 or constants, and the step says that all it did was to hand tasks to compiled code, or
- it follows such a step, which has computed both (irexec.engine.chains), or
- it copied one to give it another shape: the copy is made by compiled code, in memory of the recording.

Each result of such a step is the very array that was verified when the run was recorded, so it need not be verified
again. All other steps stay what they are, in their places.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from irexec.engine.constants import BOUND
from irexec.engine.memory import Sharing, may_view
from irexec.engine.plan import Plan
from irexec.engine.step import Step
from irexec.native.notes import Notes, noting
from irexec.ops.compute.contiguous import copied_by_tasks
from irexec.types import Array

if TYPE_CHECKING:
    from irexec.ops.compute.team import Job

# What the runner has for a step: see Runner._bind.
Entry = tuple[Any, ...]


class Recorder:
    """Goes through one run, step by step. The runs after it do `entries` instead of the steps, from `template` on."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._following = {chain.first: chain.following for chain in plan.chains.found()}
        self._done: set[int] = set()
        self._constants = {0, *(slot for slot, array in enumerate(plan.template) if array is not None)}
        self._lasting: dict[int, Array | None] = {slot: plan.template[slot] for slot in self._constants}
        self._memory: dict[str, Array] = {}
        self._copies = _Copies(plan)
        self._jobs: list[Job] = []
        self._kept: list[Any] = []
        self.entries: list[Entry] = []
        self.numbers: list[int] = []
        self.template: list[Any] = []

    def noting(self) -> Any:
        """Take notes of the step that runs inside."""
        return noting(self._memory)

    def add(self, number: int, entry: Entry, inputs: Sequence[Array | None], taken: Notes, slots: list[Any]) -> None:
        """A step that ran on `inputs`; its results are in the slots, where a copy may take the place of one."""
        step = self._plan.steps[number]
        if all(slot in self._lasting for slot in entry[1]) and step.operator.type not in BOUND:
            if number in self._done:
                self._last(step, slots)
                return
            if self._took_views(step, inputs, slots):
                self._last(step, slots)
                return
            if self._is_f32(step, inputs):
                if number in self._plan.memory.buffer_of and taken.are_complete and taken.jobs:
                    self._note(taken)
                    self._done.update(self._following.get(number, ()))
                    self._last(step, slots)
                    return
                if step.operator.reshapes and self._copied(number, step, inputs, slots):
                    self._last(step, slots)
                    return
        if number in self._plan.memory.buffer_of:
            self._last(step, slots)
        self._finish()
        self.entries.append(entry)
        self.numbers.append(number)

    def end(self) -> None:
        """There are no more steps."""
        self._finish()
        self.template = [self._lasting.get(slot) for slot in range(len(self._plan.template))]

    def _finish(self) -> None:
        """The steps that were recorded since the last one that was not become one call."""
        if self._jobs:
            from irexec.ops.compute.team import Sequence

            self.entries.append((_Sequence(Sequence(self._jobs), self._kept), (), False, (), (), ()))
            self.numbers.append(self.numbers[-1] if self.numbers else 0)
            self._jobs, self._kept = [], []

    def _last(self, step: Step, slots: list[Any]) -> None:
        self._lasting.update((slot, slots[slot]) for slot in step.outputs)

    def _note(self, taken: Notes) -> None:
        self._jobs += taken.jobs
        self._kept += taken.kept

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
        self._note(taken)
        slots[slot] = memory.reshape(slots[slot].shape)
        return True


class _Sequence:
    """The call of recorded steps. It holds all that they read and write."""

    def __init__(self, jobs: Any, kept: list[Any]) -> None:
        self._jobs, self._kept = jobs, kept

    def __call__(self) -> None:
        from irexec.ops.compute.team import run_sequence

        run_sequence(self._jobs)


class _Copies:
    """Memory for copies, of which one takes the place of another that nothing will read."""

    def __init__(self, plan: Plan) -> None:
        self._sharing = Sharing(plan.steps)
        self._end: dict[int, int] = {}
        for number, step in enumerate(plan.steps):
            for slot in (*step.inputs, *step.outputs):
                self._end[self._sharing.group(slot)] = number
        assigned = chain.from_iterable(step.inputs for step in plan.steps if step.operator.type == "Assign")
        self._escaping = {self._sharing.group(slot) for slot in (*plan.results, *assigned)}
        self._outputs = [step.outputs for step in plan.steps]
        self._live: list[tuple[int, Array]] = []

    def memory(self, number: int, result: Array) -> Array | None:
        """Memory for the one result of a step, as a run; None for what outlives the run."""
        group = self._sharing.group(self._outputs[number][0])
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
