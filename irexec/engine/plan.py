"""The plan: a model compiled once into a flat list of steps over numbered slots."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from irexec.diagnostics import IRError
from irexec.engine.errors import failure
from irexec.engine.memory import MemoryPlan, plan_memory
from irexec.graph.model import Model, Node, Value
from irexec.inference.propagate import as_list
from irexec.ir.reader import no_collection
from irexec.ops.declare.operator import NodeTypes, Operator
from irexec.types import PartialShape, TensorType, UnknownRank

Array = np.ndarray[Any, Any]
Call = Callable[..., Any]

# Operators whose step belongs to a request: it holds their state or runs their bodies.
BOUND = frozenset({"ReadValue", "Assign", "If", "Loop", "TensorIterator"})
# A constant that unfolds to much more than it came from is computed anew instead of being kept.
_MAX_UNFOLDING = 1 << 26


@dataclass(slots=True)
class Step:
    """One layer of the plan. Slot 0 always holds None, for inputs that are not connected."""

    node: Node
    operator: Operator
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    call: Call
    takes_out: bool
    dtypes: tuple[np.dtype[Any] | None, ...]
    shapes: tuple[tuple[int, ...] | PartialShape | None, ...]
    frees: tuple[int, ...] = ()


@dataclass(slots=True)
class Plan:
    """Steps in order, the slots they use, and where inputs, outputs and constants stand."""

    model: Model
    steps: list[Step]
    template: list[Any]
    parameters: list[int]
    results: list[int]
    memory: MemoryPlan
    keep: frozenset[int] = frozenset()
    subplans: dict[int, list[Plan]] = field(default_factory=dict)


@no_collection()
def make_plan(model: Model) -> Plan:
    """Compile a model whose types are inferred. Raises IRError when a constant subgraph breaks a constraint."""
    return _Planner(model).plan()


class _Planner:
    def __init__(self, model: Model) -> None:
        self.model = model
        self.template: list[Any] = [None]
        self.slots: dict[Value, int] = {}
        self.constant: set[int] = {0}
        self.read = {value for node in model.nodes for value in node.inputs}

    def plan(self) -> Plan:
        parameters = [self._slot(p.outputs[0]) for p in self.model.parameters]
        steps: list[Step] = []
        subplans: dict[int, list[Plan]] = {}
        for node in self.model.nodes:
            if node.type == "Parameter":
                continue
            if node.constant is not None:
                self._set_constant(self._slot(node.outputs[0]), node.constant)
            elif node.type == "Result":
                self._alias(node)
            elif all(map(_is_known, node.outputs)) and node.type not in BOUND:
                for value in node.outputs:
                    self._set_constant(self._slot(value), value.type.value)
            else:
                step = self._step(node)
                if not self._fold(step):
                    if node.bodies:
                        subplans[len(steps)] = [make_plan(body.model) for body in node.bodies]
                    steps.append(step)
        results = [self.slots[r.outputs[0]] for r in self.model.results]
        self._free_after_last_use(steps, results)
        self._drop_unused_constants(steps, results)
        assigned = {s for step in steps if step.operator.type == "Assign" for s in step.inputs}
        memory = plan_memory(steps, frozenset(results) | assigned, frozenset(parameters) | self.constant)
        return Plan(self.model, steps, self.template, parameters, results, memory, frozenset(results), subplans)

    def _slot(self, value: Value | None) -> int:
        if value is None:
            return 0
        if value not in self.slots:
            self.slots[value] = len(self.template)
            self.template.append(None)
        return self.slots[value]

    def _alias(self, result: Node) -> None:
        """A Result is its input: it needs no step."""
        self.slots[result.outputs[0]] = self._slot(result.inputs[0])

    def _set_constant(self, slot: int, value: Any) -> None:
        self.template[slot] = value
        self.constant.add(slot)

    def _step(self, node: Node) -> Step:
        operator = node.operator
        assert operator is not None
        inputs = tuple(self._slot(v) for v in node.inputs)
        attributes = {a.name: node.attributes.get(a.name, a.default) for a in operator.attributes}
        call = self._specialized(node, operator, inputs, attributes)
        if call is None:
            call = partial(operator.kernel, **operator.bind(attributes)) if attributes else operator.kernel
        return Step(
            node,
            operator,
            inputs,
            tuple(self._slot(v) for v in node.outputs),
            call,
            operator.signature.takes_out and _accepts_out(call),
            tuple(v.element_type.dtype for v in node.outputs),
            tuple(_expected_shape(v.type) for v in node.outputs),
        )

    def _specialized(
        self, node: Node, operator: Operator, inputs: tuple[int, ...], attributes: dict[str, Any]
    ) -> Call | None:
        if operator.specializer is None:
            return None
        types = NodeTypes(
            tuple(None if v is None else v.type for v in node.inputs),
            tuple(v.type for v in node.outputs),
            tuple(self.template[slot] for slot in inputs),
            attributes,
            tuple(v in self.read for v in node.outputs),
        )
        return operator.specializer(types)

    def _fold(self, step: Step) -> bool:
        """Evaluate a step whose inputs are all constants; False when it has to stay."""
        operator = step.operator
        if operator.type in BOUND or operator.tolerance.kind == "random" or not step.inputs:
            return False
        if not all(slot in self.constant for slot in step.inputs):
            return False
        given = sum(self.template[slot].nbytes for slot in step.inputs if slot)
        if _nbytes(step) > max(_MAX_UNFOLDING, 8 * given):
            return False
        try:
            with np.errstate(all="ignore"):
                results = as_list(step.call(*(self.template[slot] for slot in step.inputs)))
        except Exception as error:
            raise IRError(
                failure(step.node, error, [self.template[s] for s in step.inputs], self.model.file)
            ) from error
        for slot, result in zip(step.outputs, results, strict=False):
            self._set_constant(slot, np.asarray(result))
        return True

    def _free_after_last_use(self, steps: list[Step], results: list[int]) -> None:
        seen = set(results) | self.constant
        for step in reversed(steps):
            dead = [s for s in dict.fromkeys((*step.inputs, *step.outputs)) if s not in seen]
            seen.update(dead)
            step.frees = tuple(dead)

    def _drop_unused_constants(self, steps: list[Step], results: list[int]) -> None:
        used = {slot for step in steps for slot in step.inputs} | set(results)
        for slot in self.constant - used:
            self.template[slot] = None


def _is_known(value: Value) -> bool:
    """Whether inference knows the value already, as it does of what shapes decide."""
    known = value.type.value
    return known is not None and known.dtype == value.element_type.dtype


def _accepts_out(call: Call) -> bool:
    """Whether a kernel or the function that a specializer made takes `out`. (inspect.signature takes 20 µs to tell.)"""
    function = call.func if isinstance(call, partial) else call
    code = getattr(function, "__code__", None)
    if code is None:
        return False
    named = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return "out" in named or bool(code.co_flags & inspect.CO_VARKEYWORDS)


def _expected_shape(type: TensorType) -> tuple[int, ...] | PartialShape | None:
    if type.shape.is_static:
        return type.shape.to_shape()
    return None if type.rank is None else type.shape


def _nbytes(step: Step) -> int:
    total = 0
    for value in step.node.outputs:
        try:
            size = value.type.shape.size
        except UnknownRank:
            return 0
        itemsize = value.element_type.dtype.itemsize if value.element_type.dtype is not None else 1
        total += (size.max or 0) * itemsize
    return total
