"""The plan: a model compiled for the types of one inference, as a flat list of steps over numbered slots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irexec.core.collector import no_collection
from irexec.core.diagnostics import IRError
from irexec.core.diagnostics.deadline import watched
from irexec.core.records import record
from irexec.core.structure import ASSIGN, ENDS, IF, READ_VALUE, RESULT
from irexec.core.types import DYNAMIC, Array, PartialShape, TensorType
from irexec.model.graph.model import Body, Model, Node, Value
from irexec.model.inference import Inference
from irexec.ops.spec.capacity import beyond_memory
from irexec.runtime.engine.constants import Constants, Folding, Packed, has_many_packed, may_be_packed
from irexec.runtime.engine.errors import too_large
from irexec.runtime.engine.memory import MemoryPlan, Sharing, plan_memory
from irexec.runtime.engine.step import Step

if TYPE_CHECKING:
    from irexec.runtime.engine.growing import Growth


@record(eq=False, weakref_slot=True)
class Plan:
    """The steps in order, the slots they use, and the slots of inputs, outputs and constants. Read-only after creation.

    `template` contains the constants in their slots (packed weights as a PackedMatrix). `results` are the slots of the
    results; `lent` lists for each result the constants whose memory it may share, or None if its memory is private.
    `subplans` are the plans of the bodies, by the number of the step. `growing`: see irexec.runtime.engine.growing.
    """

    model: Model
    inference: Inference
    steps: list[Step]
    template: list[Any]
    parameters: list[int]
    results: list[int]
    lent: list[frozenset[int] | None]
    memory: MemoryPlan
    subplans: dict[int, list[Plan]]
    growing: dict[int, Growth]

    @property
    def included(self) -> set[int]:
        """The numbers of the steps that are not called, because the calls of `growing` include them."""
        return {number for growth in self.growing.values() for number in growth.included}


@no_collection()
def make_plan(
    model: Model, inference: Inference | None = None, constants: Constants | None = None, *, observed: bool = False
) -> Plan:
    """Compile a model for the types of an inference; without one, for the model's own types.

    `constants` are shared with other plans of the model. `observed`: all outputs of all layers are computed, even if
    nothing reads them. Raises IRError when constants break a constraint of the operator that reads them, and when a
    result is larger than the memory of this machine.
    """
    known = inference if inference is not None else Inference()
    shared = constants if constants is not None else Constants()
    with shared.folding(model, known) as folding:
        return _Planner(model, known, folding, shared, observed).plan()


class _Typing(NamedTuple):
    """The properties shared by all layers of one operator with the same types: see `Step`.

    `made` are the types of all outputs that the operator declares, `types` only the types of outputs that the layer
    has.
    """

    given: tuple[TensorType | None, ...]
    made: tuple[TensorType, ...]
    types: tuple[TensorType, ...]
    is_single: bool
    dtype: np.dtype[Any] | None
    shape: tuple[int, ...] | None
    is_sure: bool


class _Planner:
    """Creates one plan. Constants are computed when a step reads them; `fixed` are the slots filled by the template."""

    def __init__(
        self, model: Model, inference: Inference, folding: Folding, constants: Constants, observed: bool
    ) -> None:
        self.model, self.inference, self.folding = model, inference, folding
        self.constants, self.observed = constants, observed
        self.steps: list[Step] = []
        self.subplans: dict[int, list[Plan]] = {}
        self.template: list[Any] = [None]
        self.slots: dict[Value, int] = {}
        self.fixed: set[int] = {0}
        # The key is the identity of the shape, which is kept with its extents.
        self.shapes: dict[int, tuple[PartialShape, tuple[int, ...] | None]] = {}
        # The key is the operator with the identities of its types.
        self.typings: dict[tuple[Any, ...], _Typing] = {}
        # Computed on first use, without cached_property: before Python 3.12 all planners share its lock, which may be
        # held in a forked process.
        self.read: set[Value | None] | None = None
        self.packs: bool | None = None

    def plan(self) -> Plan:
        parameters = [self._made(parameter.outputs)[0] for parameter in self.model.parameters]
        self._add(self.model)
        steps, subplans = self.steps, self.subplans
        bound = [step for step in steps if step.operator.is_run_by_engine]
        results = [self._input(node.inputs[0]) for node in self.model.results]
        sharing = Sharing(steps, len(self.template))
        assigned = {slot for step in bound if step.operator.type == ASSIGN for slot in step.inputs}
        grown: dict[int, Growth] = {}
        if assigned and not self.observed:
            from irexec.runtime.engine.growing import growing

            grown = growing(steps, self.template, sharing, results)
        self._free_after_last_use(steps, results, grown)
        kept = frozenset(results) | assigned
        memory = plan_memory(steps, sharing, kept)
        foreign = {*parameters, *(slot for step in bound for slot in step.outputs)}
        buffered = {slot for number in memory.buffer_of for slot in steps[number].outputs}
        lent = self._lent(sharing, foreign, buffered, results)
        return Plan(
            self.model, self.inference, steps, self.template, parameters, results, lent, memory, subplans, grown
        )

    def _add(self, model: Model) -> None:
        """Add the steps of a model, or of the body of an If that is known to run."""
        for node in watched(model.nodes, "planning"):
            if (node.held is None and node.type in ENDS) or self.folding.add(node):
                continue
            if (branch := self._branch(node)) is not None:
                self._inline(node, branch)
                continue
            if node.bodies:
                self.subplans[len(self.steps)] = [self._body(body.model) for body in node.bodies]
            self.steps.append(self._step(node))

    def _branch(self, node: Node) -> Body | None:
        """Return the body that an If runs in every inference of this plan, if its layers can be steps of the plan.

        A plan for listeners keeps the If as a step.
        """
        if node.type != IF or self.observed or node.operator is None or not node.operator.is_run_by_engine:
            return None
        condition = self.template[self._input(node.inputs[0])]
        if condition is None or condition.size != 1:
            return None
        body = node.bodies[0 if condition.reshape(-1)[0] else 1]
        given = {entry.parameter: entry.external for entry in body.inputs}
        for number in range(len(body.model.parameters)):
            external = given.get(number)
            if external is None or node.inputs[external] is None:
                return None
        has_states = any(inner.type in (READ_VALUE, ASSIGN) for inner in body.model.nodes)
        is_complete = all(result.inputs[0] is not None for result in body.model.results)
        return body if is_complete and not has_states else None

    def _inline(self, node: Node, body: Body) -> None:
        """Add the steps of a body; its Parameters and Results are the inputs and outputs of the If."""
        for entry in body.inputs:
            assert entry.external is not None
            parameter = body.model.parameters[entry.parameter]
            self.slots[parameter.outputs[0]] = self._input(node.inputs[entry.external])
        self._values_read().update(value for inner in body.model.nodes for value in inner.inputs)
        self._add(body.model)
        for output in body.outputs:
            if output.external is not None:
                self.slots[node.outputs[output.external]] = self._input(body.model.results[output.result].inputs[0])

    def _body(self, model: Model) -> Plan:
        return make_plan(model, self.inference, self.constants, observed=self.observed)

    def _made(self, values: Sequence[Value]) -> range:
        """Assign consecutive slots to new values, and return them as a range."""
        first = len(self.template)
        for slot, value in enumerate(values, first):
            self.slots[value] = slot
            self.template.append(None)
        return range(first, len(self.template))

    def _input(self, value: Value | None) -> int:
        """Return the slot that a step or result reads; a constant is computed when it is first read."""
        if value is None:
            return 0
        if (known := self.slots.get(value)) is not None:
            return known
        while value.node.type == RESULT:  # a Result has no step: it shares the slot of its input
            value = value.node.inputs[0]
            assert value is not None
        if value not in self.slots:
            (slot,) = self._made([value])
            if value in self.folding:
                self.template[slot] = self._constant(value)
                self.fixed.add(slot)
        return self.slots[value]

    def _constant(self, value: Value) -> Array | Packed:
        """Return a constant, in packed form if it has such a form and all its readers accept it."""
        if not may_be_packed(value, self.inference[value]) or not self._packs():
            return self.folding.array(value)
        from irexec.runtime.engine.packed.recognition import packed_matrix

        if value not in self.constants.packed:
            self.constants.packed[value] = packed_matrix(value, self.inference, self.folding)
        packed = self.constants.packed[value]
        return self.folding.array(value) if packed is None else packed

    def _packs(self) -> bool:
        """Return whether matrices of packed weights stay packed in this model."""
        if self.packs is None:
            self.packs = has_many_packed(self.model)
        return self.packs

    def _step(self, node: Node) -> Step:
        operator = node.operator
        assert operator is not None
        inputs = tuple([self._input(value) for value in node.inputs])
        arrays = tuple([self.template[slot] for slot in inputs])
        outputs = self._made(node.outputs)
        typing = self._typing(node)
        used = None if self.observed or len(outputs) == 1 else tuple([self._is_read(value) for value in node.outputs])
        if any(isinstance(array, Packed) for array in arrays):
            from irexec.runtime.engine.packed.calls import packed_call

            call, takes_out = packed_call(node), True
        else:
            call, takes_out = self.folding.kernels.call(node, typing.given, typing.made, arrays, used)
        return Step(
            node,
            operator,
            inputs,
            typing.given,
            outputs,
            typing.types,
            call,
            takes_out and typing.is_single,
            typing.dtype,
            typing.shape,
            typing.is_sure,
        )

    def _typing(self, node: Node) -> _Typing:
        """Return the types of a node and derived properties. Raises IRError if a result is larger than the memory."""
        operator = node.operator
        assert operator is not None
        given, made = self.inference.inputs(node), self.inference.outputs(node)
        key = operator, len(given), len(node.outputs), *map(id, (*given, *made))
        found = self.typings.get(key)
        if found is None:
            types = tuple(made[: len(node.outputs)])
            if (reason := beyond_memory(types)) is not None:
                raise IRError(too_large(node, reason, self.model))
            one = types[0] if len(types) == 1 else None
            found = self.typings[key] = _Typing(
                tuple(given),
                tuple(made),
                types,
                one is not None and not operator.outputs[0].variadic,
                None if one is None else one.element_type.dtype,
                None if one is None else self._static_shape(one.shape),
                all(type is None or self._is_sure(type) for type in given),
            )
        return found

    def _is_read(self, value: Value) -> bool:
        """Return whether a layer reads the value."""
        return value in self._values_read()

    def _values_read(self) -> set[Value | None]:
        if self.read is None:
            self.read = {value for node in self.model.nodes for value in node.inputs}
        return self.read

    def _is_sure(self, type: TensorType) -> bool:
        return type.element_type is not DYNAMIC and self._static_shape(type.shape) is not None

    def _static_shape(self, shape: PartialShape) -> tuple[int, ...] | None:
        """Return the extents, if all are known; cached, because the writer and each reader of a value need them."""
        found = self.shapes.get(id(shape))
        if found is None:
            found = self.shapes[id(shape)] = shape, shape.to_shape() if shape.is_static else None
        return found[1]

    def _free_after_last_use(self, steps: list[Step], results: list[int], grown: dict[int, Growth]) -> None:
        unseen = [True] * len(self.template)
        for slot in (*results, *self.fixed):
            unseen[slot] = False
        for number in reversed(range(len(steps))):
            step, dead = steps[number], []
            for slot in (*step.inputs, *step.outputs, *(grown[number].inputs if number in grown else ())):
                if unseen[slot]:
                    unseen[slot] = False
                    dead.append(slot)
            step.frees = tuple(dead)

    def _lent(
        self, sharing: Sharing, foreign: set[int], buffered: set[int], results: list[int]
    ) -> list[frozenset[int] | None]:
        """Return `Plan.lent`: the constants whose memory each result may share, by identity.

        `foreign`: slots, other than those of constants, whose memory the run does not own. `buffered`: slots with a
        buffer.
        """
        groups = [sharing.group[slot] for slot in results]
        holders = Counter(groups)
        constants: dict[int, set[int]] = {group: set() for group in holders}
        for slot, group in enumerate(sharing.group):
            if group in holders and slot and (slot in self.fixed or slot in foreign or slot in buffered):
                holders[group] += 1
                if slot in self.fixed:
                    constants[group].add(id(self.template[slot]))
        return [frozenset(constants[group]) if group == 0 or holders[group] > 1 else None for group in groups]
