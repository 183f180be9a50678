"""Pieces: output sizes whose formula depends on conditions on the input sizes, as after branches."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np

from irexec.core.records import record
from irexec.tools.shapes.conditions import Guard
from irexec.tools.shapes.formulas import Expression, Formula, Names, add, number
from irexec.tools.shapes.probe import Sizes

# The number of conditions that are tried, the simplest first, and the maximum number of conditions of one piece.
_MOST_TRIED, _DEEPEST = 48, 2

Pieces = list[tuple[tuple[Guard, ...], Formula]]


@record(frozen=True)
class Piecewise:
    """Several formulas with conditions; the formula whose conditions hold applies.

    The conditions of the `pieces` exclude each other; for accepted sizes, the conditions of exactly one piece hold.
    """

    pieces: tuple[tuple[tuple[Guard, ...], Formula], ...]

    def value(self, sizes: Sizes) -> int:
        return next((int(own.value(sizes)) for guards, own in self.pieces if all(g.holds(sizes) for g in guards)), 0)

    @property
    def dims(self) -> frozenset[int]:
        return frozenset().union(*(own.dims | guard.dims for guards, own in self.pieces for guard in guards))

    def text(self, names: Names) -> str:
        """Return the formulas as a sum, each multiplied by its conditions, which count as 1 or 0."""
        parts = []
        for guards, own in self.pieces:
            text = own.text(names)
            first = [] if text == "1" else [text if text.isalnum() else f"({text})"]
            parts.append("*".join([*first, *(f"({guard.text(names)})" for guard in guards)]))
        return " + ".join(parts)


def piecewise(
    formulas: Sequence[Formula], values: Sequence[Any], expected: Any, guards: Sequence[Guard], columns: Any
) -> Expression | None:
    """Return the formulas with the conditions that choose between them; None if a few conditions do not suffice.

    `values`: the values of the formulas at the accepted sizes in `columns`; `expected`: the correct values at these
    sizes.
    """
    right = [found == expected for found in values]
    whole = np.ones(len(expected), bool)
    if not np.logical_or.reduce([~whole, *right]).all():
        return None
    choosing = [
        (each, holding)
        for each in sorted(guards, key=lambda guard: guard.weight)
        if (holding := np.broadcast_to(each.holds(columns), len(whole))).any() and not holding.all()
    ]
    for depth in range(1, _DEEPEST + 1):
        found = _split(formulas, right, list(islice(choosing, _MOST_TRIED)), whole, depth)
        if found is not None:
            return Piecewise(tuple(found))
    return None


def _split(
    formulas: Sequence[Formula], right: Sequence[Any], guards: Sequence[tuple[Guard, Any]], rows: Any, depth: int
) -> Pieces | None:
    for formula, agreeing in zip(formulas, right, strict=True):
        if agreeing[rows].all():
            return [((), formula)]
    for guard, holding in guards if depth else ():
        inside, outside = rows & holding, rows & ~holding
        if inside.any() and outside.any():
            one = _split(formulas, right, guards, inside, depth - 1)
            other = None if one is None else _split(formulas, right, guards, outside, depth - 1)
            if one is not None and other is not None:
                sides = ((guard, one), (_opposite(guard), other))
                return [((side, *own), formula) for side, pieces in sides for own, formula in pieces]
    return None


def _opposite(guard: Guard) -> Guard:
    if guard.operator in ("==", "!="):
        operator = "!=" if guard.operator == "==" else "=="
        return Guard(guard.left, operator, guard.right, guard.modulus)
    is_most = guard.operator == "<="
    return Guard(guard.left, ">=" if is_most else "<=", add(guard.right, number(1 if is_most else -1)))
