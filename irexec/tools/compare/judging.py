"""The judgement of a comparison whose results are not equal: whether rounding explains them, or which layers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

from irexec.core.diagnostics import IRError
from irexec.core.structure import ASSIGN, READ_VALUE
from irexec.core.types import Array
from irexec.model.graph.cut import cut
from irexec.model.graph.model import Model, Node, Value
from irexec.ops.spec.traits import Random
from irexec.tools.compare.blame import Experiments, blame, largest
from irexec.tools.compare.culprit import Culprit, listed, look_behind
from irexec.tools.compare.errors import Error, measure, off, shown_part
from irexec.tools.compare.layers import Comparing
from irexec.tools.compare.numbers import DEEP, FUSED, MARGIN, NOISE_MARGIN
from irexec.tools.compare.other_causes import changed, misread_result, where, wrong_state
from irexec.tools.compare.proof import with_ours
from irexec.tools.compare.remarks import ties
from irexec.tools.compare.result import Comparison, Row
from irexec.tools.compare.rounding import Allowance, Results, Rounding, Within
from irexec.tools.compare.runtimes.runtime import CannotRun, Runtime
from irexec.tools.compare.variants import decompressed
from irexec.tools.cut.extract import give_types
from irexec.tools.run.record import Reference


class Judging:
    """Decides about one comparison. `found`: its rows and results, to which the verdict is added."""

    def __init__(self, found: Comparison, comparing: Comparing, runtime: Runtime) -> None:
        self._found, self._comparing, self._runtime = found, comparing, runtime
        self._reference, self._model = comparing.reference, comparing.reference.model
        self._set_aside()

    def _set_aside(self) -> None:
        """Take irexec's results for those that depend on random or undefined values: they are not judged."""
        self._found.random, self._random = _random(self._found, self._model)
        self._other: Results = [
            [right if index in self._random else other for index, (right, other) in enumerate(zip(a, b, strict=True))]
            for a, b in zip(self._reference.results(), self._found.plain, strict=True)
        ]

    def judge(self) -> None:
        """Set the verdict: agreement, the layers that are blamed, or an unexplained difference."""
        found, suspects = self._found, self._comparing.suspects
        experiments, strict, loose = self._experiments(), *self._allowances()
        blamed = blame(experiments, self._other, strict, loose)
        unclear = [row for row in found.layers if row.undefined == "some"]
        if not blamed.agrees and not blamed.nodes and unclear:
            for row in unclear:
                row.undefined = "all"
            self._set_aside()
            blamed = blame(experiments, self._other, strict, loose)
        if not blamed.agrees and not blamed.nodes and self._comparing.chosen:
            # Each of these choices is rounding, but not all of them together.
            suspects |= self._comparing.chosen
            experiments, strict, loose = self._experiments(), *self._allowances()
            blamed = blame(experiments, self._other, strict, loose)
            for row in found.layers:
                row.agrees &= row.node not in blamed.nodes
        if blamed.agrees or (not blamed.nodes and self._is_decompressed(loose)):
            found.hidden = self._is_fused
            found.results_agree = not found.hidden
            found.notes += ties(self._reference, self._other)
            return
        found.results_agree = False
        # Errors of values that have another shape on the other side cannot be added to irexec's.
        if nodes := blamed.nodes or [node for node in suspects if node not in experiments.suspects]:
            # Weights that one of the models stores in fewer bits are named if nothing else is wrong.
            pairs = self._comparing.layer_pairs
            first = [node for node in nodes if pairs is None or not pairs.is_narrowed(node)] or nodes
            found.culprit = suspects[first[0]]
            found.proof = self._proof(experiments, blamed.nodes, strict) if blamed.nodes else ""
        else:
            self._explain()

    def _experiments(self) -> Experiments:
        """Return the experiments with the errors of the suspects."""
        deltas = {node: delta for node, delta in self._comparing.deltas.items() if node in self._comparing.suspects}
        return Experiments(self._reference, deltas, self._with_values)

    def _allowances(self) -> tuple[Allowance, Allowance]:
        """Return the rounding of all layers but the suspects, and that of all layers."""
        comparing, found = self._comparing, self._found
        if comparing.bounds is not None:
            within = Within(self._reference.results(), comparing.bounds)
            return within, within
        suspects = comparing.suspects.keys()
        behind = {n for row in found.layers if row.node in suspects and not _is_whole(row) for n in row.behind}
        margin = MARGIN if comparing.noise is None else NOISE_MARGIN
        units = {n: max(u, FUSED) if n in suspects else u for n, u in self._units.items()}
        loose = Rounding(self._reference, units, margin)
        others = {n: u for n, u in self._units.items() if n not in suspects and n not in behind}
        return Rounding(self._reference, others, margin), loose

    @cached_property
    def _units(self) -> dict[Node, float]:
        """The rounding of layers in units in the last place: their own errors, or the tolerances of the suspects."""
        found, comparing = self._found, self._comparing
        exact = {row.node for row in found.layers if found.exact and not comparing.is_restructured(row)}
        own = {row.node: _units(row) for row in found.layers if row.own is not None}
        # Layers that are not observed may be off by their tolerance if a later layer chose another integer.
        behind = [row for row in found.layers if row.behind and _is_whole(row)]
        own |= {node: row.limit for row in behind for node in row.behind}
        # A runtime that exposes no layers fuses some of them, and then rounds differently.
        least = 0.0 if comparing.unfused else FUSED
        units = {node: error if node in exact else max(least, error) for node, error in own.items()}
        if found.exact:
            # The other side computes layers without a counterpart with other layers, which round differently.
            units = {node: FUSED for node in comparing.nodes if node not in exact} | units
        return {node: error if math.isfinite(error) else FUSED for node, error in units.items()}

    def _is_decompressed(self, allowance: Allowance) -> bool:
        """Return whether the results are those of weights that are decompressed in f32 instead of f16."""
        wide = None if self._found.exact else decompressed(self._model)
        if wide is None or not isinstance(allowance, Rounding):
            return False
        return allowance.explains(self._other, Reference(wide, self._reference.steps).results())

    @property
    def _is_fused(self) -> bool:
        """Whether the results differ although no observed layer has any error that could accumulate: the other side
        computes something else if its layers are not observed.
        """
        found, comparing = self._found, self._comparing
        if found.exact or comparing.noise is not None or comparing.bounds is not None or found.unseen:
            return False
        notable = any(error.relative > DEEP for step in self._errors for error in step)
        return bool(found.layers) and not any(row.own for row in found.layers) and notable

    @property
    def _errors(self) -> list[list[Error]]:
        steps = zip(self._reference.results(), self._other, strict=True)
        return [[measure(a, b) for a, b in zip(ours, theirs, strict=True)] for ours, theirs in steps]

    def _proof(self, experiments: Experiments, nodes: Sequence[Node], strict: Allowance) -> str:
        """Return the two experiments that show that these layers make the difference."""
        names, error = listed(nodes) if len(nodes) > 1 else nodes[0].friendly_name, experiments.error(nodes)
        text = f"with the error of {names}, "
        text += "irexec cannot be run" if error is None else f"irexec's results are {off(error)} as well"
        repaired = self._repaired(nodes[0]) if len(nodes) == 1 else None
        if repaired is not None:
            left = largest(self._reference.results(), repaired)
            return f"{text}; with irexec's {names}, those of the other side are {off(left) if left else 'equal'}"
        if not isinstance(strict, Rounding):
            return text
        moved = strict.largest
        return f"{text}; rounding of all others changes them by {shown_part(moved) if moved else 'nothing'}"

    def _right(self, node: Node) -> list[dict[Value, Array]]:
        """Return irexec's values of a layer for the other side's inputs, per step."""
        known = [{v: right for v, (right, _) in delta.items()} for delta in self._comparing.deltas[node]]
        return known + [{} for _ in range(len(self._reference.steps) - len(known))]

    def _with_values(self, node: Node) -> Results | None:
        """Return the results of another model that has irexec's values of a layer; None for other sides."""
        return self._comparing.loaded.changed(self._reference.steps, self._right(node))

    def _repaired(self, node: Node) -> Results | None:
        """Return the other side's results if it has irexec's values of a layer; None if it cannot be run with them."""
        if self._found.exact:
            suspect = self._comparing.suspects[node]
            repaired = None if suspect.outer else with_ours(self._reference, self._comparing.loaded, suspect)
            return repaired or self._with_values(node)
        steps, known = self._reference.steps, self._right(node)
        part = cut(self._model, [other for other in self._model.nodes if other is not node], self._model.results)
        given = [
            dict(zip(self._model.inputs, step, strict=True)) | made for step, made in zip(steps, known, strict=True)
        ]
        if not self._runtime.runs_parts or any(value not in step for step in given for value in part.begins):
            return None
        try:
            inputs = [[step[value] for value in part.begins] for step in given]
            give_types(part, inputs[0])
            found = self._runtime.load(part.model).results(inputs)
        except (CannotRun, IRError):
            return None
        return [
            [a if index in self._random else b for index, (a, b) in enumerate(zip(x, y, strict=True))]
            for x, y in zip(self._reference.results(), found, strict=True)
        ]

    def _explain(self) -> None:
        """Search for the cause of results that no layer's own error explains."""
        found, comparing, errors = self._found, self._comparing, self._errors
        if found.exact:
            found.culprit = changed(self._model, comparing.layer_pairs, self._model.results)
            if found.culprit is None or not self._reads_a_paired_layer(found.culprit):
                found.culprit = self._before_result(errors) or found.culprit
        else:
            found.culprit = wrong_state(self._reference, comparing.loaded, comparing.written, errors)
            found.culprit = found.culprit or misread_result(self._reference, comparing.loaded, found.plain, errors)
            if found.culprit is None:
                _, found.hidden, found.culprit = look_behind(
                    self._reference, self._runtime, comparing.loaded, found.plain, comparing.bounds
                )
        found.where = where(found.layers, comparing.together)

    def _reads_a_paired_layer(self, culprit: Culprit) -> bool:
        """Return whether the culprit differs in more than reading layers that have no counterpart."""
        pairs = self._comparing.layer_pairs
        return pairs is not None and pairs.is_changed(culprit.nodes[0])

    def _before_result(self, errors: Sequence[Sequence[Error]]) -> Culprit | None:
        """Return the layers that compute a wrong result and have no counterparts in the other model, back to layers
        with counterparts.
        """
        comparing, pairs = self._comparing, self._comparing.layer_pairs
        for index, result in enumerate(self._model.results):
            error, step = max(((made[index], step) for step, made in enumerate(errors)), key=lambda pair: pair[0].ulp)
            node = result.inputs[0].node if result.inputs[0] is not None else None
            if not error or node is None or node not in comparing.nodes or pairs is None:
                continue
            if pairs.alignment.forward.get(node) is None:
                nodes = comparing.together.of(node)[0]
                return Culprit(self._model, nodes, (), error, comparing.tolerance_text(nodes), step)
        return None


def _is_whole(row: Row) -> bool:
    return row.own is not None and row.own.whole


def _units(row: Row) -> float:
    """Return the own error of a layer in units in the last place; 0 for a layer that chose another integer."""
    assert row.own is not None
    return 0.0 if row.own.whole else min(row.own.ulp, row.limit)


def _random(found: Comparison, model: Model) -> tuple[list[str], set[int]]:
    """Return the names of layers with random or undefined values that differ or were not seen, and the numbers of the
    results that depend on one of them.
    """
    alike = {row.node for row in found.layers if row.total is not None and not row.total}
    undefined = {row.node for row in found.layers if row.undefined == "all"}
    judged = {row.node for row in found.layers if row.own is not None and (row.own or not row.total)}
    random = [n for n in model.nodes if (Random in n.traits and n not in judged) or n in undefined]
    stack = [node for node in random if node not in alike]
    names, reached = [node.friendly_name for node in stack], {*stack}
    written = {n.attributes.get("variable_id"): n for n in model.nodes if n.type == READ_VALUE}
    while stack:
        node = stack.pop()
        read = written.get(node.attributes.get("variable_id")) if node.type == ASSIGN else None
        readers = [user for value in node.outputs for user in value.users] if read is None else [read]
        stack += [reader for reader in readers if reader not in reached]
        reached.update(readers)
    return names, {index for index, result in enumerate(model.results) if result in reached}
