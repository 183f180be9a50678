"""The back end of one compiled model: decides when the model is lowered, and keeps the data that its plans share."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from irexec.core.threads.forking import held_while_forking
from irexec.core.types import Array
from irexec.ops.spec.prepared import LOCK, Prepared
from irexec.ops.spec.work import multiply_adds, steps
from irexec.runtime.engine.lowered import Call, Program, Replacements
from irexec.runtime.engine.plan import Plan

if TYPE_CHECKING:
    from irexec.runtime.lowering.fusion import Group
    from irexec.runtime.lowering.plans import LoweredPlan

# A model is lowered before this inference or a later one, when all inferences up to it need at least this much work:
# compiling takes about as long as this work.
MANY_CALLS = 3
MUCH_WORK = 1 << 28
# The work added for each layer, in multiply-adds: about the time that Python takes to call a kernel.
LAYER_WORK = 1 << 14

# Held while a call is counted.
_COUNTING = threading.Lock()
held_while_forking(_COUNTING)


class Mode(Enum):
    """When a model is lowered."""

    KERNELS = "never: every call returns the same bits"
    AT_ONCE = "before the first inference: every call returns the same bits"
    OFTEN_USED = "once the model has run so often that compiling pays off"


@cache
def is_installed() -> bool:
    """Return True if the extra `fast` is installed."""
    return find_spec("llvmlite") is not None


@cache
def is_available() -> bool:
    """Return True if the extra `fast` is installed and IREXEC_FAST is not 0."""
    return os.environ.get("IREXEC_FAST", "") != "0" and is_installed()


class Backend:
    """Lowers the plans of one compiled model: see irexec.runtime.engine.lowered.Backend."""

    def __init__(self, mode: Mode = Mode.OFTEN_USED) -> None:
        self.mode = mode if is_available() else Mode.KERNELS
        self._is_lowered = self.mode is Mode.AT_ONCE
        self._calls = 0
        self._calls_of: WeakKeyDictionary[Plan, int] = WeakKeyDictionary()
        self._plans: WeakKeyDictionary[Plan, LoweredPlan] = WeakKeyDictionary()
        self._prepared = Prepared()
        self._works: WeakKeyDictionary[Plan, int] = WeakKeyDictionary()

    @property
    def is_lowered(self) -> bool:
        """Whether all further inferences run lowered."""
        return self._is_lowered

    def begin(self, plan: Plan) -> bool:
        if not self._is_lowered and self.mode is not Mode.KERNELS:
            with _COUNTING:
                self._calls += 1
                self._calls_of[plan] = self._calls_of.get(plan, 0) + 1
                # The work is not added up in the first calls, whose results a user may be waiting for.
                if self._calls >= MANY_CALLS and self._work() >= MUCH_WORK:
                    self._is_lowered = True
        return self._is_lowered

    def replacements(self, plan: Plan) -> Replacements:
        return {number: (group.form, group.slots(plan.steps)) for number, group in self.groups(plan).items()}

    def program(self, plan: Plan, calls: Sequence[Call], outs: Mapping[int, Array]) -> Program:
        from irexec.runtime.lowering.program import program

        return program(plan, calls, outs, self.groups(plan))

    def groups(self, plan: Plan) -> Mapping[int, Group]:
        """Return the groups of layers that compiled code computes, by the number of the first step of each."""
        return self._lowered(plan).groups

    def _lowered(self, plan: Plan) -> LoweredPlan:
        from irexec.runtime.lowering.plans import LoweredPlan

        with LOCK:
            if (found := self._plans.get(plan)) is None:
                found = self._plans[plan] = LoweredPlan(plan, self._prepared)
            return found

    def _work(self) -> int:
        """Return the sum of `work_of` over all calls so far, without the calls of plans that are no longer in use."""
        total = 0
        for plan, calls in self._calls_of.items():
            if plan not in self._works:
                self._works[plan] = work_of(plan)
            total += calls * self._works[plan]
        return total


def work_of(plan: Plan) -> int:
    """Return the work of one inference: for each layer a constant and, if its shapes are static, its elements and
    multiply-adds.
    """
    total = len(plan.steps) * LAYER_WORK
    for step in plan.steps:
        total += steps(step.operator, step.given, step.node.all_attributes, step.types) or 0
        total += multiply_adds(step.operator, step.given, step.node.all_attributes, step.types) or 0
    return total + sum(work_of(body) for bodies in plan.subplans.values() for body in bodies)
