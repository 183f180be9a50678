"""Comparing two runs of a model layer by layer: the layers that introduce an error, and those that propagate it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from irexec.core.diagnostics import Diagnostic, IRError, Report
from irexec.core.records import replace
from irexec.core.types import Array
from irexec.model.arrays.brief import shown
from irexec.model.graph.model import Model
from irexec.model.graph.ports import port_name
from irexec.tools.compare.common import common
from irexec.tools.compare.coverage import can_differ
from irexec.tools.compare.culprit import FEW, Culprit, descend
from irexec.tools.compare.errors import Bounds, measure, worst
from irexec.tools.compare.judging import Judging
from irexec.tools.compare.known_causes import beginning, known_cause
from irexec.tools.compare.layers import Comparing
from irexec.tools.compare.onnx_nodes import not_read
from irexec.tools.compare.other_causes import failing, layout, replaced
from irexec.tools.compare.proof import proof_of
from irexec.tools.compare.remarks import not_used, remarks
from irexec.tools.compare.result import Comparison, few
from irexec.tools.compare.runtimes.runtime import (
    CannotRun,
    Failed,
    Loaded,
    OtherModel,
    Runtime,
)
from irexec.tools.compare.slips import first_piece, slipped
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
    if reference.chosen and runtime.is_recording and runtime.given(reference.model) is None:
        raise CannotRun(
            f"the inputs of {runtime.name} are not known: give the values of {few(reference.chosen)} for which its "
            "results were computed",
            "U006",
        )
    sides = common(reference, runtime) if isinstance(runtime, OtherModel) else None
    if sides is not None:
        reference, runtime = sides.reference, sides.runtime
    reference.hold()
    loaded = runtime.load(reference.model)
    found = Comparison(runtime.name, loaded.precision, reference.model.file, about=loaded.about)
    found.exact = loaded.layer_pairs is not None
    failed = _with_results(found, reference, loaded)
    inner = partial(compare, bounds=bounds)
    comparing = Comparing(reference, loaded, bounds, lambda suspect, whole: descend(suspect, whole, inner, runtime))
    for done, total, rows in comparing.rows(window):
        found.layers += rows
        if progress is not None:
            progress(done, total)
    found.count = len(comparing.nodes)
    found.notes = [*remarks(found.layers, reference, comparing.shapes, comparing.layer_pairs)]
    if sides is not None:
        found.unpaired = sides.results
        found.notes += [*sides.results[1:], *sides.inputs]
    if names := loaded.unpaired:
        found.notes.append(f"not in the model: {few(names)}")
    found.suspect = next(iter(comparing.suspects.values()), None)
    if failed is not None:
        found.culprit = _before_failure(found.suspect, comparing, failed)
    elif not found.same:
        Judging(found, comparing, runtime).judge()
    if found.common_agree and runtime.runs_parts and not found.exact:
        found.not_used = dict(not_used(found.layers))
    for row in found.layers:
        row.compensated = not row.agrees and found.culprit is None and found.results_agree
    if found.culprit is not None:
        found.culprit = _completed(found.culprit, comparing, hidden=found.hidden)
        found.notes += not_read(reference.model.file, runtime.name, found.culprit)
    if found.culprit is not None and failed is None:
        found.proof = found.proof or proof_of(reference, loaded, found.culprit, found.plain)
    if not found.exact and not found.common_agree and failed is None:
        wrong = found.culprit or beginning(found.layers, comparing)
        found.cause = known_cause(wrong) if wrong is not None else ""
    if not found.exact and found.suspect is not None:
        found.layout = layout(reference, found.suspect)
    return found


def _with_results(found: Comparison, reference: Reference, loaded: Loaded) -> Failed | None:
    """Add the other side's results, and their errors; return the failure of a side that cannot compute them: layers
    before the failing one are compared.
    """
    try:
        found.plain = loaded.results(reference.steps)
    except Failed as error:
        found.failure = str(error)
        return error
    try:
        ours = reference.results()
    except IRError as error:
        model, theirs = reference.model, found.plain
        raise IRError(
            Report([_with_answer(finding, found.other, model, theirs) for finding in error.report])
        ) from error
    pairs = [list(zip(*step, strict=True)) for step in zip(ours, found.plain, strict=False)]
    for index, port in enumerate(reference.model.outputs):
        found.results.append((port_name(port), worst(measure(*step[index]) for step in pairs)))
    found.empty = not any(can_differ(array) for step in pairs for pair in step for array in pair)
    return None


def _with_answer(finding: Diagnostic, other: str, model: Model, plain: Sequence[Sequence[Array]]) -> Diagnostic:
    """Return the error for which irexec computes no results, with those of the other side."""
    if not plain:
        return finding
    results = [f"{port_name(port)} {shown(array)}" for port, array in zip(model.outputs, plain[0], strict=False)]
    return replace(finding, notes=(*finding.notes, (other, f"computes results all the same: {', '.join(results)}")))


def _before_failure(suspect: Culprit | None, comparing: Comparing, failed: Failed) -> Culprit | None:
    """Return the first wrong layer before a failing layer. Shapes that follow from a layer may differ before it."""
    if suspect is not None and len(suspect.nodes) == 1:
        return suspect
    causes = failing(comparing.reference.model, comparing.layer_pairs, failed.layer)
    is_inside = suspect is None or (causes is not None and {*causes.nodes} <= {*suspect.nodes})
    return causes if is_inside else suspect


def _completed(culprit: Culprit, comparing: Comparing, *, hidden: bool) -> Culprit:
    """Return the culprit with fewer layers, if an experiment tells them apart, and with the other side's layers."""
    reference, loaded, noise = comparing.reference, comparing.loaded, comparing.noise
    pairs = comparing.layer_pairs
    # What rounding explains by itself, any connection explains as well.
    is_choice = culprit.nodes[-1] in comparing.chosen
    if len(culprit.nodes) > 1 and culprit.outputs and not hidden and not is_choice:
        culprit = slipped(reference, loaded, culprit, noise)
        if pairs is not None and len(culprit.nodes) > 1:
            culprit = replaced(pairs, culprit)
        if len(culprit.nodes) > FEW:
            culprit = first_piece(reference.model, culprit, noise)
    if pairs is not None and culprit.other is None:
        nodes, ends = culprit.together or culprit.nodes, [*culprit.outputs]
        culprit.other = partial(loaded.extract, reference.steps, nodes, ends, culprit.step)
    culprit.network = loaded.has_modules
    return culprit
