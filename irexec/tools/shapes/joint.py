"""Joint conditions: relations between two sizes that can each be chosen, found in accepted and refused pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from math import gcd

from irexec.tools.shapes.conditions import Compare, Condition, Residue
from irexec.tools.shapes.expressions import Combined, Expression, Linear, constant
from irexec.tools.shapes.probe import Sizes

Tried = Sequence[tuple[Sizes, bool]]
"""Combinations of sizes, with True for accepted combinations."""

_STRIDES = (1, 2, 4, 8, 14, 16, 32, 64)
_MOST_FACTOR = 4


def joint_condition(
    tried: Tried, leads: Sequence[int], confirm: Callable[[Condition], bool], products: Sequence[Expression] = ()
) -> tuple[Condition, ...] | None:
    """Return conditions that separate accepted from refused combinations; None if no form of condition does.

    `confirm` checks whether a condition holds for further accepted combinations. `products`: expressions that are tried
    first.
    """
    refused = [sizes for sizes, yes in tried if not yes]
    accepted = [sizes for sizes, yes in tried if yes]
    for expression in products:
        condition = Compare(expression, "==", constant(expression.value(accepted[0])))
        if all(condition.holds(sizes) is yes for sizes, yes in tried) and confirm(condition):
            return (condition,)
    found: list[Condition] = []
    while refused:
        best = max(
            _candidates(accepted, refused, leads),
            key=lambda condition: sum(not condition.holds(sizes) for sizes in refused),
            default=None,
        )
        if best is None:
            return None
        left = [sizes for sizes in refused if best.holds(sizes)]
        if len(left) == len(refused):
            return None
        found.append(best)
        refused = left
    whole = tuple(found)
    return whole if all(map(confirm, whole)) or confirm(_All(whole)) else None


class _All:
    """A condition that holds if all of several conditions hold."""

    def __init__(self, conditions: Sequence[Condition]) -> None:
        self._conditions = conditions

    def holds(self, sizes: Sizes) -> bool:
        return all(condition.holds(sizes) for condition in self._conditions)

    @property
    def dims(self) -> frozenset[int]:
        return frozenset().union(*(condition.dims for condition in self._conditions))

    def text(self, names: Sequence[str]) -> str:
        return " and ".join(condition.text(names) for condition in self._conditions)


def _candidates(accepted: Sequence[Sizes], refused: Sequence[Sizes], leads: Sequence[int]) -> Iterator[Condition]:
    """Yield conditions that hold for all accepted combinations, but not for all refused combinations."""
    for expression in _features(leads):
        yes = [expression.value(sizes) for sizes in accepted]
        no = [expression.value(sizes) for sizes in refused]
        for condition in _separating(expression, yes, no):
            if all(condition.holds(sizes) for sizes in accepted):
                yield condition


def _separating(expression: Expression, yes: list[int], no: list[int]) -> Iterator[Condition]:
    lowest, highest = min(yes), max(yes)
    if lowest == highest:
        if any(value != lowest for value in no):
            yield Compare(expression, "==", constant(lowest))
        return
    if any(value > highest for value in no) and not any(lowest <= value <= highest for value in no):
        yield Compare(expression, "<=", constant(highest))
    if any(value < lowest for value in no):
        yield Compare(expression, ">=", constant(lowest))
    modulus = reduce(gcd, (value - lowest for value in yes))
    if modulus > 1 and any((value - lowest) % modulus for value in no):
        yield Residue(expression, modulus, (lowest % modulus,))


def _features(leads: Sequence[int]) -> Iterator[Expression]:
    """Yield the expressions of two sizes that conditions may compare: differences, sums, products of strided sizes."""
    for position, first in enumerate(leads):
        for second in leads[position + 1 :]:
            for one in range(1, _MOST_FACTOR + 1):
                for other in range(1, _MOST_FACTOR + 1):
                    if gcd(one, other) == 1:
                        yield Linear(((one, first), (-other, second)))
            yield Linear(((1, first), (1, second)))
            for stride in _STRIDES:
                yield Combined("*", (Linear(((1, first),), 0, stride), Linear(((1, second),), 0, stride)))
