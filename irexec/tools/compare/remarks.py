"""Remarks about a comparison: amplified rounding, parts that were not exercised, differences without an effect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from irexec.core.structure import CONVERT, READ_VALUE
from irexec.core.types import BF16, Array
from irexec.model.arrays.brief import plural
from irexec.model.arrays.units import unit
from irexec.model.graph.model import Node
from irexec.ops.spec.traits import KeepsElements, Ranking, Steps
from irexec.tools.compare.coverage import Shapes, not_exercised
from irexec.tools.compare.errors import Error, measure, shown_part
from irexec.tools.compare.layer_pairs import LayerPairs, Relation
from irexec.tools.compare.numbers import DEEP, FUSED, MARGIN
from irexec.tools.compare.result import NO_EFFECT, Row, few
from irexec.tools.run.record import Reference

# The relative error up to which the error of an input counts as rounding, including rounding to bf16.
_SMALL = FUSED * float(unit(1.0, BF16))
_NAMED = 3


def jumps(rows: Sequence[Row]) -> Iterator[str]:
    """Yield sentences about the layers that amplify rounding differences, in the order of the layers."""
    known = {row.node: row for row in rows}
    found = [(row, given) for row in rows if (given := _jump(row, known)) is not None]
    for row, given in found[:_NAMED]:
        assert row.total is not None
        made = shown_part(row.total) if row.node.outputs[0].element_type.is_real else f"{row.total.absolute:g}"
        layer = f"{row.node.friendly_name} ({row.node.type})"
        yield (
            f"a rounding difference is amplified by {layer}: its input differs by {shown_part(given)}, its result by "
            f"{made}"
        )
    if len(found) > _NAMED:
        yield f"rounding differences are amplified by {len(found) - _NAMED} more layers"


def _jump(row: Row, known: dict[Node, Row]) -> Error | None:
    """Return the rounding error of an input that a layer, correct by itself, amplifies; None if it amplifies none."""
    total = row.total
    if not row.agrees or row.undefined or not total or not _is_step(row.node):
        return None
    above = [known[value.node] for value in row.node.inputs if value is not None and value.node in known]
    errors = [row.total for row in above if row.total]
    worst = max(errors, key=lambda error: error.relative, default=None)
    if worst is None or worst.relative > _SMALL or total.relative < MARGIN * worst.relative:
        return None
    return worst


def _is_step(node: Node) -> bool:
    whole = not node.outputs[0].element_type.is_real
    return Steps in node.traits or (node.type == CONVERT and whole)


def ties(reference: Reference, other: Sequence[Sequence[Array]]) -> Iterator[str]:
    """Yield sentences about the values that tie where a result has another index on the other side. `other`: that
    side's results, per step.
    """
    for index, result in enumerate(reference.model.results):
        value = result.inputs[0]
        while value is not None and _keeps_order(value.node):
            value = value.node.inputs[0]
        if (
            value is None
            or Ranking not in value.node.traits
            or (data := value.node.inputs[0]) is None
            or not value.index
        ):
            continue
        for step, known in enumerate(reference.record({value, data})):
            text = _tie(known[data], known[value], other[step][index], int(value.node.attributes["axis"]))
            if text:
                name = f"{value.node.friendly_name} ({value.node.type})"
                yield f"{text}, so that {name} may choose either: {data.node.friendly_name}"
                break


def _keeps_order(node: Node) -> bool:
    return node.type == CONVERT or KeepsElements in node.traits


def _tie(data: Array, ours: Array, theirs: Array, axis: int) -> str:
    """Return a text about the two values of the first index that differs; empty if none does."""
    differ = np.flatnonzero(ours.reshape(-1) != theirs.reshape(-1))
    if not differ.size:
        return ""
    place = [int(k) for k in np.unravel_index(differ[0], ours.shape)]
    chosen = [int(array.reshape(-1)[differ[0]]) for array in (ours, theirs)]
    if not all(0 <= number < data.shape[axis] for number in chosen):
        return ""
    lines = [(*place[: axis % data.ndim], number, *place[axis % data.ndim + 1 :]) for number in chosen]
    one, two = (data[line] for line in lines)
    apart_by = shown_part(measure(np.asarray(one), np.asarray(two)))
    return f"the values {one:.6g} and {two:.6g} at {chosen[0]} and {chosen[1]} differ by {apart_by}"


def not_used(rows: Sequence[Row]) -> Iterator[tuple[Node, list[Node]]]:
    """Yield the layers whose values the other side exposes, but does not compute with, each with the layers that show
    this: they read such a value, for which irexec computes another result, and have irexec's result all the same.
    """
    known = {row.node: row for row in rows if row.total is not None}
    for row in known.values():
        if row.agrees or _is_right(row):
            continue
        users = [known.get(user) for value in row.node.outputs for user in value.users]
        if all(user is not None and _is_right(user) for user in users):
            shown = [user.node for user in users if user is not None and not user.agrees]
            if shown:
                yield row.node, shown


def _is_right(row: Row) -> bool:
    """Return whether a value of the other side, with the errors of all layers before, is irexec's but for rounding."""
    return row.total is not None and row.total.relative <= DEEP


# The largest number of layers without effect that are listed.
_SHOWN = 3


def remarks(rows: Sequence[Row], reference: Reference, shapes: Shapes, layer_pairs: LayerPairs | None) -> Iterator[str]:
    """Yield sentences about the layers of a comparison. `shapes`: the shapes of their values in each step.
    `layer_pairs`: None unless the other side is a model.
    """
    yield from jumps(rows)
    if open_ones := [f"{row.node.friendly_name} ({row.node.type})" for row in rows if row.undefined == "some"]:
        yield f"undefined for some inputs: {few(open_ones)}; only the elements of these inputs differ"
    for text in (*not_exercised(reference, shapes), *_silent(rows)):
        yield f"not exercised: {text}"
    if layer_pairs is not None:
        narrowed = [row.node.friendly_name for row in rows if not row.agrees and layer_pairs.is_narrowed(row.node)]
        if narrowed:
            yield f"constants of {plural(len(narrowed), 'layer')} have fewer bits in one of the files: {few(narrowed)}"
        for text in _without_effect(rows, layer_pairs):
            yield f"{NO_EFFECT}: {text}"


def _without_effect(rows: Sequence[Row], layer_pairs: LayerPairs) -> Iterator[str]:
    """Yield layers that differ in the other model, but compute the same values."""
    texts = []
    for row in rows:
        if row.agrees and not row.behind and layer_pairs.relation([row.node]) is Relation.CHANGED:
            texts += [f"{row.node.friendly_name} ({row.node.type}) {text}" for text in layer_pairs.changes(row.node)]
    yield from texts[:_SHOWN]
    if len(texts) > _SHOWN:
        yield f"{len(texts) - _SHOWN} more"


def _silent(rows: Sequence[Row]) -> list[str]:
    silent = (row.node for row in rows if row.total is not None and not row.can_differ)
    names = [node.friendly_name for node in silent if node.type != READ_VALUE]
    if not names:
        return []
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return [f"{names[0]}{more}: all values were NaN on both sides, or the output was empty"]
