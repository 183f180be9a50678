"""Steps with bodies: If, Loop and TensorIterator run the plans of their bodies.

Source: operation pages If-8, Loop-5, TensorIterator-1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from irexec.core.diagnostics.deadline import ask
from irexec.core.diagnostics.findings import Findings
from irexec.core.structure import IF, LOOP
from irexec.core.types import Array, TensorType
from irexec.model.graph.body_maps import BodyInput, BodyOutput, Slicing
from irexec.model.graph.model import Body, Node
from irexec.model.inference import Inference, infer
from irexec.model.inference.bodies import parameter_types
from irexec.ops.spec.operator import ConstraintError

# A function that runs a body on the arrays of its Parameters and returns the body's results.
Run = Callable[[Sequence[Array]], list[Array]]


def body_step(node: Node, runs: Sequence[Run], inference: Inference) -> Callable[..., list[Array]]:
    """Return the callable of a node with bodies, from outer inputs to outputs. `runs`: a function for each body."""
    if node.type == IF:
        return lambda *inputs: _run_if(node, runs, inputs)
    iterating = _Iterating(node.bodies[0], runs[0], inference)
    if node.type == LOOP:
        return lambda *inputs: _run_loop(iterating, inputs)
    return lambda *inputs: _run_tensor_iterator(iterating, inputs)


def _run_if(node: Node, runs: Sequence[Run], inputs: Sequence[Array]) -> list[Array]:
    condition = inputs[0]
    if condition.size != 1:
        raise ConstraintError("cond", f"cond has {condition.size} elements, expected one", port="cond")
    branch = 0 if bool(condition.reshape(-1)[0]) else 1
    body, run = node.bodies[branch], runs[branch]
    given: list[Any] = [None] * len(body.model.parameters)
    for entry in body.inputs:
        if entry.external is not None:
            given[entry.parameter] = inputs[entry.external]
    results = run(given)
    return _outer({o.external: results[o.result] for o in body.outputs})


def _run_tensor_iterator(iterating: _Iterating, inputs: Sequence[Array]) -> list[Array]:
    counts = set(_counts(iterating.body, inputs))
    if len(counts) > 1:
        raise ConstraintError("slices", f"the sliced inputs have different numbers of parts: {sorted(counts)}")
    return iterating.run(inputs, counts.pop() if counts else 1, lambda results: True)


def _counts(body: Body, inputs: Sequence[Array]) -> list[int]:
    """Return the number of parts of each sliced input. Raises ConstraintError if an input cannot be divided."""
    counts = []
    for entry in body.inputs:
        if entry.slicing is not None and entry.external is not None:
            extent = inputs[entry.external].shape[entry.slicing.axis]
            if (fault := entry.slicing.fault(extent)) is not None:
                raise ConstraintError("slices", f"input {entry.external}, axis {entry.slicing.axis}: {fault}")
            counts.append(entry.slicing.count(extent))
    return counts


def _run_loop(iterating: _Iterating, inputs: Sequence[Array]) -> list[Array]:
    condition = iterating.body.condition
    trips = int(inputs[0].reshape(-1)[0]) if inputs[0] is not None else -1
    go = bool(inputs[1].reshape(-1)[0]) if inputs[1] is not None else True

    def continues(results: list[Array]) -> bool:
        return condition is None or bool(results[condition].reshape(-1)[0])

    return iterating.run(inputs, 0 if not go else None if trips < 0 else trips, continues)


class _Iterating:
    """Runs a body repeatedly and collects its outputs."""

    def __init__(self, body: Body, run: Run, inference: Inference) -> None:
        self.body, self._run, self._inference = body, run, inference

    def run(self, inputs: Sequence[Array], count: int | None, continues: Callable[[list[Array]], bool]) -> list[Array]:
        """Run the body `count` times (None: until `continues` returns False) and return the outer outputs.

        Raises ConstraintError when the sliced inputs have fewer parts than there are iterations.
        """
        body, parts = self.body, None
        given: list[Any] = [None] * len(body.model.parameters)
        sliced: list[tuple[int, Iterator[Array]]] = []
        for entry in body.inputs:
            if entry.external is not None and entry.slicing is None:
                given[entry.parameter] = inputs[entry.external]
        counters = [entry for entry in body.inputs if entry.iteration]
        back = [
            (entry.parameter, entry.back) for entry in body.inputs if entry.back is not None and not entry.iteration
        ]
        gathered: dict[int, list[Array]] = {o.result: [] for o in body.outputs if o.slicing is not None}
        results: list[Array] = []
        number = 0
        while count is None or number < count:
            ask("iterating")
            if not number:
                parts = min(_counts(body, inputs), default=None)
                sliced = list(_sliced(body, inputs))
            if parts is not None and number >= parts:
                raise ConstraintError("slices", f"a sliced input has {parts} parts, so iteration {number} has no part")
            for entry in counters:
                given[entry.parameter] = self._counter(entry, number)
            if number:
                for parameter, result in back:
                    given[parameter] = results[result]
            for parameter, those in sliced:
                given[parameter] = next(those)
            results = self._run(given)
            for result, made in gathered.items():
                made.append(results[result])
            number += 1
            if not continues(results):
                break
        outer: dict[int | None, Array] = {}
        for output in body.outputs:
            if output.slicing is not None:
                outer[output.external] = self._joined(output, output.slicing, gathered[output.result], inputs)
            else:
                outer[output.external] = results[output.result] if results else self._untouched(output, given, inputs)
        return _outer(outer)

    def _counter(self, entry: BodyInput, number: int) -> Array:
        type = self._inference[self.body.model.parameters[entry.parameter].outputs[0]]
        return np.full((1,) if type.rank == 1 else (), number, type.element_type.dtype or np.dtype(np.int64))

    def _joined(self, output: BodyOutput, slicing: Slicing, parts: list[Array], inputs: Sequence[Any]) -> Array:
        if parts:
            if slicing.stride < 0:
                parts = parts[::-1]
            return np.concatenate([part if part.ndim else part[None] for part in parts], axis=slicing.axis)
        # No iteration: the extent along the axis is 0, and the other extents come from the inferred type.
        type = self._type(output.result, inputs)
        extents = [] if type.rank is None else [d.min for d in type.shape]
        if extents:
            extents[slicing.axis] = 0
        return np.zeros(extents or (0,), type.element_type.dtype)

    def _untouched(self, output: BodyOutput, given: list[Any], inputs: Sequence[Any]) -> Array:
        """Return an output of a loop without iterations: the initial value of its back edge; zeros if it has none."""
        for entry in self.body.inputs:
            if entry.back == output.result and given[entry.parameter] is not None:
                value: Array = given[entry.parameter]
                return value
        if output.result == self.body.condition:
            return np.zeros((), np.bool_)
        type = self._type(output.result, inputs)
        return np.zeros([] if type.rank is None else [d.min for d in type.shape], type.element_type.dtype)

    def _type(self, result: int, inputs: Sequence[Any]) -> TensorType:
        """Return the type of a result of the body, inferred for the outer inputs if it has dynamic extents."""
        value = self.body.model.results[result].outputs[0]
        type = self._inference[value]
        if type.shape.is_static:
            return type
        outer = [None if array is None else TensorType.of(array) for array in inputs]
        return infer(self.body.model, parameter_types(self.body, outer, None), Findings())[value]


def _sliced(body: Body, inputs: Sequence[Array]) -> Iterator[tuple[int, Iterator[Array]]]:
    """Yield the Parameter of each sliced input, and the parts that the iterations use."""
    for entry in body.inputs:
        if entry.slicing is not None and entry.external is not None:
            yield entry.parameter, _parts(inputs[entry.external], entry.slicing)


def _parts(array: Array, slicing: Slicing) -> Iterator[Array]:
    axis = slicing.axis % array.ndim
    before = (slice(None),) * axis
    for part in slicing.parts(array.shape[axis]):
        yield array[(*before, part)]


def _outer(outer: dict[int | None, Array]) -> list[Array]:
    return [outer[port] for port in sorted(p for p in outer if p is not None)]
