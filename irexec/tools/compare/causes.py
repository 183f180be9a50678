"""Causes: whether the other side's values of a single layer explain the other side's results.

The model is run with the other side's values of the layer in place of its own. If the results are those of the other
side, the layer is the cause of the difference, however small its own error is. With the values of a layer that only
roughly corresponds, as in another export of the network, the results differ more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from irexec.core.diagnostics import IRError
from irexec.core.types import Array
from irexec.model.graph.cut import Cutter
from irexec.model.graph.model import Node, Value
from irexec.tools.compare.culprit import Culprit, alone, function_of
from irexec.tools.compare.errors import Error, measure
from irexec.tools.compare.layer_pairs import Relation
from irexec.tools.compare.result import Row
from irexec.tools.compare.runtimes.runtime import CannotRun, HasLayerPairs, Loaded
from irexec.tools.compare.tolerances import FUSED, tolerance_of
from irexec.tools.run.record import Reference

# The largest number of layers that are tried, each in a run of the whole model.
_MOST = 6
# The largest number of layers whose inputs are requested from the other side.
_MOST_READERS = 64
# Values whose error is smaller are nearly equal; the error of a scaled value, for example, is larger.
_NEARLY = 2.0**-6
# A layer is the cause if it makes the error of the results smaller by this factor.
_SMALLER = 8.0


def cause(
    reference: Reference, loaded: Loaded, suspects: Iterable[tuple[Node, Culprit]], plain: Sequence[Sequence[Array]]
) -> Culprit | None:
    """Return the first of these layers whose values on the other side explain that side's results. `plain`: the other
    side's results, per step.
    """
    before = _largest(reference.results(), plain)
    for node, suspect in [*suspects][:_MOST]:
        after = _with_values_of(reference, loaded, node, plain)
        if after is not None and after * _SMALLER <= before:
            return suspect
    return None


def _with_values_of(reference: Reference, loaded: Loaded, node: Node, plain: Sequence[Sequence[Array]]) -> float | None:
    """Return the error of the results if a layer has the other side's values; None if the model cannot be run with
    them.
    """
    taken = [value for value in node.outputs if value.users]
    try:
        seen = loaded.observe(reference.steps, taken)
        return _largest(reference.changed([{value: there[value] for value in taken} for there in seen]), plain)
    except (KeyError, CannotRun, IRError):  # The value is not exposed, or has another shape.
        return None


def _largest(ours: Sequence[Sequence[Array]], theirs: Sequence[Sequence[Array]]) -> float:
    pairs = (pair for a, b in zip(ours, theirs, strict=True) for pair in zip(a, b, strict=True))
    return max((measure(a, b).ulp for a, b in pairs), default=0.0)


def nearly_read(reference: Reference, loaded: Loaded, rows: Sequence[Row]) -> Culprit | None:
    """Return the first layer that is the same on both sides, and whose input differs slightly, but by more than
    rounding: it was rounded to a narrower type, for example.

    The layer itself may round by more, so that its own error would not show this.
    """
    if not isinstance(loaded, HasLayerPairs):
        return None
    layer_pairs, whole = loaded.layer_pairs, Cutter(reference.model)
    asked = [row for row in rows if row.own and row.total and layer_pairs.relation([*row.behind, row.node]) is _OTHER]
    asked = [row for row in asked if layer_pairs.is_same_function(row.node)][:_MOST_READERS]
    given = {row.node: _given(row, whole) for row in asked}
    theirs = loaded.observe(reference.steps, [*{value for values in given.values() for value in values}])
    read = loaded.read_by(reference.steps, [row.node for row in asked])
    for row in asked:
        for step, (there, inputs) in enumerate(zip(theirs, read, strict=True)):
            if row.node not in inputs or any(value not in there for value in given[row.node]):
                continue
            layers = [*row.behind, *layer_pairs.inserted(row.node)]
            try:
                error = _nearly(_inputs(row, whole, there), inputs[row.node], limit := _most_rounding(layers))
            except IRError:  # The layers cannot be computed from the other side's values.
                continue
            if error is not None:
                text = f"{limit:.4g} ulp of {row.node.outputs[0].element_type}"
                changes = layer_pairs.changes(row.node)
                return Culprit(reference.model, [row.node], (), error, text, step, changes=changes, limit=limit)
    return None


def _most_rounding(layers: Sequence[Node]) -> float:
    """Return the units in the last place by which rounding in these layers may change a value; 1 for a single layer."""
    if len(layers) == 1:
        return 1.0
    return sum(max(2 * FUSED, tolerance_of(node).ulp) for node in layers)


_OTHER = Relation.RESTRUCTURED


def _given(row: Row, whole: Cutter) -> list[Value]:
    """Return the values from which a layer and the layers `behind` it are computed, without constants."""
    inside = {*row.behind, row.node}
    read = (value for node in inside for value in node.inputs if value is not None)
    return list(dict.fromkeys(v for v in read if v.node not in inside and v.node not in whole.constant))


def _inputs(row: Row, whole: Cutter, there: Mapping[Value, Array]) -> list[Array | None]:
    """Return the inputs of a layer on the other side, if the layers before it are equal there; None for constants."""
    ends = [v for v in row.node.inputs if v is not None and v.node in {*row.behind}]
    begins, part = alone(whole, row.behind, ends, there)
    made = dict(zip(ends, function_of(part)([there[value] for value in begins]), strict=True)) if ends else {}
    return [None if value is None else made.get(value, there.get(value)) for value in row.node.inputs]


def _nearly(ours: Sequence[Array | None], theirs: Sequence[Array | None], limit: float) -> Error | None:
    """Return the error of the nearly equal input whose error exceeds the limit, if there is one."""
    for a, b in zip(ours, theirs, strict=True):
        if a is not None and b is not None and a.shape == b.shape and a.dtype == b.dtype:
            error = measure(a, b)
            if error.ulp > limit and error.relative < _NEARLY:
                return error
    return None
