"""A back end that checks itself: every lowered layer is also computed by the kernels, and the results are compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from irexec.core.types import Array
from irexec.ops.compute.precision import is_narrow, widen
from irexec.ops.spec.operator import Operator
from irexec.ops.spec.traits import Quantization
from irexec.runtime.engine.lowered import Call, Program
from irexec.runtime.engine.plan import Plan
from irexec.runtime.lowering.backend import Backend, Mode
from irexec.runtime.lowering.fusion import Group

# The error allowed for an element, relative to the element itself, and relative to the largest element.
RELATIVE, OF_LARGEST = 1e-3, 1e-5
# The allowed errors for f16 and bf16, whose results are rounded after each layer.
NARROW_RELATIVE, NARROW_OF_LARGEST = 2.0**-6, 2.0**-7
# Numbers below the smallest normal number of f32 have fewer digits.
SMALLEST = 2.0**-126
# The share of elements that may differ after a FakeQuantize, where a rounding error may change the level.
OTHER_LEVEL = 0.01


class WrongResult(AssertionError):
    """Raised if compiled code and the kernels compute different results."""


class CheckedBackend(Backend):
    """Lowers a model immediately, and raises WrongResult in the first layer whose result is not that of its kernel.

    The engine reports WrongResult as a failure of the layer (IRError). Each layer is called from Python, so that it is
    checked in every run. Runs take longer than with kernels alone: this class is for tests and for debugging.
    """

    def __init__(self) -> None:
        super().__init__(Mode.AT_ONCE)

    def program(self, plan: Plan, calls: Sequence[Call], outs: Mapping[int, Array]) -> Program:
        entries = list(calls)
        for number, group in self.groups(plan).items():
            call, *rest = calls[number]
            frees = rest[-1]
            for absorbed in group.absorbed:
                # The absorbed steps compute nothing; the inputs are freed after the group, which reads them later.
                step, (_, *own, dead) = plan.steps[absorbed], entries[absorbed]
                nothing = outs[absorbed] if absorbed in outs else np.empty(step.shape or (), step.dtype)
                entries[absorbed], frees = (partial(_given, nothing), *own, ()), (*frees, *dead)
            entries[number] = (_checked(plan, group, call), *rest[:-1], frees)
            for following in group.following:
                _, *rest = calls[following]
                entries[following] = (partial(_given, outs[following]), *rest)
        return Program(plan.template, entries, range(len(entries)))


def _given(result: Array, *inputs: Any) -> Array:
    """Return `result`: the call of a step whose result an earlier group has computed."""
    return result


def _checked(plan: Plan, group: Group, call: Callable[..., Any]) -> Callable[..., Any]:
    """Return the call of a group that compares its result with that of the kernels."""
    first, last = group.begin, max((group.first, *group.following))
    operators = [step.operator for step in plan.steps[first : last + 1]]
    slots = group.slots(plan.steps)

    def run(*inputs: Any) -> Any:
        # The call may write its result into the memory of an input.
        known = {slot: None if array is None else array.copy() for slot, array in zip(slots, inputs, strict=True)}
        found = call(*inputs)
        expected = _ByKernels(plan, first, last, known).results()
        for one, other in zip(_listed(found), expected, strict=False):
            _compare(one.reshape(other.shape), other, operators)
        return found

    return run


def _compare(found: Array, expected: Array, operators: list[Operator]) -> None:
    """Raise WrongResult if compiled code's result `found` differs from the kernels' by more than rounding."""
    relative, of_largest = RELATIVE, OF_LARGEST
    types = [operator.type for operator in operators]
    if "DynamicQuantizeLSTM" in types:
        # The states of this operator are rounded to 8-bit levels in each step.
        relative, of_largest = NARROW_RELATIVE, NARROW_OF_LARGEST
    if is_narrow(expected.dtype):
        relative, of_largest = NARROW_RELATIVE, NARROW_OF_LARGEST
        found, expected = widen(found), widen(expected)
    allowed = max(of_largest * _largest(expected), SMALLEST)
    differs = ~np.isclose(found, expected, relative, allowed, equal_nan=True)
    share = float(np.mean(differs)) if expected.size else 0.0
    if share > (OTHER_LEVEL if any(Quantization in operator.traits for operator in operators) else 0):
        message = f"compiled code of {', '.join(types)}: {share:.1%} of the elements differ from the kernels'"
        raise WrongResult(message)


class _ByKernels:
    """Runs the steps of a group by their kernels, from known values of slots."""

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


def _largest(expected: Array) -> float:
    finite = np.abs(expected[np.isfinite(expected)]) if expected.dtype.kind == "f" else expected
    return float(finite.max(initial=0))
