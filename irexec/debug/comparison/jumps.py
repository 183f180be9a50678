"""Jumps: layers, such as Floor, that amplify a rounding difference to a whole step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irexec.debug.comparison.result import Row
from irexec.debug.errors import Error, shown_part
from irexec.graph.model import Node

_COMPARING = ("Equal", "NotEqual", "Greater", "GreaterEqual", "Less", "LessEqual")
_CHOOSING = ("TopK", "NonMaxSuppression", "MatrixNms", "MulticlassNms", "Bucketize", "SearchSorted", "OneHot", "Unique")
_ROUNDING = ("Round", "Floor", "Ceiling", "Sign", "Mod", "FloorMod", "FakeQuantize", "QuantizeLinear", "FakeConvert")
_TYPES = frozenset((*_COMPARING, *_CHOOSING, *_ROUNDING))
# The relative error of an input up to which it is rounding, also of bf16.
_SMALL = 0.02
# The factor by which the relative error of the result must be larger.
_LARGER = 8.0
_SHOWN = 3


def jumps(rows: Sequence[Row]) -> Iterator[str]:
    """Yield sentences about the layers that amplify rounding differences, in the order of the layers."""
    known = {row.node: row for row in rows}
    found = [(row, given) for row in rows if (given := _jump(row, known)) is not None]
    for row, given in found[:_SHOWN]:
        assert row.total is not None
        made = shown_part(row.total) if row.node.outputs[0].element_type.is_real else f"{row.total.absolute:g}"
        layer = f"{row.node.friendly_name} ({row.node.type})"
        yield f"a rounding difference is amplified by {layer}: its input differs by {shown_part(given)}, its "
        f"result by {made}"
    if len(found) > _SHOWN:
        yield f"rounding differences are amplified by {len(found) - _SHOWN} more layers"


def _jump(row: Row, known: dict[Node, Row]) -> Error | None:
    """Return the error of the input of a layer that is correct by itself and amplifies it to a jump."""
    total = row.total
    if not row.agrees or not total or not _is_step(row.node):
        return None
    above = [known[value.node] for value in row.node.inputs if value is not None and value.node in known]
    errors = [row.total for row in above if row.total]
    worst = max(errors, key=lambda error: error.relative, default=None)
    if worst is None or worst.relative > _SMALL or total.relative < _LARGER * worst.relative:
        return None
    return worst


def _is_step(node: Node) -> bool:
    whole = not node.outputs[0].element_type.is_real
    return node.type in _TYPES or (node.type == "Convert" and whole)
