"""Remarks about a comparison: amplified rounding, parts that were not exercised, differences without an effect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irexec.arrays.brief import plural
from irexec.debug.comparison.coverage import Shapes, not_exercised
from irexec.debug.comparison.jumps import jumps
from irexec.debug.comparison.layer_pairs import LayerPairs, Relation
from irexec.debug.comparison.result import Row, few
from irexec.debug.record import Reference

# The number of layers that differ without effect and are listed.
_SHOWN = 3


def remarks(rows: Sequence[Row], reference: Reference, shapes: Shapes, layer_pairs: LayerPairs | None) -> Iterator[str]:
    """Yield sentences about the layers of a comparison. `shapes`: of their values in each step. `layer_pairs`: None
    unless the other side is a model.
    """
    yield from jumps(rows)
    for text in (*not_exercised(reference, shapes), *_silent(rows)):
        yield f"not exercised: {text}"
    if layer_pairs is not None:
        narrowed = [row.node.friendly_name for row in rows if not row.agrees and layer_pairs.is_narrowed(row.node)]
        if narrowed:
            yield f"constants of {plural(len(narrowed), 'layer')} have fewer bits in one of the files: {few(narrowed)}"
        for text in _without_effect(rows, layer_pairs):
            yield f"without effect on these inputs: {text}"


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
    names = [node.friendly_name for node in silent if node.type != "ReadValue"]
    if not names:
        return []
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return [f"{names[0]}{more}: all values were NaN on both sides, or the output was empty"]
