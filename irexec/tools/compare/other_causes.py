"""The layers that may cause a difference although no layer's own error exceeds its tolerance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import permutations

from irexec.core.structure import ASSIGN, READ_VALUE
from irexec.core.types import Array
from irexec.model.arrays.brief import shown_shape
from irexec.model.graph.model import Model, Node, Value
from irexec.model.graph.ports import port_name
from irexec.tools.compare.coverage import can_differ
from irexec.tools.compare.culprit import FEW, Culprit, listed
from irexec.tools.compare.errors import NONE, Error, measure, worst
from irexec.tools.compare.layer_pairs import LayerPairs
from irexec.tools.compare.numbers import ENOUGH, FUSED, MARGIN
from irexec.tools.compare.result import Row
from irexec.tools.compare.runtimes.runtime import CannotRun, Loaded
from irexec.tools.compare.together import Together
from irexec.tools.compare.windows import SHOWN_BYTES, comparable, observed, sizes_of, windows
from irexec.tools.run.record import Reference, known_value, same

# The largest number of axes whose orders are tried.
_MOST_AXES = 5


def changed(model: Model, layer_pairs: LayerPairs | None, nodes: Sequence[Node]) -> Culprit | None:
    """Return the first of these layers that differs in the other model, even if its results do not differ."""
    for node in nodes if layer_pairs is not None else ():
        if layer_pairs is not None and (changes := layer_pairs.changes(node)):
            return Culprit(model, [node], (), NONE, "exact", changes=changes)
    return None


def replaced(pairs: LayerPairs, culprit: Culprit) -> Culprit:
    """Return layers that are wrong together, with the layers that the other model has in their place. Of more than
    three layers, the last one is left out if it only follows the others.
    """
    *before, node = culprit.nodes
    theirs = pairs.inserted(node)
    changes = [f"the other model has {listed(theirs)} instead"] if theirs and not culprit.changes else []
    nodes = before if len(before) >= FEW and pairs.only_follows(node, before) else culprit.nodes
    return replace(culprit, nodes=nodes, changes=culprit.changes + changes, together=culprit.together or culprit.nodes)


def failing(model: Model, layer_pairs: LayerPairs | None, layer: str) -> Culprit | None:
    """Return the layer that makes the other model fail: the nearest changed layer before the layer that fails there.

    `layer`: the name of the layer that fails. If the runtime reports only this name, that layer is returned.
    """
    if layer_pairs is None:
        here = next((node for node in model.nodes if node.friendly_name == layer), None)
        return None if here is None else Culprit(model, [here], (), NONE, "exact", changes=["fails"])
    there = next((node for node in layer_pairs.alignment.b.nodes if node.friendly_name == layer), None)
    here = layer_pairs.alignment.back.get(there) if there is not None else None
    if here is None:
        return changed(model, layer_pairs, model.nodes)
    found = changed(model, layer_pairs, _backwards(model, here))
    return found or Culprit(model, [here], (), NONE, "exact")


def _backwards(model: Model, node: Node) -> list[Node]:
    """Return the layer and the layers from which it is computed, the nearest first, including those that assign the
    variables it reads.
    """
    assigned = {sink.attributes.get("variable_id"): sink for sink in model.sinks if sink.type == ASSIGN}
    found, queue = {node}, [node]
    for top in queue:
        sources = [value.node for value in top.inputs if value is not None]
        if top.type == READ_VALUE and (sink := assigned.get(top.attributes.get("variable_id"))) is not None:
            sources.append(sink)
        for source in sources:
            if source not in found:
                found.add(source)
                queue.append(source)
    return queue


def wrong_state(
    reference: Reference, loaded: Loaded, written: Mapping[Node, Value], errors: Sequence[Sequence[Error]]
) -> Culprit | None:
    """Return the variables that differ from their assigned values after the first such step whose results agree.

    `written`: the values that are assigned to the variables which layers read. `errors`: the errors of the
    results, per step. A runtime may keep variables in another type without exposing it.
    """
    if not written or len(errors) < 2:
        return None
    theirs = loaded.states(reference.steps)
    mine = reference.record(set(written.values()))
    for step, (known, there) in enumerate(zip(mine, theirs, strict=True)):
        least = MARGIN * max(FUSED, *(error.ulp for error in errors[step]))
        wrong: dict[Node, Array] = {}
        apart: list[Error] = []
        for node, value in written.items():
            state = there.get(str(node.attributes.get("variable_id")))
            if state is None or value not in known or state.size != known[value].size:
                continue
            state = state.reshape(known[value].shape)
            error = measure(known[value], state)
            if error.ulp > least:
                wrong[node] = state.astype(known[value].dtype)
                apart.append(error)
        if wrong:
            one = "the variable differs from the value" if len(wrong) == 1 else "the variables differ from the values"
            text = f"{one} assigned in step {step}, although the results agree"
            outputs = {node.outputs[0]: state for node, state in wrong.items()}
            own = worst(apart)
            return Culprit(reference.model, [*wrong], (), own, "exact", step + 1, changes=[text], outputs=outputs)
    return None


def misread_result(
    reference: Reference, loaded: Loaded, plain: Sequence[Sequence[Array]], errors: Sequence[Sequence[Error]]
) -> Culprit | None:
    """Return the result of the model that has the value of another layer on the other side.

    `plain`: the other side's results, per step; `errors`: the errors of these results.
    """
    model = reference.model
    wrong = [index for index in range(len(model.results)) if any(step[index] for step in errors)]
    size_of = sizes_of(model, reference.steps)
    for nodes in windows(comparable(model), None, SHOWN_BYTES, size_of):
        for _, seen in observed(
            loaded, reference.steps, nodes, lambda some: [v for node in some for v in node.outputs]
        ):
            for index in wrong:
                result = model.results[index]
                for value in seen[0] if seen else ():
                    if value is result.inputs[0]:
                        continue
                    results = [made[index] for made in plain]
                    if _is_read(value, seen, results) and not _reads_source(reference, loaded, result, results):
                        error = worst(step[index] for step in errors)
                        text = f"reads {value.node.friendly_name} instead of {_source(result)}"
                        return Culprit(model, [result], (), error, "exact", changes=[text])
    return _without_layers(reference, plain, errors, wrong) or _unequal_to_source(reference, loaded, plain, errors)


def _is_read(value: Value, seen: Sequence[Mapping[Value, Array]], results: Sequence[Array]) -> bool:
    """Return whether a result of the other side, given per step, is one of its values."""
    steps = zip(seen, results, strict=False)
    return bool(seen) and all(value in step and _is_equal(step[value], array) for step, array in steps)


def _reads_source(reference: Reference, loaded: Loaded, result: Node, results: Sequence[Array]) -> bool:
    """Return whether a result of the other side equals the other side's value of the layer that this Result reads."""
    source = result.inputs[0]
    with suppress(CannotRun):
        return source is not None and _is_read(source, loaded.observe(reference.steps, [source]), results)
    return False


def _without_layers(
    reference: Reference, plain: Sequence[Sequence[Array]], errors: Sequence[Sequence[Error]], wrong: Sequence[int]
) -> Culprit | None:
    """Return the wrong result that is an input of the other model, or should be an input or a constant."""
    model = reference.model
    for index in wrong:
        result = model.results[index]
        steps = [(step, made[index]) for step, made in zip(reference.steps, plain, strict=True)]
        read = [v for k, v in enumerate(model.inputs) if all(_is_equal(step[k], made) for step, made in steps)]
        value = result.inputs[0]
        if read or (value is not None and (value in model.inputs or known_value(value) is not None)):
            text = f"reads {read[0].node.friendly_name} instead of {_source(result)}" if read else ""
            text = text or f"differs from the value of {_source(result)}"
            error = worst(step[index] for step in errors)
            return Culprit(model, [result], (), error, "exact", changes=[text])
    return None


def _unequal_to_source(
    reference: Reference, loaded: Loaded, plain: Sequence[Sequence[Array]], errors: Sequence[Sequence[Error]]
) -> Culprit | None:
    """Return the result that is not the value which it reads."""
    sources = [result.inputs[0] for result in reference.model.results]
    pairs = _ends(reference, loaded, plain, sources)
    for index, (result, value) in enumerate(zip(reference.model.results, sources, strict=True)):
        read = [(step[index][1], step[index][0]) for step in pairs]
        if value is not None and any(there is not None and not _is_equal(there, made) for there, made in read):
            error = worst(step[index] for step in errors)
            text = f"differs from the value of {value.node.friendly_name}"
            return Culprit(reference.model, [result], (), error, "exact", changes=[text])
    return None


def _ends(
    reference: Reference, loaded: Loaded, plain: Sequence[Sequence[Array]], sources: Sequence[Value | None]
) -> list[list[tuple[Array, Array | None]]]:
    """Return the other side's results and the values that they read, per step; an empty list if no single run exposes
    both and the side does not compute the same values in every run.
    """
    if (both := loaded.observe_with_results(reference.steps, sources)) is not None:
        return both
    if not loaded.repeats:
        return []
    seen = loaded.observe(reference.steps, [value for value in sources if value is not None])
    return [
        [(array, None if value is None else there.get(value)) for array, value in zip(made, sources, strict=True)]
        for there, made in zip(seen, plain, strict=True)
    ]


def layout(reference: Reference, suspect: Culprit) -> str:
    """Return a sentence about a wrong layer whose values on the other side are irexec's in another layout, or those of
    another result; empty for other layers.
    """
    mine = reference.record(suspect.outputs)[suspect.step] if not suspect.outer else {}
    for value, theirs in suspect.outputs.items():
        if (ours := mine.get(value)) is not None and (found := _layout(ours, theirs)):
            return f"{value.node.friendly_name} has the same values in another layout: {found}"
        pairs = zip(reference.model.results, reference.results()[suspect.step], strict=True)
        for result, array in pairs if not suspect.outer else ():
            if result.inputs[0] is value or array.size < ENOUGH or not can_differ(array):
                continue
            if measure(array, theirs).is_reordered:
                return f"{value.node.friendly_name} has the values of {port_name(result.outputs[0])} on the other side"
    return ""


def _layout(ours: Array, theirs: Array) -> str:
    if ours.size != theirs.size or ours.dtype.kind in "TUO" or not ours.size:
        return ""
    axes = [axis for axis, extent in enumerate(ours.shape) if extent > 1]
    shape = [extent for extent in theirs.shape if extent > 1]
    for order in permutations(axes) if len(axes) <= _MOST_AXES else ():
        if [ours.shape[axis] for axis in order] != shape or ([*order] == axes and ours.shape == theirs.shape):
            continue
        turned = ours.squeeze().transpose([axes.index(axis) for axis in order])
        if measure(turned, theirs.reshape(turned.shape)).is_reordered:
            became = f"{shown_shape(theirs.shape)} instead of {shown_shape(ours.shape)}"
            return became if [*order] == axes else f"{became}, with the axes {', '.join(map(str, order))} in this order"
    return ""


def _is_equal(one: Array, other: Array) -> bool:
    return one.shape == other.shape and one.dtype == other.dtype and same(one, other)


def _source(result: Node) -> str:
    value = result.inputs[0]
    return "" if value is None else value.node.friendly_name


def where(rows: Sequence[Row], together: Together) -> str:
    """Return the layers between which an unexplained difference appears."""
    totals = {row.node: row for row in rows if row.total is not None}
    for row in rows:
        if _is_small(row):
            continue
        sources = [value.node for value in together.of(row.node)[1]]
        if all(node not in totals or _is_small(totals[node]) for node in sources):
            names = " and ".join(node.friendly_name for node in sources[:2]) or "the inputs"
            return f"it appears between {names} and {row.node.friendly_name}"
    return ""


def _is_small(row: Row) -> bool:
    return row.total is None or row.total.ulp <= MARGIN * row.limit
