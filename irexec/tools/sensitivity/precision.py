"""Simulating a model in another precision: overflow, accuracy loss, and the layers to keep in f32."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

from irexec.api.opsets.nodes import constant_node
from irexec.core.structure import CONVERT, SOURCES, STRUCTURAL
from irexec.core.types import BF16, F16, F32, Array, ElementType, TensorType
from irexec.model.graph.copies import copy_with_map
from irexec.model.graph.model import Model, Node, Value
from irexec.model.graph.order import ordered
from irexec.model.graph.ports import port_name
from irexec.ops.spec.contents import load
from irexec.runtime.engine import CompiledModel
from irexec.tools.compare.delta import fewest
from irexec.tools.compare.errors import Error, measure
from irexec.tools.compare.tolerances import combined, tolerance_of
from irexec.tools.run.record import Reference

KINDS = {"f16": F16, "bf16": BF16}
# The path to an overflow is followed back to values below this fraction of the limit.
_SMALL = 1 / 64
_LONGEST_WAY = 8
# The least number of units of the type that rounding explains, even if operators are exact.
_LEAST_EXPLAINED = 16.0
# Types of the layers whose values a layer kept in f32 reads without conversion.


@dataclass(slots=True)
class Magnitudes:
    """One f32 layer: its largest magnitude, how many of its `count` values become denormal or zero, and how many are
    NaN or infinite."""

    node: Node
    largest: float = 0.0
    count: int = 0
    denormal: int = 0
    zero: int = 0
    not_finite: int = 0


@dataclass(slots=True)
class Lowered:
    """A run in another precision. `broken` is the first layer with a NaN or infinity that does not occur in f32, or
    None; `by_reader`: the value was produced by rounding the layer's result. `results` are the errors of the results
    relative to f32, in units of the type, and `explained` is the number of units that rounding explains.
    """

    broken: Node | None
    by_reader: bool
    results: list[tuple[str, Error]]
    explained: float

    @property
    def fine(self) -> bool:
        """Whether no layer overflows, and no more accuracy is lost than rounding explains."""
        return self.broken is None and all(error.ulp <= self.explained for _, error in self.results)


@dataclass(slots=True)
class Forecast:
    """A simulation of a model in another precision. `way` lists the layers leading to the first layer that overflows,
    which is the last one; `kept` are the layers that correct the results when kept in f32, and `fixed` is the run
    with these layers, or None if there are none.
    """

    kind: ElementType
    layers: list[Magnitudes]
    run: Lowered
    way: list[Magnitudes] = field(default_factory=list)
    kept: list[Node] | None = None
    fixed: Lowered | None = None

    @property
    def limit(self) -> float:
        """The largest number of the type."""
        return limit_of(self.kind)

    @property
    def verdict(self) -> str:
        """The outcome of the simulation, in one line."""
        broken = self.run.broken
        if broken is None:
            more = "" if self.run.fine else ", which is more than rounding causes"
            return f"in {self.kind} no layer overflows; {_loss(self.run.results)}{more}"
        largest = next((row.largest for row in self.layers if row.node is broken), 0.0)
        name = f"{broken.friendly_name} ({broken.type})"
        if largest > self.limit:
            return f"in {self.kind} {name} overflows: its largest value {largest:.6g} exceeds {self.limit:.6g}"
        return f"in {self.kind} {name} is the first layer to produce NaN or infinity"

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {
            "type": str(self.kind),
            "limit": self.limit,
            "verdict": self.verdict,
            "first": None if self.run.broken is None else self.run.broken.friendly_name,
            "way": [row.node.friendly_name for row in self.way],
            "keep": None if self.kept is None else [node.friendly_name for node in self.kept],
            "loss": _losses(self.run),
            "fixed": None if self.fixed is None else _losses(self.fixed),
            "layers": [
                {
                    "name": row.node.friendly_name,
                    "type": row.node.type,
                    "largest": row.largest,
                    "denormal": row.denormal / max(1, row.count),
                    "zero": row.zero / max(1, row.count),
                }
                for row in self.layers
            ],
        }


def forecast(reference: Reference, kind: ElementType) -> Forecast:
    """Simulate storing all f32 values as `kind`: the result of each layer is rounded once. Raises IRError."""
    expected, layers = _measured(reference, kind)
    trial = _Trial(reference, kind, expected, {row.node: row.not_finite for row in layers})
    found = Forecast(kind, layers, trial.run(()))
    if found.run.fine:
        return found
    if found.run.broken is not None:
        found.way = _way(found.run.broken, {row.node: row for row in layers}, found.limit)
    kept = trial.fixing(sorted(layers, key=lambda row: -(row.zero + row.denormal) / max(1, row.count)))
    if kept is not None:
        order = [node for node in reference.model.walk() if node in kept]
        found.kept = fewest(order, lambda nodes: trial.run(nodes).fine)
        found.fixed = trial.run(found.kept)
    return found


def magnitudes(reference: Reference, kind: ElementType) -> list[Magnitudes]:
    """Return the magnitudes of the results of all f32 layers in a run. Raises IRError."""
    return _measured(reference, kind)[1]


def limit_of(kind: ElementType) -> float:
    """Return the largest number of a type."""
    return float(_info(kind).max)


def lowered(model: Model, kind: ElementType, keep: Collection[Node] = ()) -> tuple[Model, dict[Node, Node]]:
    """Return the model with every f32 value rounded to `kind` by two Converts, and the original layer of each layer.

    Layers in `keep` read each other's results in f32; all other layers read them rounded. Constants are clamped
    to the limits of the type, as OpenVINO does when it compresses a model.
    """
    made, copies = copy_with_map(model)
    origin = {copy: node for node, copy in copies.items()}
    kept = {copies[node] for node in keep}
    for level in _levels(made):
        _lower(level, kind, kept, origin)
    return made, origin


def _levels(model: Model) -> list[Model]:
    return [model, *(deeper for n in model.nodes for b in n.bodies for deeper in _levels(b.model))]


def _lower(model: Model, kind: ElementType, kept: Collection[Node], origin: dict[Node, Node]) -> None:
    for value in [value for node in model.nodes for value in node.outputs if value.element_type is F32]:
        coarse = None
        for node, index in value.uses():
            if node in kept and (value.node in kept or value.node.type in SOURCES):
                continue
            if coarse is None:
                coarse = rounded(value, kind, origin, model.node_class)
            node.replace_input_with(index, coarse)
    model.nodes = ordered([*model.parameters, *model.sinks, *model.results])


def rounded(value: Value, kind: ElementType, origin: dict[Node, Node], node_class: type[Node]) -> Value:
    """Return the value after a Convert to the type and back."""
    node = value.node
    if node.constant is not None:
        limit = float(_info(kind).max)
        with np.errstate(all="ignore"):
            array = np.where(np.isfinite(node.constant), np.clip(node.constant, -limit, limit), node.constant)
        array = array.astype(kind.dtype)
        value = constant_node(node_class, array, element_type=kind, name=node.friendly_name).outputs[0]
        origin[value.node] = origin[node]
        steps = [F32]
    else:
        steps = [kind, F32]
    for step in steps:
        name = f"{node.friendly_name}/{step}"
        convert = node_class(load(CONVERT, 1), [value], {"destination_type": step}, name=name)
        convert.set_outputs([TensorType(step, value.type.shape)])
        origin[convert] = origin[node]
        value = convert.outputs[0]
    return value


# Measuring


class _Measuring:
    """A listener that measures the results of f32 layers."""

    def __init__(self, kind: ElementType) -> None:
        info = _info(kind)
        self.rows: dict[Node, Magnitudes] = {}
        self._normal, self._least = float(info.smallest_normal), float(info.smallest_subnormal) / 2

    def before(self, node: Node, inputs: Sequence[Array | None]) -> None:
        """Do nothing: there are no results before a layer runs."""

    def after(self, node: Node, inputs: Sequence[Array | None], outputs: Sequence[Array], seconds: float) -> None:
        for array in outputs:
            if array.dtype == np.float32 and array.size:
                row = self.rows.setdefault(node, Magnitudes(node))
                size = np.abs(array)
                finite = np.isfinite(size)
                row.largest = max(row.largest, float(size.max(where=finite, initial=0.0)))
                row.count += array.size
                row.not_finite += array.size - int(np.count_nonzero(finite))
                small = (size < self._normal) & (size > 0)
                zero = int(np.count_nonzero(small & (size <= self._least)))
                row.zero += zero
                row.denormal += int(np.count_nonzero(small)) - zero


class _Breaking:
    """A listener that records the first layer of a lowered model with more NaN and infinities than f32 has."""

    def __init__(self, origin: dict[Node, Node], allowed: dict[Node, int]) -> None:
        self.broken: Node | None = None
        self.converting = False
        self._origin, self._left = origin, dict(allowed)

    def before(self, node: Node, inputs: Sequence[Array | None]) -> None:
        """Do nothing: there are no results before a layer runs."""

    def after(self, node: Node, inputs: Sequence[Array | None], outputs: Sequence[Array], seconds: float) -> None:
        if self.broken is not None:
            return
        source = self._origin[node]
        for array in outputs:
            kind = ElementType.of(array.dtype)
            if kind in (F32, F16, BF16) and array.size:
                wide = array if kind is not BF16 else array.astype(np.float32)
                count = array.size - int(np.count_nonzero(np.isfinite(wide)))
                # A layer in a body runs once per call, and so does the layer that rounds its result.
                if count and count > self._left.get(source, 0):
                    self.broken, self.converting = source, source.type != node.type


class _Trial:
    """Runs of one model in another precision, with some layers kept in f32."""

    def __init__(
        self, reference: Reference, kind: ElementType, expected: list[list[Array]], allowed: dict[Node, int]
    ) -> None:
        self._reference, self._kind, self._expected, self._allowed = reference, kind, expected, allowed
        tolerance = combined(map(tolerance_of, reference.model.nodes))
        self._explained = math.inf if tolerance.kind == "random" else max(tolerance.ulp, _LEAST_EXPLAINED)

    def run(self, keep: Iterable[Node]) -> Lowered:
        """Return a run with these layers kept in f32. Raises IRError."""
        model, origin = lowered(self._reference.model, self._kind, {*keep})
        listener = _Breaking(origin, self._allowed)
        request = CompiledModel(model).create_infer_request([listener])
        found = [list(request.infer(step).to_tuple()) for step in self._reference.steps]
        results = []
        for index, port in enumerate(self._reference.model.outputs):
            pairs = zip(self._expected, found, strict=True)
            errors = [measure(ours[index], theirs[index], self._kind_of(ours[index])) for ours, theirs in pairs]
            results.append((port_name(port), max(errors, key=lambda error: error.relative)))
        return Lowered(listener.broken, listener.converting, results, self._explained)

    def _kind_of(self, array: Array) -> ElementType:
        kind = ElementType.of(array.dtype)
        return self._kind if kind is F32 else kind

    def fixing(self, losing: list[Magnitudes]) -> set[Node] | None:
        """Return layers that correct the results when kept in f32; None if no such layers were found. `losing`: the
        layers that lose most.
        """
        kept = self._unbroken()
        count = 1
        while kept is not None and not self.run(kept).fine:
            if count >= 2 * len(losing):
                return None
            kept |= {row.node for row in losing[:count]}
            kept = self._unbroken(kept)
            count *= 2
        return kept

    def _unbroken(self, kept: Iterable[Node] = ()) -> set[Node] | None:
        """Return `kept` and further layers to keep in f32, so that none overflows; None if that is impossible."""
        kept = {*kept}
        while (run := self.run(kept)).broken is not None:
            broken = run.broken
            more = {broken}
            if run.by_reader and (broken in kept or broken.type in SOURCES):
                more = {user for value in broken.outputs if value.element_type is F32 for user in value.users}
            elif broken in kept:
                more = {value.node for value in broken.inputs if value is not None and value.element_type is F32}
            more = {node for node in more - kept if node.type not in STRUCTURAL}
            if not more:
                return None
            kept |= more
        return kept


def _measured(reference: Reference, kind: ElementType) -> tuple[list[list[Array]], list[Magnitudes]]:
    measuring = _Measuring(kind)
    request = CompiledModel(reference.model).create_infer_request([measuring])
    expected = [list(request.infer(step).to_tuple()) for step in reference.steps]
    return expected, list(measuring.rows.values())


def _way(last: Node, rows: dict[Node, Magnitudes], limit: float) -> list[Magnitudes]:
    """Return the layers leading to `last`, found by following the input with the largest magnitude of each layer."""
    way: list[Magnitudes] = []
    node: Node | None = last
    while node is not None and len(way) < _LONGEST_WAY:
        if node in rows:
            way.append(rows[node])
        if way and way[-1].largest < _SMALL * limit and node is not last:
            break
        given = [value.node for value in node.inputs if value is not None and value.node in rows]
        node = max(given, key=lambda source: rows[source].largest, default=None)
    return way[::-1]


def _losses(run: Lowered) -> list[dict[str, Any]]:
    return [{"name": name, **error.to_dict()} for name, error in run.results]


def _loss(results: list[tuple[str, Error]]) -> str:
    worst = max(results, key=lambda entry: entry[1].relative, default=None)
    if worst is None or not worst[1]:
        return "the results are unchanged"
    return f"{worst[0]} loses {100 * worst[1].relative:.2g} %"


def _info(kind: ElementType) -> Any:
    return np.finfo(np.float16) if kind is F16 else ml_dtypes.finfo(ml_dtypes.bfloat16)  # type: ignore[no-untyped-call]
