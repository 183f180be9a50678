"""A lowered plan: the lowered forms of its steps, the groups computed together, and the program of a run."""

from __future__ import annotations

from collections.abc import Mapping

from irexec.engine.lowered import Call, Program, RunCalls
from irexec.engine.plan import Plan
from irexec.lowering.fusion import FusedGroup, Leading, find_groups, unless_fused
from irexec.lowering.grids import grids_of
from irexec.lowering.recording import Recorder
from irexec.lowering.table import Lowered, lowered
from irexec.ops.declare.prepared import Prepared
from irexec.types import Array


class LoweredPlan:
    """The lowered form of a plan, shared by all its runners. It has no reference to the plan, so both can be freed."""

    def __init__(self, plan: Plan, prepared: Prepared) -> None:
        read = {*plan.results, *(slot for step in plan.steps for slot in step.inputs)}
        grids = grids_of(plan.steps, plan.template)
        self.calls: dict[int, Lowered] = {}
        for number, step in enumerate(plan.steps):
            constants = tuple([plan.template[slot] for slot in step.inputs])
            used = tuple([slot in read for slot in step.outputs])
            own = [grids.get(slot) for slot in step.inputs]
            if (form := lowered(step, constants, used, prepared, own)) is not None:
                self.calls[number] = form
        self.groups: list[FusedGroup] = find_groups(plan, self.calls)

    def run_first(
        self, plan: Plan, calls: list[Call], outs: Mapping[int, Array], slots: list[object], run: RunCalls
    ) -> Program:
        """Run the steps one at a time, and record the work that further runs can do without Python."""
        calls = self.led(calls, outs)
        recorder = Recorder(plan)
        for number, call in enumerate(calls):
            *bound, frees = call
            inputs = [slots[slot] for slot in call[1]]
            with recorder.capturing() as taken:
                run(slots, [(*bound, ())], (number,))
            recorder.add(number, call, inputs, taken, slots)
            for slot in frees:
                slots[slot] = None
        return recorder.program() or Program(plan.template, calls, range(len(calls)))

    def led(self, calls: list[Call], outs: Mapping[int, Array]) -> list[Call]:
        """Return the calls, with the first steps of groups leading the others."""
        calls = calls.copy()
        for group in self.groups:
            leading = Leading(group, outs[group.first])
            _, inputs, *rest = calls[group.first]
            calls[group.first] = (leading, (*inputs, *group.operands), *rest)
            for number in group.following:
                call, *rest = calls[number]
                calls[number] = (unless_fused(leading, call, outs[number]), *rest)
        return calls
