"""The runner: executes a plan repeatedly on the same slots and buffers and verifies every result."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from irexec.diagnostics import IRError
from irexec.diagnostics.deadline import watched
from irexec.engine.checking import checked
from irexec.engine.errors import failure, too_large, wrong_result
from irexec.engine.fusion import FusedGroup, Leading, unless_fused
from irexec.engine.plan import Plan
from irexec.engine.state import Variables
from irexec.engine.step import Step
from irexec.graph.model import Model, Node, Value
from irexec.ir.memory import no_collection
from irexec.native import has_begun
from irexec.native.capture import did_uncaptured_work
from irexec.ops.declare.operator import ConstraintError
from irexec.types import F32, Array, PartialShape, TensorType

if TYPE_CHECKING:
    from irexec.engine.replay import Program

Expected = tuple[Any, Any]
# The number of the first run to be recorded, counted from the time that compiled code is available. Recording is
# repeated each time the number of runs has doubled, because more kernels may be compiled by then.
FIRST_RECORDED = 4


class Listener(Protocol):
    """Called for every layer that runs, with its tensors. Copy arrays to keep them: the plan reuses their memory."""

    def before(self, node: Node, inputs: Sequence[Array | None]) -> None:
        """The layer is about to run on these inputs."""

    def after(self, node: Node, inputs: Sequence[Array | None], outputs: Sequence[Array], seconds: float) -> None:
        """The layer ran and took this time."""


class Runner:
    """Runs one plan repeatedly, in one thread at a time. Bodies have their own runners, which share the variables."""

    def __init__(self, plan: Plan, variables: Variables, listeners: Sequence[Listener]) -> None:
        self.plan, self.variables, self.listeners = plan, variables, listeners
        self._calls: list[tuple[Any, ...]] | None = None
        self._runs = 0
        self._program: Program | None = None
        self._outs: dict[int, Array] = {}
        self._leads = False

    @no_collection()
    def _bind(self) -> list[tuple[Any, ...]]:
        """Return one tuple per step with everything that its execution needs."""
        outs = self._outs = self._buffers()
        known: dict[TensorType, Expected] = {}
        calls = []
        for number, step in enumerate(self.plan.steps):
            call = self._bound(number, step) if step.operator.is_run_by_engine else step.call
            if number in outs:
                call = _into(call, outs[number])
            if not step.is_sure and step.operator.rule is not None:
                call = checked(call, step.node, step.given, self.plan.model)
            single = len(step.outputs) == 1 and not step.operator.outputs[0].variadic
            pairs = zip(step.types, step.node.outputs, strict=True)
            checks = tuple([_expected(type, value, self.plan.model, known) for type, value in pairs])
            outputs: Any = step.outputs[0] if single else step.outputs
            calls.append((call, step.inputs, single, outputs, checks[0] if single else checks, step.frees))
        return calls

    def _led(self, calls: list[tuple[Any, ...]], groups: list[FusedGroup]) -> list[tuple[Any, ...]]:
        """Return the calls, with the first steps of groups leading the others."""
        calls = calls.copy()
        for group in groups:
            leading = Leading(group, self._outs[group.first])
            _, inputs, *rest = calls[group.first]
            calls[group.first] = (leading, (*inputs, *group.operands), *rest)
            for number in group.following:
                call, *rest = calls[number]
                calls[number] = (unless_fused(leading, call, self._outs[number]), *rest)
        self._leads = True
        return calls

    def _buffers(self) -> dict[int, Array]:
        """Return the memory of each step with a buffer in the plan. Raises IRError if there is not enough memory."""
        try:
            return self.plan.memory.allocate(self.plan.steps)
        except MemoryError as error:
            step = self.plan.steps[self.plan.memory.largest()]
            raise IRError(too_large(step.node, error, self.plan.model)) from error

    def _bound(self, number: int, step: Step) -> Callable[..., Any]:
        if step.operator.type == "ReadValue":
            return self.variables.reader(step.node)
        if step.operator.type == "Assign":
            return self.variables.writer(step.node)
        from irexec.engine.bodies import body_step

        runners = [Runner(plan, self.variables, self.listeners) for plan in self.plan.subplans[number]]
        return body_step(step.node, [runner.iterate for runner in runners], self.plan.inference)

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """Return the results, in separate memory, for inputs that match the Parameters. Raises IRError."""
        if self._calls is None:
            self._calls = self._bind()
        if not self._leads and (groups := self.plan.fusion.when_run()) is not None:
            self._calls = self._led(self._calls, groups)
        # Compiled code called by a body is captured for the body's own runs only, not for the layer that contains it.
        did_uncaptured_work()
        is_recorded = self._is_recorded()
        program = None if is_recorded or self.listeners else self._program
        template, calls, numbers = program or (self.plan.template, self._calls, range(len(self._calls)))
        slots = template.copy()
        for slot, array in zip(self.plan.parameters, inputs, strict=True):
            slots[slot] = array
        if self.listeners:
            self._run_watched(slots)
        elif is_recorded:
            self._record(slots)
        else:
            self._run(slots, calls, numbers)
        held = [*inputs, *self.variables.values.values(), *self.variables.pending.values()]
        try:
            return _owned([slots[slot] for slot in self.plan.results], self.plan.lent, held)
        except MemoryError as error:
            arrays = [slots[slot] for slot in self.plan.results]
            largest = max(range(len(arrays)), key=lambda index: arrays[index].nbytes)
            raise IRError(too_large(self.plan.model.results[largest], error, self.plan.model)) from error

    def _is_recorded(self) -> bool:
        """Whether the next run is to be recorded."""
        if not has_begun():
            return False
        self._runs += 1
        return self._runs >= FIRST_RECORDED and self._runs & (self._runs - 1) == 0

    def iterate(self, inputs: Sequence[Array]) -> list[Array]:
        """Like `run`, for a body: assigned values are visible in the next iteration.

        Raises ConstraintError if a used Parameter receives no value, or if a Result has no value.
        """
        if (idle := next((node for node in self.plan.model.results if node.inputs[0] is None), None)) is not None:
            raise ConstraintError("outputs", f"{idle.ref} of a body receives no value")
        for slot, node, array in zip(self.plan.parameters, self.plan.model.parameters, inputs, strict=True):
            if array is None and (slot in self.plan.results or any(slot in step.inputs for step in self.plan.steps)):
                raise ConstraintError("inputs", f"{node.ref} of a body receives no value")
        results = self.run(inputs)
        self.variables.commit()
        return results

    def _run(self, slots: list[Any], calls: list[tuple[Any, ...]], numbers: Sequence[int]) -> None:
        """Execute the calls of the steps with these numbers."""
        number = 0
        try:
            for number, (call, ins, single, outs, checks, frees) in enumerate(self._watched(calls, numbers)):
                result = call(*[slots[i] for i in ins])
                if single:
                    if result.__class__ is not np.ndarray:
                        result = np.asarray(result)
                    dtype, shape = checks
                    if result.dtype is not dtype or result.shape != shape:
                        self._verify(numbers[number], 0, result, dtype, shape)
                    slots[outs] = result
                else:
                    self._store(numbers[number], result, slots, outs, checks)
                for slot in frees:
                    slots[slot] = None
        except IRError:
            raise
        except Exception as error:
            step = self.plan.steps[numbers[number]]
            raise IRError(failure(step.node, error, [slots[i] for i in step.inputs], self.plan.model)) from error

    def _watched(self, calls: list[tuple[Any, ...]], numbers: Sequence[int]) -> Iterable[tuple[Any, ...]]:
        return watched(calls, "running", of=lambda number, _: self.plan.steps[numbers[number]].node)

    def _record(self, slots: list[Any]) -> None:
        """Run the steps one at a time and record the work that later runs can do without Python."""
        from irexec.engine.replay import Recorder

        assert self._calls is not None
        recorder = Recorder(self.plan)
        for number, call in enumerate(self._calls):
            *bound, frees = call
            inputs = [slots[slot] for slot in call[1]]
            with recorder.capturing() as taken:
                self._run(slots, [(*bound, ())], (number,))
            recorder.add(number, call, inputs, taken, slots)
            for slot in frees:
                slots[slot] = None
        self._program = recorder.program()

    def _run_watched(self, slots: list[Any]) -> None:
        """Run the steps one at a time and call the listeners."""
        assert self._calls is not None
        calls = self._watched(self._calls, range(len(self._calls)))
        for number, (call, ins, single, outs, checks, frees) in enumerate(calls):
            step = self.plan.steps[number]
            inputs = [_declared(slots[i], step, port) for port, i in enumerate(ins)]
            for listener in self.listeners:
                listener.before(step.node, inputs)
            begin = time.perf_counter()
            try:
                result = call(*inputs)
            except IRError:
                raise
            except Exception as error:
                raise IRError(failure(step.node, error, inputs, self.plan.model)) from error
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
        """Verify the results of a step with any number of outputs and store them in their slots. Raises IRError."""
        results = result if isinstance(result, (tuple, list)) else () if result is None else (result,)
        if len(results) < len(outs):
            self._wrong(number, len(results), None)
        for index, (slot, item, (dtype, shape)) in enumerate(zip(outs, results, checks, strict=False)):
            array = item if item.__class__ is np.ndarray else np.asarray(item)
            if array.dtype is not dtype or array.shape != shape:
                self._verify(number, index, array, dtype, shape)
            slots[slot] = array

    def _verify(self, number: int, index: int, result: Array, dtype: Any, shape: Any) -> None:
        """Raise IRError unless the result has the expected element type and a shape that the model allows."""
        if not (dtype is None or result.dtype == dtype) or not (shape is None or _fits(result.shape, shape)):
            self._wrong(number, index, result)

    def _wrong(self, number: int, index: int, result: Array | None) -> None:
        step, model = self.plan.steps[number], self.plan.model
        raise IRError(wrong_result(step.node, index, step.types[index], result, model))


def _declared(array: Any, step: Step, port: int) -> Any:
    """Return an input as shown to listeners: converted to the declared f32 if the kernel uses it as f16."""
    type = step.given[port] if step.operator.narrow and port < len(step.given) else None
    if type is None or type.element_type is not F32 or array is None or array.dtype == np.float32:
        return array
    return array.astype(np.float32)


def _into(call: Callable[..., Any], out: Array) -> Callable[..., Any]:
    """Return the call with `out` bound to its buffer. A result in another array is copied into the buffer.

    Such a result could be an input of the step, whose buffer is reused afterwards.
    """

    def run(*inputs: Any) -> Array:
        result = call(*inputs, out=out)
        if result is not out:
            if result.shape != out.shape or result.dtype != out.dtype:
                wrong: Array = result
                return wrong
            did_uncaptured_work()
            np.copyto(out, result)
        return out

    return run


def _expected(type: TensorType, value: Value, model: Model, known: dict[TensorType, Expected]) -> Expected:
    """Return the dtype that a result must have (None: any) and its shape, with (least, most) for open extents (None:
    any).

    The usual check is then one comparison: a static shape equals the shape of a correct result. `known`: the answers so
    far by type, for types that determine the answer.
    """
    declared = value.declared.shape if value.declared is not None and model.keeps_declared else None
    if declared is not None and declared.rank is not None:
        shape = declared if type.rank is None else type.shape.merge(declared) or declared
        return type.element_type.dtype, _allowed(shape)
    if (found := known.get(type)) is None:
        found = known[type] = type.element_type.dtype, None if type.rank is None else _allowed(type.shape)
    return found


def _allowed(shape: PartialShape) -> tuple[Any, ...]:
    return tuple([d.value if d.is_static else (d.min, inf if d.max is None else d.max) for d in shape])


def _fits(shape: tuple[int, ...], expected: tuple[int | tuple[int, float], ...]) -> bool:
    if len(shape) != len(expected):
        return False
    for extent, wanted in zip(shape, expected, strict=True):
        if extent != wanted and (wanted.__class__ is int or not wanted[0] <= extent <= wanted[1]):  # type: ignore[index]
            return False
    return True


def _owned(results: Sequence[Array], lent: Sequence[frozenset[int] | None], held: Sequence[Any]) -> list[Array]:
    """Return the results as contiguous, writable arrays that share memory with no other array; they are copied where
    needed.

    `lent` lists, for each result, the constants that it may share memory with; `held` are the other arrays of this run.
    """
    own: list[Array] = []
    taken = set(map(id, held))
    for array, constants in zip(results, lent, strict=True):
        is_shared = constants is not None and (array.base is not None or id(array) in taken or id(array) in constants)
        # A kernel's broadcast view is read-only, whatever array owns the memory.
        if is_shared or not (array.flags.c_contiguous and array.flags.writeable):
            array = array.copy(order="C")
        own.append(array)
        taken.add(id(array))
    return own
