"""A request: the slots, buffers and variables of one run after another of a plan."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np

from irexec.diagnostics import IRError
from irexec.engine.errors import failure, wrong_result
from irexec.engine.plan import BOUND, Plan, Step
from irexec.engine.state import Variables
from irexec.graph.model import Node
from irexec.types import PartialShape

Array = np.ndarray[Any, Any]


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

    def _bind(self) -> list[tuple[Any, ...]]:
        """One tuple per step, all that its execution needs."""
        outs = self.plan.memory.allocate(self.plan.steps)
        calls = []
        for number, step in enumerate(self.plan.steps):
            call = self._bound(number, step) if step.operator.type in BOUND else step.call
            if number in outs:
                call = partial(call, out=outs[number])
            single = len(step.outputs) == 1 and not step.operator.outputs[0].variadic
            outputs: Any = step.outputs[0] if single else step.outputs
            dtypes: Any = step.dtypes[0] if single else step.dtypes
            shapes: Any = step.shapes[0] if single else step.shapes
            calls.append((call, step.inputs, single, outputs, dtypes, shapes, step.frees))
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
        held = (*inputs, *self.plan.template, *self.variables.values.values(), *self.variables.pending.values())
        return _owned([slots[slot] for slot in self.plan.results], held)

    def _run(self, slots: list[Any]) -> None:
        assert self._calls is not None
        number = 0
        try:
            for number, (call, ins, single, outs, dtypes, shapes, frees) in enumerate(self._calls):
                result = call(*[slots[i] for i in ins])
                if single:
                    if result.__class__ is not np.ndarray:
                        result = np.asarray(result)
                    if result.shape != shapes or result.dtype is not dtypes:
                        self._verify(number, (result,), (dtypes,), (shapes,))
                    slots[outs] = result
                else:
                    if result is None or isinstance(result, np.ndarray):
                        result = () if result is None else (result,)
                    self._verify(number, result, dtypes, shapes)
                    for slot, item in zip(outs, result, strict=False):
                        slots[slot] = item
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
        for number, (call, ins, *_, frees) in enumerate(self._calls):
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
            results = [np.asarray(r) for r in (result if isinstance(result, (tuple, list)) else (result,))]
            self._verify(number, results, step.dtypes, step.shapes)
            for slot, item in zip(step.outputs, results, strict=False):
                slots[slot] = item
            for listener in self.listeners:
                listener.after(step.node, inputs, results, seconds)
            for slot in frees:
                slots[slot] = None

    def _verify(self, number: int, results: Sequence[Any], dtypes: Sequence[Any], shapes: Sequence[Any]) -> None:
        """Raise IRError unless each result has its element type and a shape that the model allows."""
        node = self.plan.steps[number].node
        for index, (result, dtype, shape) in enumerate(zip(results, dtypes, shapes, strict=False)):
            fits = dtype is None or result.dtype == dtype
            if isinstance(shape, PartialShape):
                fits = fits and shape.accepts(result.shape)
            elif shape is not None:
                fits = fits and result.shape == shape
            declared = node.outputs[index].declared
            if fits and declared is not None:
                fits = declared.shape.accepts(result.shape)
            if not fits:
                raise IRError(wrong_result(node, index, result, self.plan.model.file))


def _owned(results: Sequence[Array], held: Sequence[Any]) -> list[Array]:
    """The results as the caller's own: contiguous, and copied where they are memory that somebody else holds too."""
    taken = {id(array) for array in held}
    own = []
    for array in results:
        if array.base is not None or id(array) in taken or not array.flags.c_contiguous:
            array = array.copy(order="C")
        taken.add(id(array))
        own.append(array)
    return own
