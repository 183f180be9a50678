"""The layers of a model in both runs, window by window, and which of them are wrong by themselves."""

from __future__ import annotations

import math
from collections import ChainMap
from collections.abc import Callable, Collection, Iterator, Mapping, MutableMapping, Sequence
from contextlib import suppress

import numpy as np

from irexec.core.diagnostics import IRError
from irexec.core.diagnostics.deadline import watched as in_time
from irexec.core.structure import ASSIGN, PARAMETER, READ_VALUE
from irexec.core.types import Array
from irexec.model.arrays.units import apart, unit
from irexec.model.graph.cut import Cutter
from irexec.model.graph.model import Model, Node, Value
from irexec.ops.spec.operator import Tolerance
from irexec.ops.spec.oracle import Undefined
from irexec.runtime.engine.run import HELD_BYTES
from irexec.tools.compare.at_once import at_once
from irexec.tools.compare.blame import Delta
from irexec.tools.compare.coverage import can_differ, watched
from irexec.tools.compare.culprit import Culprit, alone, function_of
from irexec.tools.compare.errors import NONE, Bounds, Error, measure, worst
from irexec.tools.compare.judge import judged, measured
from irexec.tools.compare.layer_pairs import Relation
from irexec.tools.compare.noise import Noise
from irexec.tools.compare.numbers import FUSED, REORDERED
from irexec.tools.compare.result import Row
from irexec.tools.compare.runtimes.runtime import Loaded
from irexec.tools.compare.together import Together
from irexec.tools.compare.tolerances import accumulated, combined, tolerance_of, tolerance_text
from irexec.tools.compare.windows import (
    SHOWN_BYTES,
    comparable,
    observed,
    read_values,
    sizes_of,
    windows,
)
from irexec.tools.run.record import Reference, same

Known = MutableMapping[Value, Array]
Results = Mapping[Node, list[Array]]
# The number of suspects whose inputs and results are kept, and with whose errors irexec runs.
_KEPT = 64


class Comparing:
    """Compares the layers of one model, window by window."""

    def __init__(
        self,
        reference: Reference,
        loaded: Loaded,
        bounds: Bounds | None,
        inside: Callable[[Culprit, Cutter], Culprit | None],
    ) -> None:
        self.reference, self.loaded, self.bounds, self._inside = reference, loaded, bounds, inside
        self._whole = Cutter(reference.model)
        self.layer_pairs = layer_pairs = loaded.layer_pairs
        self.noise = Noise.of(loaded.precision, loaded.about) if layer_pairs is None and bounds is None else None
        # Whether the other side is a recording of irexec, in which no layers were fused.
        recorded = loaded.repeats and layer_pairs is None
        self.unfused = recorded and bounds is None and self.noise is None
        self.shapes: dict[Value, list[tuple[int, ...]]] = {}
        self.suspects: dict[Node, Culprit] = {}
        self.chosen: dict[Node, Culprit] = {}
        """Layers that chose other integers, each within what rounding explains: no suspects, unless rounding does not
        explain the results."""
        self.deltas: dict[Node, list[Delta]] = {}
        """The errors of the suspects and of `chosen` in each step, unless their values have another shape on the other
        side."""
        self.nodes = comparable(reference.model)
        self.written, self._read = _written(reference.model), read_values(reference.model)
        self.together = Together(reference.model, self.nodes, loaded.has_modules)

    def rows(self, window: int | None) -> Iterator[tuple[int, int, list[Row]]]:
        done = 0
        size_of = sizes_of(self.reference.model, self.reference.steps)
        for shown in windows(self.nodes, window, SHOWN_BYTES, size_of):
            for nodes, theirs in observed(self.loaded, self.reference.steps, shown, self._wanted):
                for held in windows(nodes, None, HELD_BYTES, size_of):
                    done += len(held)
                    yield done, len(self.nodes), self._rows(held, theirs)

    def tolerance_text(self, nodes: Sequence[Node]) -> str:
        """Return the text of the tolerance of layers that are judged together."""
        return self._tolerance(nodes, Relation.RESTRUCTURED, {})[1]

    def is_restructured(self, row: Row) -> bool:
        """Return whether the other model has other layers in place of these layers, which may round differently."""
        return (
            self.layer_pairs is not None and self.layer_pairs.relation([*row.behind, row.node]) is Relation.RESTRUCTURED
        )

    def _wanted(self, nodes: Sequence[Node]) -> list[Value]:
        """Return the results and inputs of layers; all from one run, because another run may round differently."""
        values = {value for node in nodes for value in node.outputs if value in self._read}
        given = {value for node in nodes for value in self._given(node, values) if value.node.type != PARAMETER}
        return sorted(values | given, key=_position)

    def _rows(self, nodes: Sequence[Node], theirs: Sequence[Mapping[Value, Array]]) -> list[Row]:
        made = {value for node in nodes for value in node.outputs if value in self._read}
        self.together.shown |= {value for value in made if all(value in step for step in theirs)}
        needed = made | {value for node in nodes for value in self._given(node)}
        looked_at = {value for node in nodes for value in watched(node)}
        mine = self.reference.record(made | looked_at)
        for value in looked_at:
            self.shapes[value] = [step[value].shape for step in mine if value in step]
        held: list[Known] = []
        for step, inputs in zip(theirs, self.reference.steps, strict=False):
            given = dict(zip(self.reference.model.inputs, inputs, strict=True))
            held.append(self.loaded.several(step, [value for value in needed if value in step]) | given)
        single = [node for node in nodes if len(self.together.of(node)[0]) == 1 and not self._is_same(node)]
        right = [at_once(self._whole, single, step) for step in held]
        rows = (self._row(node, mine, held, right) for node in in_time(nodes, "comparing"))
        return [row for row in rows if row is not None]

    def _is_same(self, node: Node) -> bool:
        return self.layer_pairs is not None and self.layer_pairs.relation([node]) is Relation.SAME

    def _given(self, node: Node, soon: Collection[Value] = ()) -> list[Value]:
        """Return the non-constant inputs of a layer and of the layers compared together with it; for a layer that reads
        a variable, also the value written to it. `soon`: values that will be exposed later.
        """
        given = self.together.of(node, soon)[1]
        return [*given, self.written[node]] if node in self.written else given

    def _row(
        self, node: Node, mine: list[dict[Value, Array]], theirs: list[Known], right: Sequence[Results]
    ) -> Row | None:
        """Return the row of a layer. `right`: irexec's results of some layers for the other side's inputs, per step."""
        nodes = self.together.of(node)[0]
        relation = self.layer_pairs.relation(nodes) if self.layer_pairs is not None else None
        tolerance, text = self._tolerance(nodes, relation, ChainMap(mine[0], theirs[0]) if theirs else mine[0])
        if tolerance.kind == "random" and self._repeats(node, mine):
            tolerance, text = Tolerance("exact"), "exact"
        limit = max(tolerance.ulp, FUSED)
        if self.unfused and tolerance.kind == "exact" and len(nodes) == 1:
            text, limit = "exact", 0.0
        row = Row(node, (), True, None, None, text, behind=nodes[:-1], limit=limit)
        row.module = self.loaded.module_of(node)
        seen = False
        for step, (our, their) in enumerate(zip(mine, theirs, strict=False)):
            pairs = [(our[v], their[v], v) for v in node.outputs if v in our and v in their]
            if not pairs:
                continue
            seen = True
            row.can_differ |= any(can_differ(array) for a, b, _ in pairs for array in (a, b))
            total = worst(measure(a, b) for a, b, _ in pairs)
            row.total = total if row.total is None else worst((row.total, total))
            given = self._given(node)
            if node in self.written:
                given = given[-1:] if step else given[:-1]
                made_now = {node.outputs[0]: their[node.outputs[0]]}
                their = ChainMap(made_now, theirs[step - 1]) if step else their
            if tolerance.kind == "random":
                continue
            if any(v not in their for v in given):
                if total and row.agrees and self._reads_another(node):
                    # The expected value has no counterpart.
                    row.own, row.agrees, row.step = total, False, step
                    self._suspect(row, [node], [], {}, total, False, step)
                    self._keep_error(node, step, pairs, [array for array, _, _ in pairs])
                continue
            own, agrees = self._own(row, nodes, given, their, tolerance, step, relation, right[step].get(node))
            if not agrees and own.whole and not own.reason:
                undefined = self._undefined(node, nodes, their)
                local = self._local(nodes, given, their, step, right[step].get(node)) if undefined else []
                some = self._differs_only_in(undefined, node, local, their)
                row.undefined = "all" if undefined == "no result" else "some" if some else ""
                agrees = row.undefined != ""
            if row.own is None or worst((row.own, own)) is not row.own or (row.agrees and not agrees):
                row.own, row.agrees, row.step = own, agrees, step
            if own.whole and not agrees and self.bounds is None:
                row.tolerance, row.limit = "exact", 0.0
            is_choice = own.whole and not row.undefined and node not in self.chosen and self.layer_pairs is None
            if node not in self.suspects and (
                not agrees or is_choice or (node.bodies and relation is not Relation.SAME)
            ):
                self._suspect(row, nodes, given, their, own, agrees, step)
            if own and (node in self.suspects or node in self.chosen):
                local = self._local(nodes, given, their, step, right[step].get(node))
                known = [array for value, array in zip(node.outputs, local, strict=False) if value in their]
                self._keep_error(node, step, pairs, known)
        return row if seen else None

    def _keep_error(
        self, node: Node, step: int, pairs: Sequence[tuple[Array, Array, Value]], right: Sequence[Array]
    ) -> None:
        """Keep the error of a suspect. `pairs`: the values on both sides; `right`: irexec's for the other's inputs."""
        if len(right) < len(pairs) or any(ours.shape != theirs.shape for ours, theirs, _ in pairs):
            self.deltas.pop(node, None)
        if node in self.deltas:
            known = self.deltas[node]
            known += [{} for _ in range(step + 1 - len(known))]
            known[step] = {value: (array, there) for array, (_, there, value) in zip(right, pairs, strict=True)}

    def _local(
        self,
        nodes: Sequence[Node],
        given: Sequence[Value],
        their: Mapping[Value, Array],
        step: int,
        right: list[Array] | None,
    ) -> list[Array]:
        """Return irexec's results of a layer for the other side's inputs; none if it cannot be run with them."""
        node = nodes[-1]
        if right is not None:
            return right
        if node in self.written and step:
            return [their[given[0]]]
        try:
            begins, part = alone(self._whole, nodes, node.outputs, their)
            return function_of(part)([their[v] for v in begins])
        except IRError:
            return []

    def _undefined(self, node: Node, nodes: Sequence[Node], their: Mapping[Value, Array]) -> Undefined:
        """Return the part of a layer's result that is undefined for the other side's inputs, as of a division of
        integers by zero.
        """
        if len(nodes) > 1 or node.bodies or self.layer_pairs is not None or node.operator is None:
            return False
        given = [
            None if v is None else v.node.constant if v.node in self._whole.constant else their[v] for v in node.inputs
        ]
        return node.operator.oracle.undefined(*given, **node.all_attributes)

    @staticmethod
    def _differs_only_in(
        undefined: Undefined, node: Node, right: Sequence[Array], their: Mapping[Value, Array]
    ) -> bool:
        """Return whether the elements of a layer's results that differ are undefined."""
        if not isinstance(undefined, tuple):
            return False
        known = zip(undefined, right, node.outputs, strict=False)
        return bool(right) and all(np.all((apart(a, their[v]) == 0) | mask) for mask, a, v in known if v in their)

    def _reads_another(self, node: Node) -> bool:
        """Return whether a layer, or the layer that assigns the variable which it reads, differs in the other model."""
        pairs = self.layer_pairs
        if pairs is None:
            return False
        return any(pairs.changes(known) for known in (node, pairs.assigned(node)) if known is not None)

    def _repeats(self, node: Node, mine: Sequence[Mapping[Value, Array]]) -> bool:
        """Return whether the other side computes the same random values if its seeds are the same."""
        if self.layer_pairs is None and self.unfused:
            again = self.reference.record(node.outputs)
            return all(same(a[v], b[v]) for a, b in zip(mine, again, strict=True) for v in node.outputs if v in a)
        return self.layer_pairs is not None

    def _tolerance(
        self, nodes: Sequence[Node], relation: Relation | None, known: Mapping[Value, Array]
    ) -> tuple[Tolerance, str]:
        """Return the tolerance of the last layer together with the layers `behind` it, and its text."""
        kind = nodes[-1].outputs[0].element_type
        tolerance = (
            tolerance_of(nodes[0], known) if len(nodes) == 1 else combined(tolerance_of(n, known) for n in nodes)
        )
        if self.layer_pairs is not None or self.loaded.precision != str(kind):
            tolerance = accumulated(tolerance, kind)
        if self.bounds is not None:
            return tolerance, str(self.bounds)
        if relation in (Relation.SAME, Relation.CHANGED) and tolerance.kind != "random":
            return tolerance, "exact"
        return tolerance, tolerance_text(tolerance, kind)

    def _suspect(
        self,
        row: Row,
        nodes: list[Node],
        given: Sequence[Value],
        their: Mapping[Value, Array],
        own: Error,
        agrees: bool,
        step: int,
    ) -> None:
        """Keep a layer that is wrong, or whose bodies may contain a wrong layer."""
        node = nodes[-1]
        if len(self.suspects) >= _KEPT:
            return
        kept = {v: their[v] for v in given}
        made = {v: their[v] for v in node.outputs if v in their}
        changes = self.layer_pairs.changes(node) if self.layer_pairs is not None else []
        pairs = self.layer_pairs
        if pairs is not None and len(nodes) > 1 and (not pairs.is_changed(node) or pairs.is_replaced(node)):
            changes = []
        elif pairs is not None and len(nodes) > 1:
            # The layers after it have no counterparts because this layer reads another value.
            with suppress(IRError):  # The layers could not be computed from their inputs.
                nodes, kept = [node], self._inputs_of(node, nodes[:-1], kept)
        model, limit = self.reference.model, 0.0
        if row.tolerance.endswith(f" of {node.outputs[0].element_type}"):
            limit = row.limit
        suspect = Culprit(model, nodes, (), own, row.tolerance, step, None, kept, made, changes, row.module, limit)
        assigned = self.layer_pairs.assigned(node) if self.layer_pairs is not None else None
        if self.layer_pairs is not None and assigned is not None and (changes := self.layer_pairs.changes(assigned)):
            suspect = Culprit(suspect.model, [assigned], (), own, row.tolerance, step, changes=changes)
        # An error inside a body may not affect its results: for example, the index of the largest value may stay.
        enters = len(nodes) == 1 and not (pairs is not None and pairs.has_exchanged_bodies(node))
        found = self._inside(suspect, self._whole) if node.bodies and enters else None
        if found is None and agrees and own.whole and not row.undefined:
            self.chosen[node], self.deltas[node] = suspect, []
        elif found is not None or not agrees:
            self.chosen.pop(node, None)
            self.suspects[node] = found or suspect
            self.deltas.setdefault(node, [])
            row.agrees, row.changed = False, self.layer_pairs is not None and self.layer_pairs.is_changed(node)

    def _inputs_of(self, node: Node, behind: Sequence[Node], given: Mapping[Value, Array]) -> dict[Value, Array]:
        """Return the inputs of a layer, computed by the layers `behind` it."""
        ends = [v for v in node.inputs if v is not None and v.node not in self._whole.constant and v not in given]
        begins, part = alone(self._whole, behind, ends, given)
        made = function_of(part)([given[v] for v in begins])
        return {**given, **dict(zip(ends, made, strict=True))}

    def _own(
        self,
        row: Row,
        nodes: Sequence[Node],
        given: Sequence[Value],
        their: Mapping[Value, Array],
        tolerance: Tolerance,
        step: int,
        relation: Relation | None,
        right: list[Array] | None,
    ) -> tuple[Error, bool]:
        """Return the own error of a layer together with the layers `behind` it, and whether it agrees. The row gets
        another tolerance if the other side computes with fewer bits. `right`: irexec's results, if they are known.
        """
        node = nodes[-1]
        if relation is Relation.SAME:
            return NONE, True
        if node in self.written and step:
            # A variable contains the value assigned in the previous step.
            error = measure(their[given[0]], their[node.outputs[0]])
            return error, not error
        # The same kernels round equally, and exact kernels do not round: the difference is not rounding.
        exact = (relation is Relation.CHANGED and self.bounds is None) or not row.limit
        outputs = [their.get(v) for v in node.outputs]
        if right is not None:
            error, agrees = measured(right, outputs, tolerance, self.bounds)
            if agrees:
                return error, not (exact and error)
        begins, part = alone(self._whole, nodes, node.outputs, their)
        inputs = [their[v] for v in begins]
        try:
            error, agrees = judged(part, [inputs], outputs, tolerance, self.bounds)
            if not agrees and self.noise is not None and self.noise.applies(nodes):
                noisy = self.noise.judge(part, inputs, outputs)
                if noisy is not None:
                    row.tolerance = noisy.tolerance
                    error, agrees = noisy.own, noisy.agrees
                    row.limit = max(row.limit, error.ulp) if agrees else row.limit
        except IRError as failed:
            return Error(math.inf, math.inf, math.inf, reason=f"refused by irexec: {failed.report.errors[0]}"), False
        if relation is Relation.RESTRUCTURED and self.bounds is None:
            # Kernels are the same: sums in another order differ by little, however sensitive the layers are.
            agrees &= error.relative <= max(row.limit, REORDERED) * float(unit(1.0, node.outputs[0].element_type))
        return error, agrees and not (exact and error)


def _position(value: Value) -> tuple[str, str, int]:
    return value.node.friendly_name, value.node.id, value.index


def _written(model: Model) -> dict[Node, Value]:
    """Return the values written to the variables that layers read."""
    ids = {n.attributes.get("variable_id"): n.inputs[0] for n in model.nodes if n.type == ASSIGN}
    found: dict[Node, Value] = {}
    for node in model.nodes:
        value = ids.get(node.attributes.get("variable_id")) if node.type == READ_VALUE else None
        if value is not None:
            found[node] = value
    return found
