"""A case: a model with the inputs of its steps, checked to run; parts and edited copies of a case are also cases."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from irexec.core.diagnostics import IRError, Refusal
from irexec.core.structure import ASSIGN, STRUCTURAL
from irexec.core.types import Array
from irexec.ir.io.writing import Together
from irexec.model.graph.copies import copy_with_map
from irexec.model.graph.cut import constant_nodes, cut
from irexec.model.graph.model import Model, Node, Value
from irexec.model.graph.order import ordered
from irexec.model.graph.write import write_model
from irexec.model.inference import infer_types
from irexec.tools.cut.extract import fix_type
from irexec.tools.run.record import Reference

Steps = list[list[Array]]


class NotACase(Refusal, ValueError):
    """Raised for a model without inputs or results, from which nothing can be removed."""

    code = "U012"


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A valid model, the inputs of its steps, and its results in irexec, per step. Made by `case_of`."""

    model: Model
    steps: Steps
    results: Steps

    @property
    def layers(self) -> list[Node]:
        """The layers that compute."""
        return computing(self.model)

    @property
    def size(self) -> int:
        """The number of layers that compute, including layers of bodies."""
        return size_of(self.model)

    def write(self, path: Path, files: Together | None = None) -> list[Path]:
        """Write the model together with `files`, and return the model's files. Raises IRError and OSError."""
        write_model(self.model, path.with_suffix(".xml"), files=files)
        return [path.with_suffix(".xml"), path.with_suffix(".bin")]


def computing(model: Model) -> list[Node]:
    """Return the layers that compute something, in order: all but Parameters, Results and constants."""
    return [n for n in model.nodes if n.type not in STRUCTURAL]


def size_of(model: Model) -> int:
    """Return the number of layers that compute, including layers of bodies."""
    return sum(n.type not in STRUCTURAL for n in model.walk())


def case_of(model: Model, steps: Sequence[Sequence[Array]]) -> Case:
    """Return a model as a case; inputs that nothing reads are left out. Its declared types are replaced by the inferred
    ones.

    Raises IRError when the model is not valid, or cannot be run with these inputs; NotACase when it has no input.
    """
    read = {value for node in model.nodes for value in node.inputs}
    kept = [index for index, port in enumerate(model.inputs) if port in read]
    if not (kept and model.results and steps):
        raise NotACase("the model needs a result and an input that a layer reads, with values for one step or more")
    model.parameters = [model.parameters[index] for index in kept]
    given = [[step[index] for index in kept] for step in steps]
    _forget(model)
    for parameter, array in zip(model.parameters, given[0], strict=True):
        fix_type(parameter, array)
    if not (inference := infer_types(model)).report.ok:
        raise IRError(inference.report)
    return Case(model, given, Reference(model, given).results())


def _forget(model: Model) -> None:
    """Remove the information that refers to the file of the original model, and the layers that are not needed."""
    before, model.nodes = model.nodes, ordered([*model.parameters, *model.sinks, *model.results])
    for node in {*before} - {*model.nodes}:
        node.inputs = []  # Otherwise it would remain among the users of what it reads.
    model.file, model.source, model.unreachable = None, None, []
    for node in model.nodes:
        node.layer = None
        for value in node.outputs:
            value.declared = None
        for body in node.bodies:
            _forget(body.model)


def part_of(case: Case, nodes: Collection[Node], ends: Sequence[Value | Node]) -> Case:
    """Return a case with these layers and `ends` as results; values from other layers become inputs with their recorded
    values.

    Raises IRError and ValueError.
    """
    part = cut(case.model, nodes, ends)
    columns = recorded(case, part.begins)
    model = copy_with_map(part.model)[0] if any(node.bodies for node in part.model.nodes) else part.model
    return case_of(model, columns)


def recorded(case: Case, values: Sequence[Value]) -> Steps:
    """Return the values, per step. Raises ValueError if the layer of a value does not run."""
    ports = {port: index for index, port in enumerate(case.model.inputs)}
    if all(value in ports for value in values):
        return [[step[ports[value]] for value in values] for step in case.steps]
    runs = Reference(case.model, case.steps).record(set(values))
    try:
        return [[run[value] for value in values] for run in runs]
    except KeyError:
        raise ValueError("a layer cannot be run") from None


def edited(case: Case, edit: Callable[[Model, dict[Node, Node]], Steps | None]) -> Case:
    """Return a copy of the case, changed by `edit(model, copies)`, where `copies` maps layers to their copies. `edit`
    returns the new inputs, or None if they are unchanged. Raises IRError and ValueError.
    """
    model, copies = copy_with_map(case.model)
    steps = edit(model, copies)
    return case_of(model, case.steps if steps is None else steps)


def reconnect(model: Model, places: Mapping[Value, Value]) -> None:
    """Replace these values by other values in all layers that read them."""

    def last(value: Value) -> Value:
        while value in places:
            value = places[value]
        return value

    for node in model.nodes:
        if any(value in places for value in node.inputs):
            node.inputs = [None if value is None else last(value) for value in node.inputs]


def read_by_others(model: Model, nodes: Collection[Node]) -> list[Value]:
    """Return the values of these layers that other layers read, without values that only a sink stores."""
    inside, constant = {*nodes}, constant_nodes(model)
    outer = {value for node in model.nodes if node not in inside | constant for value in node.inputs}
    made = (node for node in model.nodes if node in inside and node not in constant and node.type != ASSIGN)
    return [value for node in made for value in node.outputs if value in outer]
