"""Compensation: whether the error of a wrong layer reaches the results, or later layers compensate for it.

Weights that are halved and doubled again make wrong layers between them, and the same results.
"""

from __future__ import annotations

from collections.abc import Sequence

from irexec.debug.comparison.result import Row
from irexec.graph.model import Model, Node

_ROUNDING = 256.0
"""The units in the last place of f32 that accumulated rounding of other layers may reach in the results."""
_BITS = 32


class Compensation:
    """The paths from layers to the results of a model, which end at layers whose values agree on both sides."""

    def __init__(self, model: Model, rows: Sequence[Row]) -> None:
        self._rows = {row.node: row for row in rows}
        self._variables = {node.attributes.get("variable_id"): node for node in model.nodes if node.type == "ReadValue"}

    def is_compensated(self, row: Row, *, rounded: bool) -> bool:
        """Return whether every way from a layer to a result leads through a layer whose values agree. `rounded`: other
        layers on the way may round differently, so that small differences remain.
        """
        stack, seen = [row.node], {row.node}
        while stack:
            node = stack.pop()
            known = self._rows.get(node)
            if known is not None and _is_clean(known, rounded):
                continue
            if node.type == "Result":
                return False
            for reader in self._readers(node):
                if reader not in seen:
                    seen.add(reader)
                    stack.append(reader)
        return True

    def _readers(self, node: Node) -> list[Node]:
        if node.type == "Assign":
            there = self._variables.get(node.attributes.get("variable_id"))
            return [] if there is None else [there]
        return [user for value in node.outputs for user in value.users]


def _is_clean(row: Row, rounded: bool) -> bool:
    """Return whether the values of a layer, as they are in both runs, differ by no more than rounding."""
    if row.total is None or not row.can_differ:
        return False
    kind = row.node.outputs[0].element_type
    limit = max(row.limit, _ROUNDING) if rounded and kind.bitwidth >= _BITS else row.limit
    return not row.total or (bool(kind.is_real) and row.total.ulp <= limit)
