"""Wiring errors: whether a single wrong connection explains the values of layers that are judged together.

A layer that was omitted, or that reads another value, cannot be recognized by name: the other side exposes no value of
it, or none of the values that only it reads. With the right connection irexec computes the other side's values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from irexec.core.diagnostics import IRError
from irexec.core.types import Array
from irexec.model.graph.cut import Cutter, needed_by
from irexec.model.graph.model import Model, Node, Value
from irexec.model.graph.order import ordered
from irexec.ops.spec.traits import Concatenation
from irexec.tools.compare.culprit import Culprit, alone, function_of
from irexec.tools.compare.errors import measure
from irexec.tools.compare.judge import judged
from irexec.tools.compare.noise import Noise
from irexec.tools.compare.runtimes.runtime import CannotRun, Loaded
from irexec.tools.compare.tolerances import combined, tolerance_of
from irexec.tools.compare.windows import comparable
from irexec.tools.cut.extract import give_types
from irexec.tools.run.record import Reference

# The largest number of layers that are left out, one at a time, and of values that are read instead, one at a time.
_MOST_LAYERS, _MOST_VALUES = 64, 64


def slipped(reference: Reference, loaded: Loaded, culprit: Culprit, noise: Noise | None = None) -> Culprit:
    """Return, of several layers that are wrong together, the layer whose wrong connection explains their values; all
    layers if no connection does, or if several do. `noise`: that of the other side, if it computes with fewer bits.
    """
    whole = Cutter(reference.model)
    slips = [*_left_out(whole, culprit, noise)] or [*_misread(reference, loaded, whole, culprit, noise)]
    if len({nodes for nodes, _ in slips}) != 1:
        return culprit
    nodes, text = slips[0]
    return replace(culprit, nodes=[*nodes], together=culprit.nodes, changes=[text])


def _left_out(whole: Cutter, culprit: Culprit, noise: Noise | None) -> Iterator[tuple[tuple[Node, ...], str]]:
    """Yield a reader and a text for each layer without which the other layers compute the other side's values.

    A layer that reads a constant is yielded before its reader: with other constants, it may change nothing.
    """
    for node in culprit.nodes[:_MOST_LAYERS]:
        for index, value in enumerate(node.inputs):
            made = node.outputs[0]
            if value is None or value.node in whole.constant or value.element_type is not made.element_type:
                continue
            if node is not culprit.nodes[-1] and _is_right(whole, culprit, node, index, noise):
                reader = next(other for other in culprit.nodes if made in other.inputs)
                suspects = (node, reader) if _reads_a_constant(whole, node) else (reader,)
                yield suspects, _reading(value, made)


def _reads_a_constant(whole: Cutter, node: Node) -> bool:
    return any(value is not None and value.node in whole.constant for value in node.inputs)


def _is_right(whole: Cutter, culprit: Culprit, node: Node, index: int, noise: Noise | None) -> bool:
    """Return whether the layers compute the other side's values if `node` passes its input `index` through."""
    try:
        part = whole.cut(culprit.nodes, [*culprit.outputs])
        left_out = part.places[node]
        given = left_out.inputs[index]
        assert given is not None
        left_out.outputs[0].replace_uses(given)
        model = part.model
        model.file = model.source = None
        model.nodes = ordered([*model.parameters, *model.sinks, *model.results])
        give_types(part, [culprit.inputs[value] for value in part.begins])
        inputs = [culprit.inputs[value] for value in part.begins]
        return _agrees(model, inputs, [*culprit.outputs.values()], culprit.nodes, noise)
    except (IRError, KeyError, ValueError):  # The layers cannot be run without this layer.
        return False


def _misread(
    reference: Reference, loaded: Loaded, whole: Cutter, culprit: Culprit, noise: Noise | None
) -> Iterator[tuple[tuple[Node, ...], str]]:
    """Yield the last layer and a text for each of its inputs that the other side replaces: reading another value
    instead leads to the other side's results.
    """
    node = culprit.nodes[-1]
    behind = {*culprit.nodes[:-1]}
    shown = _candidates(reference, loaded, node, culprit.step)
    own = [value for value in node.inputs if value is not None and value.node not in whole.constant]
    for read in own:
        # All other inputs must be known values, not computed by the wrong layers.
        given = {value: culprit.inputs[value] for value in own if value in culprit.inputs}
        if any(value.node in behind for value in own if value is not read):
            continue
        for value, array in shown.items():
            if value is read or value.element_type is not read.element_type:
                continue
            if _is_right_reading(whole, node, {**given, read: array}, culprit.outputs, noise):
                yield (node,), _reading(value, read)
                break


def first_piece(model: Model, culprit: Culprit, noise: Noise | None = None) -> Culprit:
    """Return, of layers that are wrong together, those that compute the first wrong input of their last Concat; all
    layers if its inputs cannot be told apart. An unrolled sequence is thus narrowed to its first wrong iteration.
    """
    nodes, whole = culprit.together or culprit.nodes, Cutter(model)
    node = next((node for node in reversed(nodes) if Concatenation in node.traits), nodes[-1])
    before = nodes[: nodes.index(node)]
    ends = [value for value in node.inputs if value is not None and value.node in before]
    if len(ends) < max(2, len(node.inputs)):
        return culprit
    try:
        begins, part = alone(whole, before, ends, culprit.inputs)
        pieces = function_of(part)([culprit.inputs[value] for value in begins])
        axis, right = int(node.attributes["axis"]), set[Node]()
        joined = _before_moves(whole, node.outputs[0], np.concatenate(pieces, axis), nodes, culprit.outputs)
        bounds = np.cumsum([piece.shape[axis] for piece in pieces])[:-1]
        for value, theirs in zip(ends, np.split(joined, bounds, axis), strict=True):
            needed = needed_by([value.node])
            some = [other for other in before if other in needed]
            begins, part = alone(whole, some, [value], culprit.inputs)
            if not _agrees(part, [culprit.inputs[value] for value in begins], [theirs], some, noise):
                if any(p.shape == theirs.shape and measure(p, theirs).is_reordered for p in pieces):
                    return culprit  # The inputs are in another order.
                return replace(culprit, nodes=[other for other in some if other not in right], together=nodes)
            # If a layer has several outputs, another of its outputs may be wrong.
            right |= {other for other in some if len(other.outputs) == 1}
    except (IRError, KeyError, ValueError):  # The layers cannot be run alone, or do not only move the values.
        pass
    return culprit


def _before_moves(
    whole: Cutter, value: Value, ours: Array, nodes: Sequence[Node], outputs: Mapping[Value, Array]
) -> Array:
    """Return the other side's array of a value, from `outputs` to which the layers after it only move its elements.
    Raises ValueError if they do more.
    """
    if value in outputs:
        return outputs[value].reshape(ours.shape)
    (end, theirs), *_ = outputs.items()
    numbers = np.arange(ours.size).astype(ours.dtype).reshape(ours.shape)
    _, part = alone(whole, nodes[nodes.index(value.node) + 1 :], [end], {value: numbers})
    places = function_of(part)([numbers])[0].astype(np.int64).reshape(-1)
    if not np.array_equal(np.sort(places), np.arange(ours.size)):
        raise ValueError
    made = np.empty_like(theirs.reshape(-1))
    made[places] = theirs.reshape(-1)
    return made.reshape(ours.shape)


def _candidates(reference: Reference, loaded: Loaded, node: Node, step: int) -> dict[Value, Array]:
    """Return the other side's values that are computed before a layer, the nearest first."""
    nodes = comparable(reference.model)
    before = nodes[: nodes.index(node)] if node in nodes else []
    wanted = [value for other in reversed(before) for value in other.outputs][:_MOST_VALUES]
    try:
        seen = loaded.observe(reference.steps[: step + 1], wanted)[step]
    except (CannotRun, IndexError):
        return {}
    given = dict(zip(reference.model.inputs, reference.steps[step], strict=True))
    return {value: seen[value] for value in wanted if value in seen} | given


def _is_right_reading(
    whole: Cutter, node: Node, given: Mapping[Value, Array], outputs: Mapping[Value, Array], noise: Noise | None
) -> bool:
    try:
        begins, part = alone(whole, [node], [*outputs], given)
        inputs = [given[value] for value in begins]
        return _agrees(part, inputs, [*outputs.values()], [node], noise)
    except (IRError, KeyError, ValueError):  # The values have another shape, for example.
        return False


def _agrees(
    model: Model, inputs: Sequence[Array], outputs: Sequence[Array], nodes: Sequence[Node], noise: Noise | None
) -> bool:
    """Return whether a small model computes these outputs, within the tolerances of `nodes` or the noise."""
    if judged(model, [inputs], outputs, combined(map(tolerance_of, nodes)))[1]:
        return True
    found = noise.judge(model, inputs, outputs) if noise is not None and noise.applies(nodes) else None
    return found is not None and found.agrees


def _reading(value: Value, instead_of: Value) -> str:
    return f"the values result from reading {value.node.friendly_name} instead of {instead_of.node.friendly_name}"
