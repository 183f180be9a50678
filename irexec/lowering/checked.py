"""A back end that checks itself: every lowered layer is also computed by the kernels, and the results are compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from irexec.engine.lowered import Call, Program, RunCalls
from irexec.engine.plan import Plan
from irexec.lowering.backend import Backend, Mode
from irexec.lowering.fusion import FusedGroup, Leading
from irexec.types import Array

# The relative error allowed for an element, and for elements that are small beside the largest one.
RELATIVE, OF_LARGEST = 1e-3, 1e-5
# Behind FakeQuantize, an error of rounding may change the level: the share of elements that may differ.
OTHER_LEVEL = 0.01


class WrongResult(AssertionError):
    """Compiled code and the kernels computed different results."""


class CheckedBackend(Backend):
    """Lowers a model at once, and raises WrongResult in the first layer whose result differs from that of its kernel.

    The engine reports WrongResult as a failure of the layer (IRError). Nothing is recorded, so that every call of every
    run is checked. Runs take longer than with kernels alone: this is for tests and for debugging.
    """

    def __init__(self) -> None:
        super().__init__(Mode.AT_ONCE)

    def run_first(
        self, plan: Plan, calls: list[Call], outs: Mapping[int, Array], slots: list[Any], run: RunCalls
    ) -> Program:
        lowered = self._lowered(plan)
        led = lowered.led(calls, outs)
        groups = {group.first: group for group in lowered.groups}
        for number in {*lowered.calls, *groups}:
            call, *rest = led[number]
            led[number] = (_checked(plan, number, call, groups.get(number)), *rest)
        run(slots, led, range(len(led)))
        return Program(plan.template, led, range(len(led)))


def _checked(plan: Plan, number: int, call: Callable[..., Any], group: FusedGroup | None) -> Callable[..., Any]:
    """Return the call of a step that compares its result with the kernels of the step or of its group."""
    step = plan.steps[number]
    slots = (*step.inputs, *(group.operands if group is not None else ()))

    def run(*inputs: Any) -> Any:
        # The call may write its result into the memory of an input.
        known = {slot: None if array is None else array.copy() for slot, array in zip(slots, inputs, strict=True)}
        found = call(*inputs)
        last = call.following[-1] if isinstance(call, Leading) and call.computed_all and call.following else number
        expected = _ByKernels(plan, number, last, known).results()
        for one, other in zip(_listed(found), expected, strict=False):
            _compare(one.reshape(other.shape), other, [step.operator.type for step in plan.steps[number : last + 1]])
        return found

    return run


def _compare(found: Array, expected: Array, types: list[str]) -> None:
    """Raise WrongResult for results that differ by more than rounding."""
    differs = ~np.isclose(found, expected, RELATIVE, _margin(expected), equal_nan=True)
    share = float(np.mean(differs)) if expected.size else 0.0
    if share > (OTHER_LEVEL if "FakeQuantize" in types else 0):
        message = f"compiled code of {', '.join(types)}: {share:.1%} of the elements differ from the kernels'"
        raise WrongResult(message)


class _ByKernels:
    """The steps of a group by their kernels, from the known values of slots on."""

    def __init__(self, plan: Plan, first: int, last: int, known: dict[int, Any]) -> None:
        self._plan, self._last, self._known = plan, last, known
        self._makers = {slot: step for step in plan.steps[first : last + 1] for slot in step.outputs}

    def results(self) -> list[Array]:
        """Return the results of the last step."""
        return [self._value(slot) for slot in self._plan.steps[self._last].outputs]

    def _value(self, slot: int) -> Any:
        if slot in self._known or slot not in self._makers:
            return self._known.get(slot, self._plan.template[slot])
        step = self._makers[slot]
        inputs = [self._value(given) for given in step.inputs]
        results = _listed(step.call(*[None if array is None else array.copy() for array in inputs]))
        self._known.update(zip(step.outputs, results, strict=False))
        return self._known[slot]


def _listed(results: Any) -> list[Array]:
    return [np.asarray(result) for result in results] if isinstance(results, (tuple, list)) else [np.asarray(results)]


def _margin(expected: Array) -> float:
    finite = np.abs(expected[np.isfinite(expected)]) if expected.dtype.kind == "f" else expected
    return OF_LARGEST * float(finite.max(initial=0))
