"""Implicants: the fewest conditions of a trace that still exclude every refused combination of sizes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from irexec.tools.shapes.conditions import Condition, Guard, OneOf
from irexec.tools.shapes.formulas import Formula, number, size
from irexec.tools.shapes.guards import choices, guards
from irexec.tools.shapes.paths import Paths
from irexec.tools.shapes.patterns import Rows, bounds, periodic, remainders

# The maximum number of alternatives of a description, and of listed combinations that no condition describes.
_MOST, _MOST_LISTED = 24, 16
# The maximum number of sizes of a dimension that are listed.
_MOST_SIZES = 64
# The number of conditions of traces that are tried for all combinations.
_MOST_COMMON = 600
# The share of combinations that a description may contradict if no conditions describe all.
_FEW = 0.02

Alternatives = list[list[Condition]]


def implicants(paths: Paths) -> tuple[Alternatives, bool]:
    """Return lists of conditions, and whether they agree with all points: accepted points satisfy all conditions of
    some list, and no refused point does, if equal dimensions (`paths.groups`) have equal sizes.

    Accepted points that no conditions separate from the refused points are listed.
    """
    outcome, groups = paths.accepted(), paths.groups
    equal = (paths.points == paths.points[:, groups]).all(1)
    refused, accepted = paths.points[equal & (outcome == 0)], paths.points[outcome == 1]
    deciding = paths.decided[outcome == 1]
    of_trace = {place: guards(paths.traces[place].tape, groups) for place in np.unique(deciding).tolist()}
    every = dict.fromkeys(guard for own in of_trace.values() for guard in own)
    simplest = sorted(every, key=lambda each: each.weight)[:_MOST_COMMON]
    candidates: list[Condition] = [*choices(every), *simplest, *remainders(accepted, groups)]
    common = [each for each in dict.fromkeys(candidates) if _all([each], accepted).all() and _is_taken(each, accepted)]
    shown = list(bounds(accepted, refused, groups))
    left, tried = np.ones(len(accepted), bool), np.ones(len(accepted), bool)
    found: Alternatives = []
    while (left & tried).any() and len(found) < _MOST:
        # The trace that decides most of the remaining combinations comes first.
        trace = int(np.bincount(deciding[left & tried]).argmax())
        made = _shortest([of_trace[trace], shown, common], refused)
        covered = left & _all(made, accepted) if made is not None else np.zeros(len(left), bool)
        if made is not None and covered.any():
            found.append(made)
            left &= ~covered
        else:
            tried &= deciding != trace
    found = _merged(_needed(found, accepted[~left]))
    if not left.any():
        return found, True
    whole = _all([*common, *shown], refused)
    if whole.sum() <= _FEW * len(paths.points):
        # The model refuses only few combinations for which all these conditions hold.
        return [_shortest([shown, common], refused[~whole]) or []], False
    if len(set(groups)) == 1 and (rest := periodic(accepted[left], refused)):
        return [*found, *rest], True
    sizes = [(dim, np.unique(accepted[:, dim]).tolist()) for dim in sorted(set(groups))]
    listed = [OneOf(size(dim), tuple(map(number, own))) for dim, own in sizes if len(own) <= _MOST_SIZES]
    if (made := _shortest([shown, listed, common], refused)) is not None:
        return [made], False
    for each in sorted(accepted[left].tolist(), key=sum)[:_MOST_LISTED]:
        found.append([Guard(size(dim), "==", number(each[dim])) for dim, _ in sizes])
    return found, False


def _is_taken(condition: Condition, accepted: Rows) -> bool:
    """Return whether accepted points take the choice between 1 and another size, if the condition is one."""
    return not isinstance(condition, OneOf) or bool(np.any(condition.is_broadcast(list(accepted.T))))


def _shortest(conditions: Sequence[Sequence[Condition]], refused: Rows) -> list[Condition] | None:
    """Drop conditions, those of the first list first, of each the least readable first, as long as the remaining
    conditions exclude all refused points.
    """
    columns = list(refused.T)
    ordered = [each for some in conditions for each in sorted(some, key=lambda each: each.weight, reverse=True)]
    ordered = list(dict.fromkeys(reversed(ordered)))[::-1]
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
    return arranged(kept)


def arranged(conditions: Sequence[Condition]) -> list[Condition]:
    """Return the conditions in order, with an equality in place of two bounds that meet."""
    found: dict[object, Condition] = {}
    for each in conditions:
        if not isinstance(each, Guard):
            found[each] = each
            continue
        key: object = (each.left, each.right)
        other = found.get(key)
        if isinstance(other, Guard) and {each.operator, other.operator} == {"<=", ">="}:
            each = Guard(each.left, "==", each.right)
        elif other is not None:
            key = each
        found[key] = each
    return sorted(found.values(), key=lambda each: (min(each.dims), each.weight))


def _merged(found: Alternatives) -> Alternatives:
    """Return the alternatives; those that differ only in the numbers that a size or a remainder equals are joined."""
    for place, one in enumerate(found):
        for later, other in enumerate(found[place + 1 :], place + 1):
            mine, theirs = ([each for each in own if each not in rest] for own, rest in ((one, other), (other, one)))
            joined = _joined(*mine, *theirs) if len(mine) == len(theirs) == 1 else None
            if joined is not None:
                whole = [joined if each is mine[0] else each for each in one]
                return _merged([*found[:place], whole, *found[place + 1 : later], *found[later + 1 :]])
    return found


def _joined(one: Condition, other: Condition) -> Condition | None:
    """Return the condition that one of two conditions holds, if both list the numbers that one expression equals."""
    values: set[Formula] = set()
    for each in (one, other):
        if isinstance(each, Guard) and (each.operator == "==" or (each.operator, each.right) == ("<=", number(1))):
            values.add(each.right)
        elif isinstance(each, OneOf):
            values.update(each.values)
        else:
            return None
    assert isinstance(one, Guard | OneOf) and isinstance(other, Guard | OneOf)
    if (one.left, one.modulus) != (other.left, other.modulus) or any(value.dims for value in values):
        return None
    return OneOf(one.left, tuple(sorted(values, key=lambda value: value.constant)), one.modulus)


def _all(conditions: Sequence[Condition], points: Rows) -> Rows:
    columns = list(points.T)
    holding = np.ones(len(points), bool)
    for each in conditions:
        holding &= np.broadcast_to(each.holds(columns), len(points))
    return holding


def _needed(found: Alternatives, accepted: Rows) -> Alternatives:
    """Return the alternatives without those that all remaining alternatives together cover."""
    covering = [_all(each, accepted) for each in found]
    kept = list(range(len(found)))
    for place in sorted(kept, key=lambda place: covering[place].sum()):
        others = [covering[other] for other in kept if other != place]
        if others and np.logical_or.reduce(others).all():
            kept.remove(place)
    return [found[place] for place in kept]
