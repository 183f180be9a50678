"""Compensation: whether the error of a wrong layer reaches the results, or later layers compensate for it.

Weights that are halved and doubled again, or permuted along an axis over which the next product sums, lead to wrong
layers between them, but to the same results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from irexec.debug.comparison.result import Row
from irexec.debug.errors import Error
from irexec.graph.model import Model, Node

_ROUNDING = 256.0
"""The units in the last place of f32 that accumulated rounding of other layers may reach in the results."""
_BITS = 32
# A layer that compensates for its inputs has an own error that exceeds the error of its values by this factor.
_VANISHING = 1024.0


class Compensation:
    """The paths from layers to the results of a model, which end at layers whose values agree on both sides.

    `results`: the errors of the model's results, if the other side may have further layers before them.
    """

    def __init__(self, model: Model, rows: Sequence[Row], results: Mapping[Node, Error]) -> None:
        self._rows, self._results = {row.node: row for row in rows}, results
        self._variables = {node.attributes.get("variable_id"): node for node in model.nodes if node.type == "ReadValue"}

    def is_compensated(self, row: Row, *, rounded: bool) -> bool:
        """Return whether every path from a layer to a result contains a layer whose values agree. `rounded`: layers on
        the path may round differently, so that small differences remain.
        """
        return self._is_stopped(row.node, lambda known: _is_clean(known, rounded))

    def is_made_up_for(self, row: Row) -> bool:
        """Return whether every path from a layer to a result contains a layer whose own error compensates for the
        errors of its inputs, so that its values agree except for rounding.
        """
        return self._is_stopped(row.node, lambda known: _is_equal(known) or _makes_up(known))

    def _is_stopped(self, first: Node, stops: Callable[[Row], bool]) -> bool:
        stack, seen = [first], {first}
        while stack:
            node = stack.pop()
            known = self._rows.get(node)
            if known is not None and known.can_differ and stops(known):
                continue
            if node.type == "Result":
                if not self._is_restored(node):
                    return False
                continue
            for reader in self._readers(node):
                if reader not in seen:
                    seen.add(reader)
                    stack.append(reader)
        return True

    def _is_restored(self, result: Node) -> bool:
        """Return whether a result agrees except for rounding, although the value that it reads does not."""
        known = [self._rows[value.node] for value in result.inputs if value is not None and value.node in self._rows]
        error = self._results.get(result)
        return error is not None and any(_exceeds(row, row.total, error) for row in known)

    def _readers(self, node: Node) -> list[Node]:
        if node.type == "Assign":
            there = self._variables.get(node.attributes.get("variable_id"))
            return [] if there is None else [there]
        return [user for value in node.outputs for user in value.users]


def _is_clean(row: Row, rounded: bool) -> bool:
    """Return whether the values of a layer, as they are in both runs, differ by no more than rounding."""
    if row.total is None:
        return False
    kind = row.node.outputs[0].element_type
    limit = max(row.limit, _ROUNDING) if rounded and kind.bitwidth >= _BITS else row.limit
    return not row.total or (bool(kind.is_real) and row.total.ulp <= limit)


def _is_equal(row: Row) -> bool:
    return row.total is not None and not row.total


def _makes_up(row: Row) -> bool:
    return not row.agrees and row.total is not None and _exceeds(row, row.own, row.total)


def _exceeds(row: Row, error: Error | None, remaining: Error) -> bool:
    """Return whether an error of a layer is large, but the error that remains after later layers is only rounding."""
    if error is None or remaining.ulp > _ROUNDING:
        return False
    return row.node.outputs[0].element_type.bitwidth >= _BITS and error.ulp >= _VANISHING * max(remaining.ulp, 1.0)
