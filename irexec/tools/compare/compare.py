"""Comparing two runs of a model layer by layer: the layers that introduce an error, and those that propagate it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from irexec.core.diagnostics import Diagnostic, IRError, Report
from irexec.core.records import replace
from irexec.core.structure import ASSIGN, READ_VALUE
from irexec.core.types import Array
from irexec.model.arrays.brief import shown
from irexec.model.graph.cut import Cutter
from irexec.model.graph.model import Model
from irexec.model.graph.ports import port_name
from irexec.ops.spec.traits import Random
from irexec.tools.compare.causes import cause, nearly_read
from irexec.tools.compare.common import common
from irexec.tools.compare.compensation import ROUNDING, removed
from irexec.tools.compare.coverage import can_differ
from irexec.tools.compare.culprit import FEW, Culprit, descend, look_behind
from irexec.tools.compare.errors import NONE, Bounds, Error, measure, within, worst
from irexec.tools.compare.explained import MARGIN, explained, unexplained
from irexec.tools.compare.layers import Comparing
from irexec.tools.compare.onnx_nodes import not_read
from irexec.tools.compare.other_causes import changed, failing, layout, misread_result, replaced, where, wrong_state
from irexec.tools.compare.remarks import remarks
from irexec.tools.compare.result import NOTABLE, Comparison, Row, few
from irexec.tools.compare.runtimes.runtime import (
    CannotRun,
    Described,
    Failed,
    HasLayerPairs,
    HasModules,
    OtherModel,
    Recorded,
    Runtime,
)
from irexec.tools.compare.slips import first_piece, slipped
from irexec.tools.compare.tolerances import FUSED
from irexec.tools.compare.variants import widened
from irexec.tools.run.record import Reference
from irexec.tools.status import Progress


def compare(
    reference: Reference,
    runtime: Runtime,
    *,
    bounds: Bounds | None = None,
    window: int | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Compare irexec's run with another run. Raises IRError if irexec cannot run the model, CannotRun if the
    other runtime cannot, or if it is a recording of a run with unknown inputs.

    The own error of a layer is the difference between the other side's result and the result of irexec for the other
    side's inputs of the layer. `window`: the number of layers whose values are held in memory at once.
    """
    if reference.chosen and isinstance(runtime, Recorded) and runtime.given(reference.model) is None:
        raise CannotRun(
            f"the inputs of {runtime.name} are not known: give the values of {few(reference.chosen)} for which its "
            "results were computed",
            "U006",
        )
    sides = common(reference, runtime) if isinstance(runtime, OtherModel) else None
    if sides is not None:
        reference, runtime = sides.reference, sides.runtime
    reference.hold()
    model, steps = reference.model, reference.steps
    loaded = runtime.load(model)
    found = Comparison(
        runtime.name, loaded.precision, model.file, about=loaded.about if isinstance(loaded, Described) else {}
    )
    if sides is not None:
        found.unpaired = sides.results
    layer_pairs = loaded.layer_pairs if isinstance(loaded, HasLayerPairs) else None
    found.exact = layer_pairs is not None
    plain: list[list[Array]] = []
    failed: Failed | None = None
    try:
        plain = loaded.results(steps)
    except Failed as error:
        # The layers before the failing one are compared.
        failed, found.failure = error, str(error)
    try:
        errors = _errors(reference, plain)
    except IRError as error:
        raise IRError(Report([_with_answer(finding, found.other, model, plain) for finding in error.report])) from error
    if plain:
        found.plain = plain
        for index, port in enumerate(model.outputs):
            found.results.append((port_name(port), worst(step[index] for step in errors)))
        found.empty = not any(can_differ(array) for step in plain for array in step) and not any(
            can_differ(array) for step in reference.results() for array in step
        )

    def inside(suspect: Culprit) -> Culprit | None:
        return descend(suspect, whole, lambda inner, other: compare(inner, other, bounds=bounds).culprit, runtime)

    whole = Cutter(model)
    comparing = Comparing(reference, whole, loaded, bounds, inside, layer_pairs)
    if layer_pairs is not None:
        comparing.restored = dict(zip(model.results, (error for _, error in found.results), strict=False))
    for done, total, rows in comparing.rows(window):
        found.rows += rows
        if progress is not None:
            progress(done, total)
    found.layers = len(comparing.nodes)
    found.notes = [*remarks(found.rows, reference, comparing.shapes, layer_pairs)]
    if sides is not None:
        found.notes += [*sides.results[1:], *sides.inputs]
    if isinstance(loaded, HasModules) and (names := loaded.unpaired):
        found.notes.append(f"not in the model: {few(names)}")
    found.suspect = comparing.first(found.rows, stays=True)
    # After an error in the run, later layers cannot show whether they compensate for wrong values.
    found.culprit = comparing.first(found.rows, stays=found.same or failed is not None)
    if found.exact and found.culprit is None and plain and not found.same:
        # Errors for which later layers seem to compensate may be the only cause of different results.
        found.culprit = cause(reference, loaded, comparing.compensated(found.rows), plain)
        found.culprit = found.culprit or nearly_read(reference, loaded, found.rows)
    is_noisy = not found.exact and not comparing.unfused and bounds is None
    if is_noisy and not found.same and found.culprit is not None and _is_marginal(found.rows):
        # An error slightly beyond its tolerance counts if it affects the results.
        found.culprit = None
    if found.culprit is None and not found.same and comparing.unfused:
        # If no layers were fused, rounding does not explain the error of an exact layer.
        found.culprit = comparing.first([r for r in found.rows if not r.limit and not r.made_up_for], stays=True)
    if failed is not None and (found.culprit is None or len(found.culprit.nodes) > 1):
        # Shapes that follow from the failing layer may differ before it fails.
        causes = failing(reference.model, layer_pairs, failed.layer)
        if found.culprit is None or (causes is not None and {*causes.nodes} <= {*found.culprit.nodes}):
            found.culprit = causes
    if found.culprit is not None and comparing.noise is None and bounds is None and failed is None and not found.same:
        # A normalization removes other scales, for example, and rounds differently.
        gone = removed(reference, loaded, found.rows, [error for _, error in found.results])
        rest = comparing.first([row for row in found.rows if row.node not in gone], stays=False) if gone else None
        if rest is not None or (gone and all(error.is_rounding(ROUNDING) for _, error in found.results)):
            found.culprit = rest
    elif found.culprit is None and plain and not found.same:
        _judge_results(found, comparing, runtime, plain, errors)
        if not found.results_agree and found.culprit is None and not found.hidden:
            # Errors for which other layers seemed to compensate may be the cause nevertheless.
            found.culprit = comparing.first(found.rows, stays=True)
    if found.culprit is not None and len(found.culprit.nodes) > 1 and found.culprit.outputs and not found.hidden:
        found.culprit = slipped(reference, loaded, found.culprit, comparing.noise)
        if layer_pairs is not None and len(found.culprit.nodes) > 1:
            found.culprit = replaced(layer_pairs, found.culprit)
        if len(found.culprit.nodes) > FEW:
            found.culprit = first_piece(model, found.culprit, comparing.noise)
    culprit = found.culprit
    if isinstance(loaded, HasLayerPairs) and culprit is not None and culprit.other is None:
        nodes, ends = culprit.together or culprit.nodes, [*culprit.outputs]
        culprit.other = partial(loaded.extract, steps, nodes, ends, culprit.step)
    if culprit is not None:
        culprit.network = isinstance(loaded, HasModules)
        found.notes += not_read(model.file, runtime.name, culprit)
    if not found.exact and found.suspect is not None:
        found.layout = layout(reference, found.suspect)
    return found


def _with_answer(finding: Diagnostic, other: str, model: Model, plain: Sequence[Sequence[Array]]) -> Diagnostic:
    """Return the error for which irexec computes no results, with those of the other side."""
    if not plain:
        return finding
    results = [f"{port_name(port)} {shown(array)}" for port, array in zip(model.outputs, plain[0], strict=False)]
    return replace(finding, notes=(*finding.notes, (other, f"computes results all the same: {', '.join(results)}")))


def _errors(reference: Reference, plain: Sequence[Sequence[Array]]) -> list[list[Error]]:
    """Return the errors of the other side's results, per step."""
    steps = zip(reference.results(), plain, strict=False)
    return [[measure(a, b) for a, b in zip(ours, theirs, strict=True)] for ours, theirs in steps]


def _units(row: Row) -> float:
    """Return the own error of a layer in units in the last place; 0 for a layer that chose another integer."""
    assert row.own is not None
    return 0.0 if row.own.whole else row.own.ulp if row.agrees else row.limit


def _is_marginal(rows: Sequence[Row]) -> bool:
    """Return whether no layer is off by much more than its tolerance."""
    return all(row.agrees or row.is_marginal for row in rows)


def _judge_results(
    found: Comparison,
    comparing: Comparing,
    runtime: Runtime,
    plain: list[list[Array]],
    errors: list[list[Error]],
) -> None:
    """Decide whether results that are not equal agree, if no layer is wrong by itself."""
    reference, bounds = comparing.reference, comparing.bounds
    found.random, random = _random(found, reference.model)
    errors = [[NONE if index in random else error for index, error in enumerate(step)] for step in errors]
    if bounds is not None:
        steps = zip(reference.results(), plain, errors, strict=True)
        agrees = all(not e or within(a, b, bounds) for step in steps for a, b, e in zip(*step, strict=True))
    else:
        exact = {row.node for row in found.rows if found.exact and not comparing.is_restructured(row)}
        own = {row.node: _units(row) for row in found.rows if row.own is not None}
        # Layers that are not observed may be off by their tolerance if a later layer chose another integer.
        behind = [row for row in found.rows if row.behind and row.own is not None and row.own.whole]
        own |= {node: row.limit for row in behind for node in row.behind}
        # A runtime that exposes no layers fuses some of them, and then rounds differently.
        least = 0.0 if comparing.unfused else FUSED
        units = {node: error if node in exact else max(least, error) for node, error in own.items()}
        if found.exact:
            # The other side computes layers without a counterpart with other layers, which round differently.
            units = {node: FUSED for node in comparing.nodes if node not in exact} | units
        # If a layer exceeds its tolerance, results may differ only as far as tolerances explain, without a margin.
        margin = MARGIN if found.exact or all(row.agrees for row in found.rows) else 1.0
        finite = {node: error if math.isfinite(error) else FUSED for node, error in units.items()}
        explains = explained(reference, finite, errors, plain, margin)
        if not found.exact:
            limits = {row.node: max(row.limit, row.noise) for row in found.rows}
            ends = [
                limits.get(v.node, 0.0) for result in reference.model.results for v in result.inputs if v is not None
            ]
            explains = [
                [bound if error.whole else max(bound, end) for error, bound, end in zip(*step, ends, strict=True)]
                for step in zip(errors, explains, strict=True)
            ]
        # In another export of a network, layers that are not the same may have been paired.
        reexport = found.exact and len(exact) < len(found.rows)
        compensated = (row for row in found.rows if row.compensated and not row.made_up_for)
        changes = any(row.node in exact for row in compensated) and not reexport
        agrees = not unexplained(errors, explains) and not changes
        if not agrees and not found.exact and (wide := widened(reference.model)) is not None:
            # The other side may decompress in f32 the weights that the model decompresses in f16.
            alike = _errors(Reference(wide, reference.steps), plain)
            alike = [[NONE if index in random else error for index, error in enumerate(step)] for step in alike]
            agrees = not unexplained(alike, explains)
    owns = [row.own for row in found.rows]
    seen = not found.exact and comparing.noise is None and bounds is None and not found.unseen and not any(owns)
    if agrees and seen and owns and any(error.relative > NOTABLE for step in errors for error in step):
        # Without any error of a layer there is none that could accumulate: the other side computes something else if
        # its layers are not observed.
        found.results_agree, found.hidden = False, True
    if agrees:
        return
    found.results_agree = False
    if found.exact:
        found.culprit = changed(reference.model, comparing.layer_pairs, reference.model.results)
        if found.culprit is None or not _reads_a_paired_layer(comparing, found.culprit):
            found.culprit = _before_result(comparing, errors) or found.culprit
    else:
        found.culprit = wrong_state(reference, comparing.loaded, comparing.written, errors)
        found.culprit = found.culprit or misread_result(reference, comparing.loaded, plain, errors)
        if found.culprit is None:
            _, found.hidden, found.culprit = look_behind(reference, runtime, comparing.loaded, plain, bounds)
    found.where = where(found.rows, comparing.together)


def _random(found: Comparison, model: Model) -> tuple[list[str], set[int]]:
    """Return the names of layers with random or undefined values that differ or were not seen, and the numbers of the
    results that depend on one of them.
    """
    alike = {row.node for row in found.rows if row.total is not None and not row.total}
    undefined = {row.node for row in found.rows if row.undefined}
    random = [node for node in model.nodes if Random in node.traits or node in undefined]
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


def _reads_a_paired_layer(comparing: Comparing, culprit: Culprit) -> bool:
    """Return whether the culprit differs in more than reading layers that have no counterpart."""
    return comparing.layer_pairs is not None and comparing.layer_pairs.is_changed(culprit.nodes[0])


def _before_result(comparing: Comparing, errors: Sequence[Sequence[Error]]) -> Culprit | None:
    """Return the layers that compute a wrong result and have no counterparts in the other model, back to layers with
    counterparts.
    """
    model, layer_pairs = comparing.reference.model, comparing.layer_pairs
    for index, result in enumerate(model.results):
        error, step = max(((made[index], step) for step, made in enumerate(errors)), key=lambda pair: pair[0].ulp)
        node = result.inputs[0].node if result.inputs[0] is not None else None
        if not error or node is None or node not in comparing.nodes or layer_pairs is None:
            continue
        if layer_pairs.alignment.forward.get(node) is None:
            nodes = comparing.together.of(node)[0]
            return Culprit(model, nodes, (), error, comparing.tolerance_text(nodes), step)
    return None
