"""A request: the slots, buffers and variables of one run after another of a plan."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from math import inf
from typing import Any, Protocol

import numpy as np

from irexec.diagnostics import IRError
from irexec.engine.errors import failure, wrong_result
from irexec.engine.plan import BOUND, Plan, Step
from irexec.engine.state import Variables
from irexec.graph.model import Node
from irexec.types import PartialShape, TensorType

Array = np.ndarray[Any, Any]
Expected = tuple[Any, Any]


class Listener(Protocol):
    """Told of every layer that runs, with its tensors. Arrays are shown, not given: they change after the call."""

    def before(self, node: Node, inputs: Sequence[Array | None]) -> None:
        """The layer is about to run on these inputs."""

    def after(self, node: Node, inputs: Sequence[Array | None], outputs: Sequence[Array], seconds: float) -> None:
        """The layer ran, in this time."""


class Runner:
    """Runs one plan; made once, run often. Bodies have runners of their own, which share the variables."""

    def __init__(self, plan: Plan, variables: Variables, listeners: list[Listener]) -> None:
        self.plan, self.variables, self.listeners = plan, variables, listeners
        self._calls: list[tuple[Any, ...]] | None = None
        self._constants = frozenset(id(array) for array in plan.template if array is not None)

    def _bind(self) -> list[tuple[Any, ...]]:
        """One tuple per step, all that its execution needs."""
        outs = self.plan.memory.allocate(self.plan.steps)
        calls = []
        for number, step in enumerate(self.plan.steps):
            call = self._bound(number, step) if step.operator.type in BOUND else step.call
            if number in outs:
                call = _into(call, outs[number])
            single = len(step.outputs) == 1 and not step.operator.outputs[0].variadic
            checks = tuple(
                _expected(dtype, shape, value.declared)
                for dtype, shape, value in zip(step.dtypes, step.shapes, step.node.outputs, strict=True)
            )
            outputs: Any = step.outputs[0] if single else step.outputs
            calls.append((call, step.inputs, single, outputs, checks[0] if single else checks, step.frees))
        return calls

    def _bound(self, number: int, step: Step) -> Callable[..., Any]:
        from irexec.engine.bodies import body_step

        if step.operator.type == "ReadValue":
            return self.variables.reader(step.node)
        if step.operator.type == "Assign":
            return self.variables.writer(step.node)
        runners = [Runner(plan, self.variables, self.listeners) for plan in self.plan.subplans[number]]
        return body_step(step.node, runners)

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """The results for these inputs, which fit the Parameters. Raises IRError."""
        if self._calls is None:
            self._calls = self._bind()
        slots = self.plan.template.copy()
        for slot, array in zip(self.plan.parameters, inputs, strict=True):
            slots[slot] = array
        if self.listeners:
            self._run_watched(slots)
        else:
            self._run(slots)
        held = (*inputs, *self.variables.values.values(), *self.variables.pending.values())
        return _owned([slots[slot] for slot in self.plan.results], held, self._constants)

    def _run(self, slots: list[Any]) -> None:
        assert self._calls is not None
        number = 0
        try:
            for number, (call, ins, single, outs, checks, frees) in enumerate(self._calls):
                result = call(*[slots[i] for i in ins])
                if single:
                    if result.__class__ is not np.ndarray:
                        result = np.asarray(result)
                    dtype, shape = checks
                    if result.dtype is not dtype or result.shape != shape:
                        self._verify(number, 0, result, dtype, shape)
                    slots[outs] = result
                else:
                    self._store(number, result, slots, outs, checks)
                for slot in frees:
                    slots[slot] = None
        except IRError:
            raise
        except Exception as error:
            step = self.plan.steps[number]
            raise IRError(failure(step.node, error, [slots[i] for i in step.inputs], self.plan.model.file)) from error

    def _run_watched(self, slots: list[Any]) -> None:
        """The same, one step at a time, telling the listeners."""
        assert self._calls is not None
        for number, (call, ins, single, outs, checks, frees) in enumerate(self._calls):
            step = self.plan.steps[number]
            inputs = [slots[i] for i in ins]
            for listener in self.listeners:
                listener.before(step.node, inputs)
            begin = time.perf_counter()
            try:
                result = call(*inputs)
            except IRError:
                raise
            except Exception as error:
                raise IRError(failure(step.node, error, inputs, self.plan.model.file)) from error
            seconds = time.perf_counter() - begin
            if single:
                outs, checks, result = (outs,), (checks,), (result,)
            self._store(number, result, slots, outs, checks)
            results = [slots[slot] for slot in outs]
            for listener in self.listeners:
                listener.after(step.node, inputs, results, seconds)
            for slot in frees:
                slots[slot] = None

    def _store(
        self, number: int, result: Any, slots: list[Any], outs: Sequence[int], checks: Sequence[Expected]
    ) -> None:
        """Put the results of a step with any number of outputs into their slots, verified. Raises IRError."""
        results = result if isinstance(result, (tuple, list)) else () if result is None else (result,)
        if len(results) < len(outs):
            node = self.plan.steps[number].node
            raise IRError(wrong_result(node, len(results), None, self.plan.model.file))
        for index, (slot, item, (dtype, shape)) in enumerate(zip(outs, results, checks, strict=False)):
            array = item if item.__class__ is np.ndarray else np.asarray(item)
            if array.dtype is not dtype or array.shape != shape:
                self._verify(number, index, array, dtype, shape)
            slots[slot] = array

    def _verify(self, number: int, index: int, result: Array, dtype: Any, shape: Any) -> None:
        """Raise IRError unless the result has its element type and a shape that the model allows."""
        if (dtype is None or result.dtype == dtype) and (shape is None or _fits(result.shape, shape)):
            return
        raise IRError(wrong_result(self.plan.steps[number].node, index, result, self.plan.model.file))


def _into(call: Callable[..., Any], out: Array) -> Callable[..., Any]:
    """The call with its buffer. What a kernel returns in place of the buffer is copied there.

    The memory plan reuses the buffers of inputs after this step: a result that was one of them would be overwritten.
    """

    def run(*inputs: Any) -> Array:
        result = call(*inputs, out=out)
        if result is not out:
            if result.shape != out.shape or result.dtype != out.dtype:
                wrong: Array = result
                return wrong
            np.copyto(out, result)
        return out

    return run


def _expected(dtype: Any, shape: Any, declared: TensorType | None) -> Expected:
    """What a result must be: a dtype, or None for any; a shape whose open extents are (least, most), or None for any.

    A static shape is then equal to that of a right result, which is all that the usual case compares.
    """
    known = PartialShape(shape) if isinstance(shape, tuple) else shape
    if declared is not None and declared.shape.rank is not None:
        known = declared.shape if known is None else known.merge(declared.shape) or known
    if known is None:
        return dtype, None
    return dtype, tuple(d.value if d.is_static else (d.min, inf if d.max is None else d.max) for d in known)


def _fits(shape: tuple[int, ...], expected: tuple[int | tuple[int, float], ...]) -> bool:
    if len(shape) != len(expected):
        return False
    for extent, wanted in zip(shape, expected, strict=True):
        if extent != wanted and (wanted.__class__ is int or not wanted[0] <= extent <= wanted[1]):  # type: ignore[index]
            return False
    return True


def _owned(results: Sequence[Array], held: Sequence[Any], constants: frozenset[int]) -> list[Array]:
    """The results as the caller's own: contiguous, and copied where they are memory that somebody else holds too.

    `held`: arrays of others; `constants`: the identities of the plan's own.
    """
    taken = {id(array) for array in held}
    own = []
    for array in results:
        held_too = array.base is not None or id(array) in taken or id(array) in constants
        if held_too or not array.flags.c_contiguous:
            array = array.copy(order="C")
        taken.add(id(array))
        own.append(array)
    return own
