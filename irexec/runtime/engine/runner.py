"""The runner: executes a plan repeatedly on the same slots and buffers and verifies every result."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import inf
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from irexec.core.collector import no_collection
from irexec.core.diagnostics import IRError
from irexec.core.diagnostics.deadline import watched
from irexec.core.structure import ASSIGN, READ_VALUE
from irexec.core.types import F32, Array, PartialShape, TensorType
from irexec.model.graph.model import Model, Node, Value
from irexec.ops.spec.operator import ConstraintError
from irexec.runtime.engine.checking import Rules
from irexec.runtime.engine.constants import Packed
from irexec.runtime.engine.errors import failure, too_large, wrong_result
from irexec.runtime.engine.lowered import Backend, Call, Program, Replacements
from irexec.runtime.engine.plan import Plan
from irexec.runtime.engine.state import Variables
from irexec.runtime.engine.step import Step

Expected = tuple[Any, Any]
Slots = list[Any] | dict[int, Any]
Moves = Mapping[Value, Array | Callable[[Array], Array]]
"""Values that are changed: what takes their place, or a function of the value that computes it."""


class Listener(Protocol):
    """Called for every layer that runs, with its tensors. Copy arrays to keep them: the plan reuses their memory."""

    def before(self, node: Node, inputs: Sequence[Array | None]) -> None:
        """Handle a layer that is about to run on these inputs."""

    def after(self, node: Node, inputs: Sequence[Array | None], outputs: Sequence[Array], seconds: float) -> None:
        """Handle a layer that has run. `seconds`: its duration."""


class Known(Protocol):
    """Values of an earlier run."""

    def __getitem__(self, value: Value) -> Array:
        """Return the array of a value."""


def moved(moves: Moves, value: Value, array: Array) -> Array:
    """Return what takes the place of a value."""
    move = moves.get(value)
    return array if move is None else move(array) if callable(move) else move


class Runner:
    """Runs one plan repeatedly, in one thread at a time. Bodies have their own runners, which share the variables and
    the rules.

    Runs use the kernels unless lowering by `backend` is requested. `listeners` observe runs of the kernels, in which
    the values in `moves` are changed.
    """

    def __init__(
        self,
        plan: Plan,
        variables: Variables,
        listeners: Sequence[Listener],
        backend: Backend | None = None,
        moves: Moves = MappingProxyType({}),
        rules: Rules | None = None,
    ) -> None:
        self.plan, self.variables, self.listeners, self.backend = plan, variables, listeners, backend
        self.moves, self.rules = moves, Rules() if rules is None else rules
        self._bodies: dict[int, list[Runner]] = {}
        self._outs: dict[int, Array] | None = None
        self._plain: Program | None = None
        self._program: Program | None = None
        self._is_lowered = False
        self._idle = next((node for node in plan.model.results if node.inputs[0] is None), None)

    @no_collection()
    def _bind(self, outs: dict[int, Array], instead: Replacements) -> list[Call]:
        """Return the call of each step with everything that its execution needs; `instead` replaces kernels."""
        known: dict[TensorType, Expected] = {}
        calls: list[Call] = []
        for number, step in enumerate(self.plan.steps):
            call, inputs = instead.get(number, (step.call, step.inputs))
            if step.operator.is_run_by_engine:
                call = self._bound(number, step)
            if number in self.plan.growing:
                call = self._renewing(number, step)
            if number in outs:
                call = _into(call, outs[number])
            if not step.is_sure and step.operator.rule is not None:
                call = self.rules.checked(call, step.node, step.given, self.plan.model)
            single = len(step.outputs) == 1 and not step.operator.outputs[0].variadic
            pairs = zip(step.types, step.node.outputs, strict=True)
            checks = tuple([_expected(type, value, self.plan.model, known) for type, value in pairs])
            outputs: Any = step.outputs[0] if single else step.outputs
            calls.append((call, inputs, single, outputs, checks[0] if single else checks, step.frees))
        for number, growth in self.plan.growing.items():
            from irexec.runtime.engine.growing import appending

            variables = self.variables
            gather = None if growth.gather is None else self._alone(growth.gather, calls)
            concat, assign = self._alone(number, calls), self._alone(growth.assign, calls)
            append = appending(variables.buffers, variables.pending, growth.name, gather, concat, assign)
            calls[number] = append, growth.inputs, *calls[number][2:]
        return calls

    def _alone(self, number: int, calls: Sequence[Call]) -> Callable[..., Any]:
        """Return a function that runs one step with all its checks, and returns its result."""
        call = calls[number]

        def run(*inputs: Any) -> Any:
            slots = dict(zip(call[1], inputs, strict=True))
            self._run(slots, [call], [number])
            return slots[call[3]]

        return run

    def _buffers(self) -> dict[int, Array]:
        """Return the memory of each step with a buffer in the plan. Raises IRError if there is not enough memory."""
        try:
            self._outs = self._outs or self.plan.memory.allocate(self.plan.steps)
        except MemoryError as error:
            step = self.plan.steps[self.plan.memory.largest()]
            raise IRError(too_large(step.node, error, self.plan.model)) from error
        return self._outs

    def _bound(self, number: int, step: Step) -> Callable[..., Any]:
        if step.operator.type == READ_VALUE:
            return self.variables.reader(step.node)
        if step.operator.type == ASSIGN:
            return self.variables.writer(step.node)
        from irexec.runtime.engine.bodies import body_step

        if (runners := self._bodies.get(number)) is None:
            plans = self.plan.subplans[number]
            shared = self.variables, self.listeners, self.backend, self.moves, self.rules
            runners = [Runner(plan, *shared) for plan in plans]
            self._bodies[number] = runners
            for runner in runners:
                runner._is_lowered = self._is_lowered
        return body_step(step.node, [runner.iterate for runner in runners], self.plan.inference)

    def _renewing(self, number: int, step: Step) -> Callable[..., Any]:
        """Return the call of a Concat that makes a buffer of a variable."""
        from irexec.runtime.engine.growing import renewing

        return renewing(self.variables.buffers, self.plan.growing[number].name, step.node.attributes["axis"], step.call)

    def run(self, inputs: Sequence[Array], *, lowered: bool = False) -> list[Array]:
        """Return the results, in separate memory, for inputs that match the Parameters. Raises IRError."""
        self._mark(lowered and not self.listeners)
        return self._results(inputs)

    def resume(self, inputs: Sequence[Array], known: Known, nodes: Collection[Node]) -> list[Array]:
        """Return the results if only these layers run, and all other values are `known`. Raises IRError."""
        template, calls, _ = self._kernels()
        slots = template.copy()
        for slot, array in zip(self.plan.parameters, inputs, strict=True):
            slots[slot] = array
        numbers = [number for number, step in enumerate(self.plan.steps) if step.node in nodes]
        self._run_watched(slots, [calls[number] for number in numbers], numbers, known)
        values = [result.inputs[0] for result in self.plan.model.results]
        made = [
            known[value] if slots[slot] is None and value is not None else slots[slot]
            for slot, value in zip(self.plan.results, values, strict=True)
        ]
        return [array.copy() for array in made]

    def _results(self, inputs: Sequence[Array]) -> list[Array]:
        """Return the results of `run`, by compiled code if the run of the outer plan uses it, otherwise by kernels."""
        template, calls, numbers = self._lowered() if self._is_lowered else self._kernels()
        slots = template.copy()
        for slot, array in zip(self.plan.parameters, inputs, strict=True):
            if (memory := slots[slot]) is None:
                slots[slot] = array
            elif array is not None:
                # For small arrays this takes a quarter of the time of np.copyto.
                memory[...] = array
        if self.listeners:
            self._run_watched(slots, calls, range(len(calls)))
        else:
            self._run(slots, calls, numbers)
        given = [slots[slot] for slot in self.plan.parameters]
        held = [*given, *inputs, *self.variables.values.values(), *self.variables.pending.values()]
        try:
            return _owned([slots[slot] for slot in self.plan.results], self.plan.lent, held)
        except MemoryError as error:
            arrays = [slots[slot] for slot in self.plan.results]
            largest = max(range(len(arrays)), key=lambda index: arrays[index].nbytes)
            value = self.plan.model.results[largest].inputs[0]
            assert value is not None
            raise IRError(too_large(value.node, error, self.plan.model)) from error

    def _mark(self, is_lowered: bool) -> None:
        """Set whether this run is lowered; the bodies run in the same way."""
        self._is_lowered = is_lowered
        for runners in self._bodies.values():
            for runner in runners:
                runner._mark(is_lowered)

    def _kernels(self) -> Program:
        """Return the program of the kernels: every step is a call."""
        if self._plain is None:
            calls = self._bind(self._buffers(), {})
            numbers = [number for number in range(len(calls)) if number not in self.plan.included]
            self._plain = Program(self.plan.template, [calls[number] for number in numbers], numbers)
        return self._plain

    def _lowered(self) -> Program:
        """Return the program to which the back end lowers the plan."""
        if self._program is None:
            assert self.backend is not None
            outs = self._buffers()
            calls = self._bind(outs, self.backend.replacements(self.plan))
            self._program = self.backend.program(self.plan, calls, outs)
        return self._program

    def iterate(self, inputs: Sequence[Array]) -> list[Array]:
        """Run a body, as `run` does for a model: assigned values are visible in the next iteration.

        Raises ConstraintError if a used Parameter receives no value, or if a Result has no value.
        """
        if self._idle is not None:
            raise ConstraintError("outputs", f"{self._idle.ref} of a body receives no value")
        for place in [place for place, array in enumerate(inputs) if array is None]:
            slot, node = self.plan.parameters[place], self.plan.model.parameters[place]
            if slot in self.plan.results or any(slot in step.inputs for step in self.plan.steps):
                raise ConstraintError("inputs", f"{node.ref} of a body receives no value")
        results = self._results(inputs)
        if self.variables.pending:
            self.variables.commit()
        return results

    def _run(self, slots: Slots, calls: Sequence[Call], numbers: Sequence[int]) -> None:
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
                elif outs:
                    self._store(numbers[number], result, slots, outs, checks)
                for slot in frees:
                    slots[slot] = None
        except IRError:
            raise
        except Exception as error:
            step = self.plan.steps[numbers[number]]
            # The inputs of a call that computes several steps are not the inputs of this step.
            own = step.inputs if calls[number][1][: len(step.inputs)] == step.inputs else ()
            raise IRError(failure(step.node, error, [slots[i] for i in own], self.plan.model)) from error

    def _watched(self, calls: Sequence[Call], numbers: Sequence[int]) -> Iterable[Call]:
        return watched(calls, "running", of=lambda number, _: self.plan.steps[numbers[number]].node)

    def _run_watched(
        self, slots: list[Any], calls: Sequence[Call], numbers: Sequence[int], known: Known | None = None
    ) -> None:
        """Run the steps one at a time, call the listeners, and change values. `known`: values that no step computes."""
        for place, (call, ins, single, outs, checks, frees) in enumerate(self._watched(calls, numbers)):
            step = self.plan.steps[numbers[place]]
            lacking = [(i, v) for i, v in zip(ins, step.node.inputs, strict=True) if known and i and slots[i] is None]
            for slot, value in lacking:
                slots[slot] = known[value]  # type: ignore[index]
            inputs = [_declared(slots[i], step, port) for port, i in enumerate(ins)]
            for listener in self.listeners:
                listener.before(step.node, inputs)
            begin = time.perf_counter()
            try:
                result = call(*[slots[i] for i in ins])
            except IRError:
                raise
            except Exception as error:
                raise IRError(failure(step.node, error, inputs, self.plan.model)) from error
            seconds = time.perf_counter() - begin
            if single:
                outs, checks, result = (outs,), (checks,), (result,)
            self._store(numbers[place], result, slots, outs, checks)
            changed = [value in self.moves for value in step.node.outputs] if self.moves else ()
            if any(changed):
                results = [moved(self.moves, v, slots[slot]) for v, slot in zip(step.node.outputs, outs, strict=True)]
                self._store(numbers[place], results, slots, outs, checks)
            results = [slots[slot] for slot in outs]
            for listener in self.listeners:
                listener.after(step.node, inputs, results, seconds)
            for slot in (*frees, *(slot for slot, _ in lacking)):
                slots[slot] = None

    def _store(self, number: int, result: Any, slots: Slots, outs: Sequence[int], checks: Sequence[Expected]) -> None:
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
    """Return an input as shown to listeners: unpacked, and in the declared f32 if the kernel uses it as f16."""
    if isinstance(array, Packed):
        return array.unpacked()
    type = step.given[port] if step.operator.as_stored and port < len(step.given) else None
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
            np.copyto(out, result)
        return out

    return run


def _expected(type: TensorType, value: Value, model: Model, known: dict[TensorType, Expected]) -> Expected:
    """Return the dtype that a result must have (None: any) and its shape, with (least, most) for dynamic extents (None:
    any).

    The usual check is then one comparison: a static shape equals the shape of a correct result. `known`: cache of the
    return values by type, if the type alone determines them.
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

    `lent` lists, for each result, the constants that it may share memory with; `held` are all other arrays of this run.
    """
    own: list[Array] = []
    for array, constants in zip(results, lent, strict=True):
        is_shared = constants is not None and (
            array.base is not None or id(array) in constants or any(array is other for other in (*held, *own))
        )
        # A kernel's broadcast view is read-only, whatever array owns the memory.
        if is_shared or not ((flags := array.flags).c_contiguous and flags.writeable):
            array = array.copy(order="C")
        own.append(array)
    return own
