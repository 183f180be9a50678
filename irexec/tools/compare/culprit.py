"""The first wrong layers of a comparison, including layers in bodies and layers that are not observed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from irexec.core.diagnostics import LayerRef
from irexec.core.types import DYNAMIC, Array, ElementType
from irexec.ir.io.writing import together
from irexec.model.arrays.plain import exact_array
from irexec.model.arrays.saving import archive_names, save_arrays
from irexec.model.arrays.units import unit
from irexec.model.graph.copies import copied
from irexec.model.graph.cut import Cutter, constant_nodes, leaving
from irexec.model.graph.model import Model, Node, Value
from irexec.model.graph.ports import port_name
from irexec.ops.spec.operator import Tolerance
from irexec.runtime.engine import CompiledModel
from irexec.runtime.engine.run import Run as Changed
from irexec.runtime.engine.runner import Moves
from irexec.tools.compare.errors import Bounds, Error, Run, is_percentage, off, off_typical, percent
from irexec.tools.compare.judge import judged
from irexec.tools.compare.numbers import FUSED, MARGIN
from irexec.tools.compare.runtimes.runtime import CannotRun, Loaded, Runtime, Steps
from irexec.tools.compare.tolerances import combined, tolerance_of, tolerance_text
from irexec.tools.cut.extract import Extract, give_types
from irexec.tools.cut.select import can_be_cut
from irexec.tools.run.record import Reference

FIRST_ITERATIONS = 32
"""The number of iterations of a body in the first group that is compared; each group is twice as large as the one
before, up to _MAX_ITERATIONS.
"""
_MAX_ITERATIONS = 512
# The number of bytes of a body's inputs that are held at a time.
_MAX_BYTES = 1 << 26
FEW = 3
"""The maximum number of layers that are all named."""


FILES = ("culprit.xml", "culprit.bin", "culprit.irt", "culprit.npz", "outputs.npz")
OTHER_FILES = ("other.xml", "other.bin", "other.irt", "other.npz")
"""The files that `Culprit.save` writes; OTHER_FILES only if the other side is a model."""


@dataclass(slots=True)
class Culprit:
    """The first layers of a model that are wrong by themselves; several layers if they are wrong only together.

    `outer` lists the layers whose bodies contain them, and `iteration` is the iteration of the innermost body. `inputs`
    are the inputs of these layers, `outputs` the results of the other side. `changes`: the differences of the other
    model's layer, if the other side is a model. `module`: the module whose result the last layer computes, if the other
    side consists of modules. `limit`: the tolerance, if it is in units in the last place. `together`: the layers whose
    inputs and outputs are known, if these are not exactly the wrong layers. `other` returns the other model's layers in
    place of these layers, if the other side is a model. `network`: the other side is a PyTorch network.
    """

    model: Model
    nodes: list[Node]
    outer: tuple[str, ...]
    own: Error
    tolerance: str
    step: int = 0
    iteration: int | None = None
    inputs: dict[Value, Array] = field(default_factory=dict)
    outputs: dict[Value, Array] = field(default_factory=dict)
    changes: list[str] = field(default_factory=list)
    module: str = ""
    limit: float = 0.0
    together: list[Node] = field(default_factory=list)
    other: Callable[[], Extract | None] | None = None
    network: bool = False

    def __repr__(self) -> str:
        return f"<Culprit: {self.described}: {self.numbers}>"

    @property
    def described(self) -> str:
        """The layers with their types, and the bodies and the iteration that contain them; before them the nodes of
        another format from which they were made."""
        text = listed(self.nodes) + (" together" if len(self.nodes) > 1 else "")
        if made := self.origins:
            named = ", ".join(f"{ref.name} ({ref.type} of ONNX)" for ref in made)
            text = f"{named}, in IR {text}"
        if self.module:
            text += f", module {self.module}"
        if self.outer:
            text += f" in {' / '.join(self.outer)}"
        return text + (f", iteration {self.iteration}" if self.iteration is not None else "")

    @property
    def origins(self) -> list[LayerRef]:
        """The nodes of another format from which the layers were made, unless each is a layer of the same name and
        type."""
        refs = list(dict.fromkeys(node.ref for node in self.nodes))
        if any(node.origin is None for node in self.nodes) or len(refs) > FEW:
            return []
        same = all((node.given_name, node.type) == (node.ref.name, node.ref.type) for node in self.nodes)
        return [] if same else refs

    @property
    def numbers(self) -> str:
        """The error, the two values of the largest difference, and the tolerance in the unit of the error; `not the
        same` if the error is zero, as for a changed layer.
        """
        if not self.own:
            return "not the same"
        if self.own.reason:
            return off(self.own)
        kind = self.nodes[-1].outputs[0].element_type if self.nodes[-1].outputs else None
        allowed = f"tolerance {self.tolerance}"
        if self.tolerance == "exact":
            allowed = "no difference is expected"
        elif kind is not None and self.limit and is_percentage(self.own):
            allowed = f"tolerance {percent(self.limit * float(unit(1.0, kind)))}"
        found, expected = self.own.found, self.own.expected
        values = f"{found} in PyTorch, {expected} in the model" if self.network else f"{found} instead of {expected}"
        return f"{off_typical(self.own)} ({'; '.join([values] * bool(found) + [allowed])})"

    def to_dict(self) -> dict[str, Any]:
        return {
            "layers": [{"name": node.friendly_name, "type": node.type} for node in self.nodes],
            **({"nodes": [{"name": ref.name, "type": ref.type} for ref in self.origins]} if self.origins else {}),
            "outer": list(self.outer),
            "iteration": self.iteration,
            "step": self.step,
            "own": self.own.to_dict(),
            "tolerance": self.tolerance,
            "changes": self.changes,
            **({"module": self.module} if self.module else {}),
        }

    def rows(self) -> list[dict[str, Any]]:
        """Return the layers as rows of a comparison, for layers inside bodies."""
        known = {"outer": list(self.outer), "agrees": False, "own": self.own.to_dict(), "total": None}
        return [
            {"name": n.friendly_name, "type": n.type, **known, "tolerance": self.tolerance, "step": self.step}
            for n in self.nodes
        ]

    def save(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write the layers as a model with its inputs, and the results of both sides. Raises IRError and OSError.

        The files are culprit.xml, .bin and .npz, and outputs.npz with the other side's results by name, as `--with`
        reads them, and irexec's results as `irexec_...`. If the other side is a model, its layers are other.xml, .bin
        and .npz.
        """
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        begins, part = alone(Cutter(self.model), self.together or self.nodes, list(self.outputs), self.inputs)
        inputs = [self.inputs[value] for value in begins]
        results = function_of(part)(inputs)
        names = archive_names([port_name(port) for port in part.outputs])
        arrays = {}
        for name, value, result in zip(names, self.outputs, results, strict=True):
            kind = ElementType.of(result.dtype)
            arrays[f"irexec_{name}"] = exact_array(result, kind)
            arrays[name] = exact_array(self.outputs[value], kind)
        with together() as files:
            save_arrays(place / FILES[-1], arrays, files)
            saved = Extract(part, inputs, results, True).save(place / FILES[0], files)
            if self.other is not None and (other := self.other()) is not None:
                other.model.file = other.model.source = None
                saved += other.save(place / OTHER_FILES[0], files)
        return [*saved, place / FILES[-1]]


def listed(nodes: Sequence[Node]) -> str:
    """Return the names and types of layers; the first and the last name if there are many."""
    names = [f"{node.friendly_name} ({node.type})" for node in nodes]
    if len(names) > FEW:
        return f"{names[0]} to {names[-1]}, {len(names)} layers"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def alone(
    whole: Cutter, nodes: Sequence[Node], ends: Sequence[Value], values: Mapping[Value, Array]
) -> tuple[list[Value], Model]:
    """Return the values that some layers of a model read, and these layers as a separate model."""
    part = whole.cut(nodes, ends)
    part.model.file = part.model.source = None
    give_types(part, [values[value] for value in part.begins])
    return part.begins, part.model


def function_of(model: Model, moves: Moves = MappingProxyType({})) -> Run:
    """Return the results of a model as a function of its inputs, with some of its values changed."""
    if moves:
        changed = Changed(model)
        return lambda arrays: changed([list(arrays)], change=moves)[0].results
    compiled = CompiledModel(model)
    return lambda arrays: list(compiled.infer_new_request(list(arrays)).to_tuple())


# In bodies


class Compared(Protocol):
    """The comparison of a body: the layer that makes its results wrong, or the first that is wrong by itself."""

    culprit: Culprit | None
    suspect: Culprit | None


def descend(
    suspect: Culprit, whole: Cutter, compare: Callable[[Reference, Runtime], Compared], runtime: Runtime
) -> Culprit | None:
    """Return the first wrong layer inside the bodies of a layer, if there is one. The body is compared as a separate
    model whose steps are its iterations. `whole` cuts the model of the layer; `compare` compares a body.
    """
    (node,) = suspect.nodes
    for number, first, inner in iterations(whole, node, suspect.inputs):
        inside = body_of(runtime, node, number, suspect.step)
        if inside is None:
            continue
        other, recorded = inside
        if recorded is not None and first:
            continue  # All recorded iterations were compared already.
        try:
            compared = compare(inner if recorded is None else Reference(inner.model, recorded), other)
        except CannotRun:
            continue
        found = compared.culprit or compared.suspect
        if found is not None:
            iteration = found.iteration if found.outer else first + found.step
            return replace(found, outer=(node.friendly_name, *found.outer), iteration=iteration, step=suspect.step)
    return None


def body_of(runtime: Runtime, node: Node, number: int, step: int) -> tuple[Runtime, Steps | None] | None:
    """Return the runtime for a body and its inputs, or None if the runtime has no results for the body alone."""
    if runtime.runs_parts:
        return runtime, None
    return runtime.body(node, number, step)


def iterations(whole: Cutter, node: Node, inputs: Mapping[Value, Array]) -> Iterator[tuple[int, int, Reference]]:
    """Yield the bodies of a layer that run, as separate models: the number of the body, the number of the first
    iteration, and the model. Its steps are consecutive iterations, with the inputs that irexec computes; bodies with
    more than FIRST_ITERATIONS are yielded several times. `inputs`: the layer's inputs.
    """
    if not node.bodies:
        return
    begins, part = alone(whole, [node], node.outputs, inputs)
    reference = Reference(part, [[inputs[value] for value in begins]])
    counts = reference.count()
    for number, body in enumerate(node.bodies):
        parameters = [parameter.outputs[0] for parameter in body.model.parameters]
        runs = max((counts.get(inner, 0) for inner in body.model.nodes), default=0)
        begin, count = 0, FIRST_ITERATIONS
        while begin < runs:
            known = reference.record_calls(parameters, range(begin, min(begin + count, runs)))
            steps = [[given[v] if v in given else _unread(v) for v in parameters] for given in known]
            inner = copied(body.model)
            inner.file = inner.source = None
            yield number, begin, Reference(inner, steps)
            begin += count
            size = max(1, sum(array.nbytes for array in steps[0]))
            count = max(1, min(2 * count, _MAX_ITERATIONS, _MAX_BYTES // size))


def _unread(value: Value) -> Array:
    """Return a placeholder for a Parameter that no layer reads: zeros, with the least extents it may have."""
    shape = value.type.shape
    extents = [] if shape.rank is None else [d.min for d in shape]
    return np.zeros(extents, np.float32 if value.element_type is DYNAMIC else value.element_type.dtype)


# Errors that vanish while layers are shown


def look_behind(
    reference: Reference, runtime: Runtime, loaded: Loaded, plain: list[list[Array]], bounds: Bounds | None
) -> tuple[bool, bool, Culprit | None]:
    """Return, for results without a wrong layer: whether they agree, whether observing layers hides the error, and the
    layers that are wrong together, found by cutting the model.

    `plain` are the results of the other side when no layer is observed. Only the first step is used, because later
    steps depend on states.
    """
    model, inputs = reference.model, reference.steps[0]
    computing = _computing(model)
    tolerance = combined(map(tolerance_of, computing))
    if tolerance.kind == "random":
        return True, False, None
    error, agrees = judged(model, [inputs], plain[0], tolerance, bounds)
    if agrees:
        return True, False, None
    ends = [result.inputs[0] for result in model.results]
    try:
        shown = loaded.observe([inputs], [value for node in computing for value in node.outputs])[0]
    except CannotRun:
        shown = {}
    observed = [None if value is None else shown.get(value) for value in ends]
    remaining, vanished = judged(model, [inputs], observed, tolerance, bounds)
    if not any(o is not None for o in observed) or not (vanished and error.ulp > MARGIN * remaining.ulp):
        return False, False, None
    return False, True, _cut_there(reference, runtime, loaded, computing, bounds) if runtime.runs_parts else None


def _computing(model: Model) -> list[Node]:
    constant = constant_nodes(model)
    return [n for n in model.nodes if can_be_cut(n.type, n.operator) and n not in constant]


def _cut_there(
    reference: Reference, runtime: Runtime, loaded: Loaded, computing: list[Node], bounds: Bounds | None
) -> Culprit | None:
    """Return the smallest group of layers that is wrong when only the values that leave it are observed."""
    for nodes in _candidates(loaded.fused(), computing):
        culprit = _together(reference, runtime, nodes, bounds)
        while culprit is not None and len(nodes) > 1:
            fewer = ((rest, _together(reference, runtime, rest, bounds)) for rest in (nodes[1:], nodes[:-1]))
            smaller = next(((rest, found) for rest, found in fewer if found is not None), None)
            if smaller is None:
                break
            nodes, culprit = smaller
        if culprit is not None:
            return culprit
    return None


def _candidates(fused: list[list[str]], computing: list[Node]) -> Iterator[list[Node]]:
    """Yield layers that the runtime may fuse: those that it reports as fused, then increasingly many neighbours."""
    for names in fused:
        group = [node for node in computing if node.friendly_name in names]
        if len(group) > 1:
            yield group
    size = 2
    while size < 2 * len(computing):
        for begin in range(0, max(1, len(computing) - size // 2), size // 2):
            yield computing[begin : begin + size]
        size *= 2


def _together(reference: Reference, runtime: Runtime, nodes: list[Node], bounds: Bounds | None) -> Culprit | None:
    """Return these layers as a culprit; None if their results are correct, or if they cannot be run alone."""
    ends = leaving(reference.model, nodes)
    whole = Cutter(reference.model)
    part = whole.cut(nodes, ends)
    given = reference.record(part.begins)[0]
    if any(value not in given for value in part.begins):
        return None
    begins, model = alone(whole, nodes, ends, given)
    inputs = [given[value] for value in begins]
    try:
        other = runtime.load(model).results([inputs])[0]
    except CannotRun:
        return None
    tolerance: Tolerance = combined(map(tolerance_of, nodes))
    own, agrees = judged(model, [inputs], other, tolerance, bounds)
    if agrees:
        return None
    text = str(bounds) if bounds is not None else tolerance_text(tolerance, ends[0].element_type)
    made = dict(zip(ends, other, strict=True))
    limit = 0.0 if bounds is not None else max(tolerance.ulp, FUSED)
    return Culprit(reference.model, nodes, (), own, text, inputs=given, outputs=made, limit=limit)
