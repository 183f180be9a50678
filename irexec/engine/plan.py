"""The plan: a model compiled for the types of one inference, as a flat list of steps over numbered slots."""

from __future__ import annotations

from typing import Any

from irexec.diagnostics import IRError
from irexec.engine.chains import Chains, find_chains
from irexec.engine.constants import BOUND, Constants, Folding
from irexec.engine.errors import too_large
from irexec.engine.memory import MemoryPlan, Sharing, plan_memory
from irexec.engine.step import Step
from irexec.graph.model import Model, Node, Value
from irexec.inference import Inference
from irexec.ir.memory import no_collection
from irexec.ops.declare.capacity import beyond_memory
from irexec.records import record
from irexec.types import DYNAMIC, PartialShape, TensorType


@record(eq=False)
class Plan:
    """Steps in order, the slots they use, and where inputs, outputs and constants stand. Read-only once made.

    `template` holds the constants in their slots. `results` are the slots of the results, `lent` for each of them the
    constants whose memory it may share, or None where nobody else can have its memory. `subplans` are the plans of the
    bodies, by the step's number. `chains`: steps that may be computed together.
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
    chains: Chains


@no_collection()
def make_plan(
    model: Model, inference: Inference | None = None, constants: Constants | None = None, *, observed: bool = False
) -> Plan:
    """Compile a model for the types of an inference; without one, for the model's own types.

    `constants` are shared with other plans of the model. `observed`: all outputs of all layers are computed, also those
    that nothing reads. Raises IRError when constants break a constraint of the operator that reads them, and when a
    result is larger than the memory of this machine.
    """
    known = inference if inference is not None else Inference()
    shared = constants if constants is not None else Constants()
    with shared.folding(model, known) as folding:
        return _Planner(model, known, folding, shared, observed).plan()


class _Planner:
    """Makes one plan. Constants are computed when a step reads them; `fixed` are the slots that the template fills."""

    def __init__(
        self, model: Model, inference: Inference, folding: Folding, constants: Constants, observed: bool
    ) -> None:
        self.model, self.inference, self.folding = model, inference, folding
        self.constants, self.observed = constants, observed
        self.template: list[Any] = [None]
        self.slots: dict[Value, int] = {}
        self.fixed: set[int] = {0}
        # By the identity of the shape, which is kept with its extents.
        self.shapes: dict[int, tuple[PartialShape, tuple[int, ...] | None]] = {}
        self.read = {value for node in model.nodes for value in node.inputs}

    def plan(self) -> Plan:
        parameters = [self._slot(parameter.outputs[0]) for parameter in self.model.parameters]
        steps: list[Step] = []
        subplans: dict[int, list[Plan]] = {}
        for node in self.model.nodes:
            if node.type not in ("Parameter", "Result") and not self.folding.add(node):
                if node.bodies:
                    subplans[len(steps)] = [self._body(body.model) for body in node.bodies]
                steps.append(self._step(node))
        results = [self._input(node.inputs[0]) for node in self.model.results]
        self._free_after_last_use(steps, results)
        sharing = Sharing(steps)
        assigned = {slot for step in steps if step.operator.type == "Assign" for slot in step.inputs}
        kept = frozenset(results) | assigned
        memory = plan_memory(steps, sharing, kept)
        chains = Chains(lambda: [] if self.observed else find_chains(steps, memory, self.template, kept))
        lent = self._lent(steps, sharing, parameters, results)
        return Plan(
            self.model, self.inference, steps, self.template, parameters, results, lent, memory, subplans, chains
        )

    def _body(self, model: Model) -> Plan:
        return make_plan(model, self.inference, self.constants, observed=self.observed)

    def _slot(self, value: Value) -> int:
        if value not in self.slots:
            self.slots[value] = len(self.template)
            self.template.append(None)
        return self.slots[value]

    def _input(self, value: Value | None) -> int:
        """The slot that a step or result reads; computes a constant when it is first read."""
        if value is None:
            return 0
        while value.node.type == "Result":  # no step: it is what it reads
            value = value.node.inputs[0]
            assert value is not None
        slot = self._slot(value)
        if slot not in self.fixed and value in self.folding:
            self.template[slot] = self.folding.array(value)
            self.fixed.add(slot)
        return slot

    def _step(self, node: Node) -> Step:
        operator = node.operator
        assert operator is not None
        inputs = tuple([self._input(value) for value in node.inputs])
        arrays = tuple([self.template[slot] for slot in inputs])
        outputs = tuple([self._slot(value) for value in node.outputs])
        given = tuple(self.inference.inputs(node))
        types = tuple(self.inference.outputs(node))
        used = None if self.observed else tuple([value in self.read for value in node.outputs])
        call, takes_out = self.folding.kernels.call(node, given, types, arrays, used)
        types = types[: len(outputs)]
        if (reason := beyond_memory(types)) is not None:
            raise IRError(too_large(node, reason, self.model))
        one = types[0] if len(types) == 1 else None
        return Step(
            node,
            operator,
            inputs,
            given,
            outputs,
            types,
            call,
            takes_out and one is not None and not operator.outputs[0].variadic,
            None if one is None else one.element_type.dtype,
            None if one is None else self._static_shape(one.shape),
            all(type is None or self._is_sure(type) for type in given),
        )

    def _is_sure(self, type: TensorType) -> bool:
        return type.element_type is not DYNAMIC and self._static_shape(type.shape) is not None

    def _static_shape(self, shape: PartialShape) -> tuple[int, ...] | None:
        """The extents, if all are known: asked for each value by those who make it and who read it."""
        found = self.shapes.get(id(shape))
        if found is None:
            found = self.shapes[id(shape)] = shape, shape.to_shape() if shape.is_static else None
        return found[1]

    def _free_after_last_use(self, steps: list[Step], results: list[int]) -> None:
        seen = set(results) | self.fixed
        for step in reversed(steps):
            dead = [slot for slot in dict.fromkeys((*step.inputs, *step.outputs)) if slot not in seen]
            seen.update(dead)
            step.frees = tuple(dead)

    def _lent(
        self, steps: list[Step], sharing: Sharing, parameters: list[int], results: list[int]
    ) -> list[frozenset[int] | None]:
        """`Plan.lent`: the constants whose memory each result may share, by their identity."""
        foreign = {
            *parameters,
            *self.fixed,
            *(s for step in steps if step.operator.type in BOUND for s in step.outputs),
        }
        fixed: dict[int, set[int]] = {}
        holders: dict[int, int] = {}
        for slot in foreign - {0}:
            holders[sharing.group(slot)] = holders.get(sharing.group(slot), 0) + 1
            if slot in self.fixed:
                fixed.setdefault(sharing.group(slot), set()).add(id(self.template[slot]))
        for slot in results:
            holders[sharing.group(slot)] = holders.get(sharing.group(slot), 0) + 1
        constants = {group: frozenset(arrays) for group, arrays in fixed.items()}
        groups = [sharing.group(slot) for slot in results]
        return [constants.get(group, frozenset()) if group == 0 or holders[group] > 1 else None for group in groups]
