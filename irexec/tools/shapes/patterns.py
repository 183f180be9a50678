"""Patterns: conditions that the sizes of all accepted combinations show, whatever the shape rules compare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import Any

import numpy as np

from irexec.tools.shapes.conditions import Condition, Guard, OneOf
from irexec.tools.shapes.formulas import multiply, number, size

# The longest period, the number of sizes that show one, the number of sizes before it, and the largest proportion.
_LONGEST, _ENOUGH, _BEFORE, _LARGEST = 96, 5, 16, 64

Rows = np.ndarray[Any, Any]


def remainders(accepted: Rows, groups: Sequence[int]) -> Iterator[Condition]:
    """Yield conditions that all accepted points satisfy: a constant size, and a remainder."""
    for dim in sorted(set(groups)):
        own = np.unique(accepted[:, dim])
        low, step = int(own[0]), int(np.gcd.reduce(own - own[0]))
        if not step:
            yield Guard(size(dim), "==", number(low))
        elif 1 < step <= _LONGEST and len(own) >= _ENOUGH:
            yield Guard(size(dim), "==", number(low % step), step)


def bounds(accepted: Rows, refused: Rows, groups: Sequence[int]) -> Iterator[Condition]:
    """Yield conditions that all accepted points satisfy: bounds beyond which sizes were refused, and the largest
    proportion of two sizes.
    """
    leads = sorted(set(groups))
    for dim in leads:
        own, wrong = np.unique(accepted[:, dim]), np.unique(refused[:, dim])
        low, high = int(own[0]), int(own[-1])
        if low - 1 in wrong:
            yield Guard(size(dim), ">=", number(low))
        if high + 1 in wrong:
            yield Guard(size(dim), "<=", number(high))
    for one, other in permutations(leads, 2):
        most = int((-(-accepted[:, one] // accepted[:, other])).max(initial=0))
        if 1 < most <= _LARGEST and (refused[:, one] > most * refused[:, other]).any():
            yield Guard(size(one), "<=", multiply(number(most), size(other)))


def periodic(accepted: Rows, refused: Rows) -> list[list[Condition]]:
    """Return conditions on a single size that is accepted periodically, except for small sizes; empty if it is not."""
    own, wrong = np.unique(accepted[:, 0]), np.unique(refused[:, 0])
    for start in range(min(_BEFORE, len(own) - _ENOUGH)):
        low = int(own[start])
        for period in range(2, _LONGEST + 1):
            residues = np.unique(own[start:] % period)
            is_shown = len(own) - start >= _ENOUGH * len(residues)
            if is_shown and not np.isin(wrong[wrong >= low] % period, residues).any():
                values = tuple(map(number, residues.tolist()))
                is_one = len(values) == 1
                whole: list[Condition] = [
                    Guard(size(0), "==", values[0], period) if is_one else OneOf(size(0), values, period)
                ]
                if np.isin(wrong % period, residues).any():
                    whole.append(Guard(size(0), ">=", number(low)))
                rest: list[Condition] = [OneOf(size(0), tuple(map(number, own[:start].tolist())))]
                return [whole, rest] if start else [whole]
    return []
