"""Comparing two runs of a model layer by layer: the layers that introduce an error, and those that propagate it."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Collection, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from irexec.debug.culprit import Culprit, alone, descend, function_of, look_behind
from irexec.debug.errors import Bounds, Error, measure
from irexec.debug.hints import LOWER, hints
from irexec.debug.record import Reference
from irexec.debug.runtimes import Loaded, Runtime
from irexec.debug.together import Together
from irexec.debug.tolerances import combined, tolerance_of, tolerance_text
from irexec.debug.variants import judge_model
from irexec.debug.windows import HELD_BYTES, SHOWN_BYTES, comparable, observed, read_values, windows
from irexec.diagnostics.deadline import watched
from irexec.graph.cut import Cutter
from irexec.graph.model import Model, Node, Value
from irexec.ops.declare.operator import Tolerance
from irexec.runs.run import port_name
from irexec.types import Array

Progress = Callable[[int, int], None]
Known = MutableMapping[Value, Array]


@dataclass(slots=True)
class Row:
    """One layer in both runs: the largest error of all steps, and the step where it occurred.

    `behind` lists preceding layers that the other side does not expose; they are judged together with this one. `own`
    is None if the inputs of these layers are unknown, or if the results are random.
    """

    node: Node
    outer: tuple[str, ...]
    agrees: bool
    own: Error | None
    total: Error | None
    tolerance: str
    step: int = 0
    behind: Sequence[Node] = ()

    def to_dict(self) -> dict[str, Any]:
        """The row in the form of `Compared`, which `irexec report` reads."""
        return {
            "name": self.node.friendly_name,
            "type": self.node.type,
            "behind": [node.friendly_name for node in self.behind],
            "outer": list(self.outer),
            "agrees": self.agrees,
            "own": self.own.to_dict() if self.own is not None else None,
            "total": self.total.to_dict() if self.total is not None else None,
            "tolerance": self.tolerance,
            "step": self.step,
        }


@dataclass(slots=True)
class Comparison:
    """Two runs of one model. `results` contains the errors of the results when no layer was exposed.

    `hidden`: the results differ by more than rounding explains, but not when layers are exposed. `results_agree` is
    False if the results differ and no layer's own error explains it. `precision`: the type in which the other runtime
    computes, if it reports one. `file`: the file of the model.
    """

    other: str
    precision: str = ""
    file: str | None = None
    rows: list[Row] = field(default_factory=list)
    results: list[tuple[str, Error]] = field(default_factory=list)
    culprit: Culprit | None = None
    hidden: bool = False
    results_agree: bool = True
    layers: int = 0

    @property
    def unseen(self) -> int:
        """How many layers could not be judged, neither alone nor together with those that they are given to."""
        return self.layers - len({node for row in self.rows if row.own is not None for node in (row.node, *row.behind)})

    @property
    def agrees(self) -> bool:
        return self.culprit is None and self.results_agree

    @property
    def verdict(self) -> str:
        """The outcome of the comparison, in one line."""
        unseen = f" ({self.unseen} of them not observed)" if self.unseen else ""
        if self.culprit is None and self.results_agree:
            agree = "the one layer agrees" if self.layers == 1 else f"all {self.layers} layers agree"
            return f"{agree} with {self.other}{unseen}"
        if self.culprit is not None:
            layers = "layers" if len(self.culprit.nodes) > 1 else "layer"
            text = f"first wrong {layers}: {self.culprit.described}: {self.culprit.numbers}"
            if self.precision in LOWER:
                text += f"; the other runtime computes in {self.precision}"
            return f"{text}; only if the layers between them are not observed" if self.hidden else text
        if self.hidden:
            return "the results differ, but not when layers are observed; no part of the model differs by itself"
        return f"the results differ by more than rounding explains, but every layer is within its tolerance{unseen}"

    @property
    def hints(self) -> list[str]:
        """Possible causes of the verdict, and suggested next steps."""
        return list(hints(self.other, self.precision, self.culprit, [error for _, error in self.results], self.file))

    def to_dict(self) -> dict[str, Any]:
        """The comparison in the form of `Comparison`, which `irexec report` reads, with more fields."""
        inner = self.culprit is not None and bool(self.culprit.outer)
        return {
            "kind": "compare",
            "reference": "irexec",
            "other": self.other,
            "precision": self.precision,
            "verdict": self.verdict,
            "hints": self.hints,
            "agrees": self.agrees,
            "hidden": self.hidden,
            "unseen": self.unseen,
            "culprit": self.culprit.to_dict() if self.culprit is not None else None,
            "results": [{"name": name, "total": error.to_dict()} for name, error in self.results],
            "layers": [*(row.to_dict() for row in self.rows), *(self.culprit.rows() if inner and self.culprit else [])],
        }


def compare(
    reference: Reference,
    runtime: Runtime,
    *,
    bounds: Bounds | None = None,
    window: int | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Compare irexec's run with another one. Raises IRError if irexec cannot run the model, CannotRun if the other
    cannot.

    The own error of a layer is the difference between the other side's result and the result of irexec for the other
    side's inputs of the layer. `window`: the number of layers whose values are held in memory at once.
    """
    model, steps = reference.model, reference.steps
    loaded = runtime.load(model)
    found = Comparison(runtime.name, loaded.precision, model.file)
    plain = loaded.results(steps)
    runs = list(zip(reference.results(), plain, strict=True))
    for index, port in enumerate(model.outputs):
        errors = [measure(ours[index], theirs[index]) for ours, theirs in runs]
        found.results.append((port_name(port), max(errors, key=lambda error: error.ulp)))

    def inside(suspect: Culprit) -> Culprit | None:
        return descend(suspect, whole, lambda inner, other: compare(inner, other, bounds=bounds).culprit, runtime)

    whole = Cutter(model)
    comparing = _Comparing(reference, whole, loaded, bounds, inside)
    for done, total, rows in comparing.rows(window):
        found.rows += rows
        if progress is not None:
            progress(done, total)
    found.layers = len(comparing.nodes)
    found.culprit = comparing.culprit
    if found.culprit is None:
        found.results_agree, found.hidden, found.culprit = look_behind(reference, runtime, loaded, plain, bounds)
        # If every layer was observed, the remaining difference is accumulated rounding.
        found.results_agree |= not found.hidden and not found.unseen
    return found


class _Comparing:
    """The layers of one model, window by window."""

    def __init__(
        self,
        reference: Reference,
        whole: Cutter,
        loaded: Loaded,
        bounds: Bounds | None,
        inside: Callable[[Culprit], Culprit | None],
    ) -> None:
        self.reference, self.loaded, self.bounds, self._inside = reference, loaded, bounds, inside
        self._whole = whole
        self.culprit: Culprit | None = None
        self.nodes = comparable(reference.model)
        self._written, self._read = _written(reference.model), read_values(reference.model)
        self._together = Together(reference.model, self.nodes)

    def rows(self, window: int | None) -> Iterator[tuple[int, int, list[Row]]]:
        done = 0
        for shown in windows(self.nodes, window, SHOWN_BYTES):
            for nodes, theirs in observed(self.loaded, self.reference.steps, shown, self._wanted):
                for held in windows(nodes, None, HELD_BYTES):
                    done += len(held)
                    yield done, len(self.nodes), self._rows(held, theirs)

    def _wanted(self, nodes: Sequence[Node]) -> list[Value]:
        """The results and inputs of layers; all from one run, because another run may round differently."""
        values = {value for node in nodes for value in node.outputs if value in self._read}
        given = {value for node in nodes for value in self._given(node, values) if value.node.type != "Parameter"}
        return sorted(values | given, key=_position)

    def _rows(self, nodes: Sequence[Node], theirs: Sequence[Mapping[Value, Array]]) -> list[Row]:
        made = {value for node in nodes for value in node.outputs if value in self._read}
        self._together.shown |= {value for value in made if all(value in step for step in theirs)}
        needed = made | {value for node in nodes for value in self._given(node)}
        mine = self.reference.record(made)
        held: list[Known] = []
        for step, inputs in zip(theirs, self.reference.steps, strict=True):
            given = dict(zip(self.reference.model.inputs, inputs, strict=True))
            held.append({value: step[value] for value in needed if value in step} | given)
        return [row for node in watched(nodes, "comparing") if (row := self._row(node, mine, held)) is not None]

    def _given(self, node: Node, soon: Collection[Value] = ()) -> list[Value]:
        """The non-constant inputs of a layer and the layers `behind` it; for a layer that reads a variable, also the
        value written to it. `soon`: values that will be exposed later.
        """
        given = self._together.of(node, soon)[1]
        return [*given, self._written[node]] if node in self._written else given

    def _row(self, node: Node, mine: list[dict[Value, Array]], theirs: list[Known]) -> Row | None:
        nodes = self._together.of(node)[0]
        known = ChainMap(mine[0], theirs[0])
        tolerance = tolerance_of(node, known) if len(nodes) == 1 else combined(tolerance_of(n, known) for n in nodes)
        kind = node.outputs[0].element_type
        text = str(self.bounds) if self.bounds is not None else tolerance_text(tolerance, kind)
        row = Row(node, (), True, None, None, text, behind=nodes[:-1])
        seen = False
        for step, (our, their) in enumerate(zip(mine, theirs, strict=True)):
            pairs = [(our[v], their[v], v) for v in node.outputs if v in our and v in their]
            if not pairs:
                continue
            seen = True
            total = max((measure(a, b) for a, b, v in pairs), key=lambda e: e.ulp)
            if row.total is None or total.ulp > row.total.ulp:
                row.total = total
            given = self._given(node)
            if node in self._written:
                given = given[-1:] if step else given[:-1]
                made_now = {node.outputs[0]: their[node.outputs[0]]}
                their = ChainMap(made_now, theirs[step - 1]) if step else their
            if tolerance.kind == "random" or any(v not in their for v in given):
                continue
            own, agrees = self._own(nodes, given, their, tolerance, step)
            if row.own is None or own.ulp > row.own.ulp or (row.agrees and not agrees):
                row.own, row.agrees, row.step = own, agrees, step
            if self.culprit is None and (not agrees or node.bodies):
                kept = {v: their[v] for v in given}
                made = {v: their[v] for v in node.outputs if v in their}
                suspect = Culprit(self.reference.model, nodes, (), own, text, step, None, kept, made)
                # An error inside a body may not affect its results: for example, the index of the largest value may
                # stay the same.
                found = self._inside(suspect) if node.bodies and len(nodes) == 1 else None
                self.culprit = found or (None if agrees else suspect)
                row.agrees &= self.culprit is None
        return row if seen else None

    def _own(
        self,
        nodes: Sequence[Node],
        given: Sequence[Value],
        their: Mapping[Value, Array],
        tolerance: Tolerance,
        step: int,
    ) -> tuple[Error, bool]:
        node = nodes[-1]
        if node in self._written and step:
            # A variable contains the value assigned in the previous step.
            error = measure(their[given[0]], their[node.outputs[0]])
            return error, not error
        begins, part = alone(self._whole, nodes, node.outputs, their)
        inputs, outputs = [their[v] for v in begins], [their.get(v) for v in node.outputs]
        return judge_model(part, function_of, inputs, outputs, tolerance, self.bounds)


def _position(value: Value) -> tuple[str, str, int]:
    return value.node.friendly_name, value.node.id, value.index


def _written(model: Model) -> dict[Node, Value]:
    """The values written to the variables that layers read."""
    ids = {n.attributes.get("variable_id"): n.inputs[0] for n in model.nodes if n.type == "Assign"}
    found: dict[Node, Value] = {}
    for node in model.nodes:
        value = ids.get(node.attributes.get("variable_id")) if node.type == "ReadValue" else None
        if value is not None:
            found[node] = value
    return found
