"""The stages of a reduction, from coarse to fine: each divides a case into items and creates cases of some of these
items.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from irexec.api.opsets.nodes import constant_node
from irexec.model.graph.copies import copied
from irexec.model.graph.cut import constant_nodes
from irexec.model.graph.model import Model, Node, Value
from irexec.tools.compare.delta import Earliest, fewest, first
from irexec.tools.reduce.case import Case, Steps, case_of, computing, edited, part_of, read_by_others, reconnect
from irexec.tools.reduce.recurrent import directions, hidden, keep_directions, keep_hidden
from irexec.tools.reduce.simpler import (
    attributes,
    constants,
    extents,
    inner_layers,
    keep_attributes,
    keep_constants,
    keep_inner_layers,
    passed,
    shrink,
    some,
)
from irexec.tools.run.record import Reference, same

Search = Callable[[Sequence[Any], Callable[[list[Any]], bool], Earliest[Any]], list[Any]]


@dataclass(frozen=True, slots=True)
class Stage:
    """One way to make a case smaller. `things` returns the items of a case; `keep` creates the case with only some of
    them, and raises IRError or ValueError if that is impossible. `search` finds the items that are needed.
    """

    name: str
    things: Callable[[Case], Sequence[Any]]
    keep: Callable[[Case, list[Any]], Case]
    search: Search = fewest


# Steps, outputs and inputs


def _keep_steps(case: Case, kept: list[int]) -> Case:
    return edited(case, lambda model, copies: [case.steps[number] for number in kept])


def _keep_outputs(case: Case, kept: list[Node]) -> Case:
    return part_of(case, case.model.nodes, kept)


def _keep_inputs(case: Case, kept: list[int]) -> Case:
    """Return the case in which inputs that are not kept are constants. Raises ValueError if they differ among steps."""

    def edit(model: Model, copies: dict[Node, Node]) -> Steps:
        places = {}
        for index in set(range(len(model.inputs))) - {*kept}:
            port, arrays = model.inputs[index], [step[index] for step in case.steps]
            if not all(same(array, arrays[0]) for array in arrays):
                raise ValueError("an input that changes cannot become a constant")
            places[port] = _constant(port, arrays[0])
        reconnect(model, places)
        model.parameters = [model.parameters[index] for index in kept]
        return [[step[index] for index in kept] for step in case.steps]

    return edited(case, edit)


def _constant(value: Value, array: Any) -> Value:
    node = constant_node(type(value.node), array, name=value.node.friendly_name, element_type=value.element_type)
    return node.outputs[0]


# Layers


def _layers(case: Case) -> Sequence[tuple[Node, ...]]:
    """Return the layers as groups of one; the layers that read or assign one variable form a group."""
    units: dict[object, list[Node]] = defaultdict(list)
    fixed = constant_nodes(case.model)
    for node in computing(case.model):
        if node.has_state:
            units[node.attributes["variable_id"]].append(node)
        elif node not in fixed:
            units[node].append(node)
    return [tuple(nodes) for nodes in units.values()]


def _keep_layers(case: Case, kept: list[tuple[Node, ...]]) -> Case:
    """Return the case of the kept layers; the recorded results of other layers become its inputs."""
    nodes = [node for unit in kept for node in unit]
    return part_of(case, nodes, read_by_others(case.model, nodes))


def _constant_layers(case: Case) -> Sequence[Node]:
    fixed = constant_nodes(case.model)
    return [node for node in computing(case.model) if node in fixed]


def _keep_constant_layers(case: Case, kept: list[Node]) -> Case:
    """Return the case in which layers that depend on constants alone, except `kept`, are replaced by constants."""
    folded = [v for node in _constant_layers(case) if node not in kept for v in node.outputs]
    known = Reference(case.model, case.steps[:1]).record(set(folded))[0]

    def edit(model: Model, copies: dict[Node, Node]) -> None:
        reconnect(model, {copies[v.node].outputs[v.index]: _constant(v, known[v]) for v in folded if v in known})

    return edited(case, edit)


def _passable(case: Case) -> Sequence[Node]:
    """Return the layers that can be removed by connecting their inputs to their readers."""
    return [node for node in computing(case.model) if not node.has_state and passed(node) is not None]


def _keep_passable(case: Case, kept: list[Node]) -> Case:
    def edit(model: Model, copies: dict[Node, Node]) -> None:
        places = {}
        for node in _passable(case):
            source = passed(node)
            if node not in kept and source is not None:
                places[copies[node].outputs[0]] = copies[source.node].outputs[source.index]
        reconnect(model, places)

    return edited(case, edit)


# Bodies


def _bodies(case: Case) -> Sequence[tuple[Node, int]]:
    """Return the layers with bodies, and the numbers of their bodies."""
    return [(node, number) for node in computing(case.model) for number in range(len(node.bodies))]


def _keep_body(case: Case, kept: list[tuple[Node, int]]) -> Case:
    """Return the first iteration of one body, as a separate model."""
    ((node, number),) = kept
    body = node.bodies[number].model
    given = Reference(case.model, case.steps).record(body.inputs)
    known = [index for index, port in enumerate(body.inputs) if all(port in step for step in given)]
    model = copied(body)
    model.parameters = [model.parameters[index] for index in known]
    for parameter in model.parameters:
        type = parameter.outputs[0].type
        parameter._attributes = parameter.attributes | {"element_type": type.element_type, "shape": type.shape}
    return case_of(model, [[step[body.inputs[index]] for index in known] for step in given])


STAGES: tuple[Stage, ...] = (
    Stage("steps", lambda case: some(range(len(case.steps))), _keep_steps),
    Stage("outputs", lambda case: some(case.model.results), _keep_outputs),
    Stage("inputs", lambda case: some(range(len(case.model.inputs))), _keep_inputs),
    Stage("layers", _layers, _keep_layers),
    Stage("bodies", _bodies, _keep_body, first),
    Stage("constant layers", _constant_layers, _keep_constant_layers),
    Stage("layers between", _passable, _keep_passable),
    Stage("directions", directions, keep_directions),
    Stage("hidden sizes", hidden, keep_hidden),
    Stage("extents to 1", extents, shrink(lambda extent: 1)),
    Stage("extents to 2", extents, shrink(lambda extent: min(extent, 2))),
    Stage("extents halved", extents, shrink(lambda extent: -(-extent // 2))),
    Stage("constants", constants, keep_constants),
    Stage("attributes", attributes, keep_attributes),
    Stage("layers of bodies", inner_layers, keep_inner_layers),
)
