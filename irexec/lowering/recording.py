"""Recorded runs: consecutive steps of compiled code on lasting memory are executed in one call, without Python in
between.

The first run of a lowered plan records the jobs that each step passes to compiled code (irexec.lowering.capture). An
array *lasts* if every run has the same array in the slot: a constant, the buffer of a step that returns nothing else,
or a view of lasting arrays. A caller's arrays never last. A step is recorded if its inputs last and

- it returned views of them and read no other values than constants, so that a later run has nothing to do, or
- all inputs are f32 or constants, and the step reports that it did nothing but pass tasks to compiled code, or
- it follows such a step in a fused group, and the first step computed both (irexec.lowering.fusion), or
- it copied an input to change its shape: the copy is then made by compiled code, in memory of the program.

Each result of such a step is the same array that was verified when the run was recorded, so it is not verified again.
All other steps run unchanged, in order. A program holds references to all memory that its compiled code reads and
writes: records of tasks hold the arrays at their addresses (irexec.lowering.llvm.memory).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from irexec.engine.lowered import Call, Program
from irexec.engine.memory import Sharing, may_view
from irexec.engine.plan import Plan
from irexec.engine.step import Step
from irexec.lowering.capture import Capture, capturing
from irexec.lowering.contiguous import copied_by_tasks
from irexec.lowering.fusion import Leading
from irexec.types import Array

if TYPE_CHECKING:
    from irexec.lowering.tasks import Job


class Recorder:
    """Records one run, step by step."""

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

    def capturing(self) -> AbstractContextManager[Capture]:
        """Capture the jobs of the step that runs inside the block."""
        return capturing(self._scratch)

    def add(self, number: int, call: Call, inputs: Sequence[Array | None], taken: Capture, slots: list[Any]) -> None:
        """Record a step that ran on `inputs`; its results are in the slots, where a copy may replace a result."""
        is_recorded = self._records(number, call, inputs, taken, slots)
        if is_recorded or number in self._plan.memory.buffer_of:
            self._lasting.update((slot, slots[slot]) for slot in self._plan.steps[number].outputs)
        if not is_recorded:
            self._end_sequence()
            self._calls.append(call)
            self._numbers.append(number)

    def program(self) -> Program | None:
        """Return the program after all steps have run; None if it has no advantage."""
        self._end_sequence()
        template = [self._lasting.get(slot) for slot in range(len(self._plan.template))]
        return Program(template, self._calls, self._numbers) if len(self._calls) < len(self._plan.steps) else None

    def _records(
        self, number: int, call: Call, inputs: Sequence[Array | None], taken: Capture, slots: list[Any]
    ) -> bool:
        """Record a step; return False if the step has to run unchanged."""
        step = self._plan.steps[number]
        if step.operator.is_run_by_engine or not all(slot in self._lasting for slot in call[1]):
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
        """Combine the consecutive recorded steps before this point into one call."""
        if self._jobs:
            from irexec.lowering.tasks import Sequence

            self._calls.append((Sequence(self._jobs), (), False, (), (), ()))
            self._numbers.append(self._numbers[-1] if self._numbers else 0)
            self._jobs = []

    def _took_views(self, step: Step, inputs: Sequence[Array | None], slots: list[Any]) -> bool:
        """Whether all results are views of inputs and the views do not depend on computed values."""
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
        """Copy the first input by compiled code instead of the copy made by NumPy."""
        source, (slot,) = inputs[0], step.outputs
        memory = self._copies.memory(number, slots[slot])
        if source is None or memory is None or not self._constants.issuperset(step.inputs[1:]):
            return False
        with self.capturing() as taken:
            if not copied_by_tasks(source, memory):
                return False
        self._jobs += taken.jobs
        slots[slot] = memory.reshape(slots[slot].shape)
        return True


class _Copies:
    """Memory for copies; a copy reuses the memory of a copy that no later step reads."""

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
        """Return memory for the single result of a step, as in a run; None for values that outlive the run."""
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
