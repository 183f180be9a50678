"""Implicants: the fewest conditions of a trace that still exclude every refused combination of sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irexec.tools.shapes.guards import Choice, Guard, choices, guards
from irexec.tools.shapes.paths import Paths

# The maximum number of alternatives of a description.
_MOST = 24


def implicants(paths: Paths) -> list[list[Guard | Choice]] | None:
    """Return lists of conditions: every accepted point satisfies all conditions of some list, and no refused point
    does.

    None if the guards do not separate the points, or if too many lists would be needed.
    """
    outcome = paths.accepted()
    refused, accepted = paths.points[outcome == 0], paths.points[outcome == 1]
    number = paths.decided[outcome == 1]
    left = np.ones(len(accepted), bool)
    found: list[list[Guard | Choice]] = []
    of_trace = {place: guards(paths.traces[place].tape) for place in np.unique(number).tolist()}
    columns = list(accepted.T)
    common = [
        each
        for each in choices(guard for own in of_trace.values() for guard in own)
        if np.all(each.holds(columns)) and np.any(each.is_taken(columns))
    ]
    while left.any():
        if len(found) == _MOST:
            return None
        # The trace that decides most of the remaining combinations comes first.
        counts = np.bincount(number[left])
        made = _shortest([*common, *of_trace[int(counts.argmax())]], refused)
        if made is None:
            return None
        covered = _all(made, accepted) & left
        if not covered.any():
            return None
        found.append(made)
        left &= ~covered
    return _needed(found, accepted)


def _shortest(conditions: Sequence[Guard | Choice], refused: np.ndarray[Any, Any]) -> list[Guard | Choice] | None:
    """Drop conditions, the least readable first, as long as the remaining conditions exclude all refused points."""
    columns = list(refused.T)
    ordered = sorted(conditions, key=lambda each: each.weight, reverse=True)
    excluding = {each: ~np.broadcast_to(each.holds(columns), len(refused)) for each in ordered}
    count = np.zeros(len(refused), np.int64)
    for each in ordered:
        count += excluding[each]
    if len(refused) and not count.all():
        return None
    kept = []
    for each in ordered:
        if (count[excluding[each]] > 1).all():
            count -= excluding[each]
        else:
            kept.append(each)
    return sorted(_merged(kept), key=lambda each: (min(each.dims), each.weight))


def _merged(conditions: Sequence[Guard | Choice]) -> list[Guard | Choice]:
    """Return the conditions with an equality in place of two bounds that meet."""
    found: dict[tuple[object, object], Guard | Choice] = {}
    for each in conditions:
        if isinstance(each, Choice):
            found[each, each] = each
            continue
        key: tuple[object, object] = (each.left, each.right)
        other = found.get(key)
        if isinstance(other, Guard) and {each.operator, other.operator} == {"<=", ">="}:
            each = Guard(each.left, "==", each.right)
        elif other is not None:
            key = each.left, each
        found[key] = each
    return list(found.values())


def _all(conditions: Sequence[Guard | Choice], points: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    columns = list(points.T)
    holding = np.ones(len(points), bool)
    for each in conditions:
        holding &= np.broadcast_to(each.holds(columns), len(points))
    return holding


def _needed(found: list[list[Guard | Choice]], accepted: np.ndarray[Any, Any]) -> list[list[Guard | Choice]]:
    """Return the alternatives without those that all remaining alternatives together cover."""
    covering = [_all(each, accepted) for each in found]
    kept = list(range(len(found)))
    for place in sorted(kept, key=lambda place: covering[place].sum()):
        others = [covering[other] for other in kept if other != place]
        if others and np.logical_or.reduce(others).all():
            kept.remove(place)
    return [found[place] for place in kept]
