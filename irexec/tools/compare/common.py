"""Comparison of models whose inputs or results differ in number: those of only one model are left out."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from irexec.core.structure import PARAMETER
from irexec.model.graph.copies import copy_with_map
from irexec.model.graph.model import Model, Node
from irexec.model.graph.order import ordered
from irexec.model.graph.ports import port_name
from irexec.tools.compare.align import align
from irexec.tools.compare.runtimes.runtime import CannotRun, OtherModel
from irexec.tools.run.record import Reference


@dataclass(frozen=True, slots=True)
class Common:
    """Two models with the inputs and results that both have. `results`: sentences about the results that only one of
    the models has; `inputs`: the same about inputs, which no compared layer reads.
    """

    reference: Reference
    runtime: OtherModel
    results: list[str] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)


def common(reference: Reference, runtime: OtherModel) -> Common:
    """Return both models without the results that only one of them has, and without the inputs that only one has and
    no layer reads. Raises CannotRun if no result is left, or if other inputs belong to one model only.
    """
    a, b = reference.model, runtime.model
    if len(a.inputs) == len(b.inputs) and len(a.outputs) == len(b.outputs):
        return Common(reference, runtime)
    found = align(a, b)
    mine, others = _with(a, found.forward), _with(b, found.back)
    if not mine.results or len(mine.parameters) != len(others.parameters):
        ours, theirs = (f"{len(m.inputs)} inputs and {len(m.outputs)} outputs" for m in (a, b))
        raise CannotRun(f"{runtime.name} has {theirs}, but the model has {ours}, which cannot be paired with them")
    kept = {node.number for node in mine.parameters}
    steps = [
        [array for node, array in zip(a.parameters, step, strict=True) if node.number in kept]
        for step in reference.steps
    ]
    sides = ((a, mine, "the model"), (b, others, runtime.name))
    results = [
        f"only {name} has the result {port_name(node.outputs[0])}, which is not compared"
        for whole, part, name in sides
        for node in _missing(whole.results, part.results)
    ]
    inputs = [
        f"only {name} has the input {node.friendly_name}, which no layer reads"
        for whole, part, name in sides
        for node in _missing(whole.parameters, part.parameters)
    ]
    return Common(Reference(mine, steps), OtherModel(runtime.name, others), results, inputs)


def _with(model: Model, paired: Collection[Node]) -> Model:
    """Return a copy of a model with its paired results, and with the inputs that are paired or read."""
    made, copies = copy_with_map(model)
    made.results = [copies[node] for node in model.results if node in paired]
    read = {node for node in ordered([*made.sinks, *made.results]) if node.type == PARAMETER}
    made.parameters = [copies[node] for node in model.parameters if node in paired or copies[node] in read]
    made.nodes = ordered([*made.parameters, *made.sinks, *made.results])
    left = {copies[node] for node in model.nodes} - {*made.nodes}
    for node in left:
        node.inputs = ()
    return made


def _missing(whole: Collection[Node], part: Collection[Node]) -> list[Node]:
    numbers = {node.number for node in part}
    return [node for node in whole if node.number not in numbers]
