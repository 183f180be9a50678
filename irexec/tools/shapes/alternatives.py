"""Alternatives: a list of conditions for each case of a model. Sizes are accepted if all conditions of a list hold."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, product

from irexec.tools.shapes.case import Case
from irexec.tools.shapes.conditions import Compare, Condition, OneOf, Residue
from irexec.tools.shapes.expressions import Combined, constant, size_of
from irexec.tools.shapes.formulas import Size
from irexec.tools.shapes.guards import Choice, Guard
from irexec.tools.shapes.probe import Prober

_MOST_ALTERNATIVES = 64
NO_BOUND = 2**31 - 1
"""Declared upper bounds from this size on mean "no bound"."""


def alternatives_of(prober: Prober, cases: Sequence[Case], groups: Sequence[int]) -> list[list[Condition]]:
    """Return the conditions of all cases; sizes are accepted if all conditions of one of these lists hold."""
    found: list[list[Condition]] = []
    for case in cases:
        choices: list[list[list[Condition]]] = []
        for dim, accepted in case.choices.items():
            if groups[dim] == dim and dim not in case.broadcast:
                choices.append(accepted.alternatives(dim, prober.dims[dim]))
        fixed: list[Condition] = []
        for dim, linear in case.following.items():
            if linear.is_plain and linear.terms and groups[dim] == groups[linear.terms[0][1]] and groups[dim] != dim:
                continue
            fixed.append(Compare(size_of(dim), "==", linear))
        fixed += [OneOf(dim, (constant(1), expression)) for dim, expression in case.broadcast.items()]
        fixed += case.joint
        found += [
            [*(c for part in parts for c in part), *fixed] for parts in islice(product(*choices), _MOST_ALTERNATIVES)
        ]
    return found


def declared_bounds(
    prober: Prober, groups: Sequence[int], alternatives: Sequence[Sequence[Condition]]
) -> list[Condition]:
    """Return the declared bounds as conditions, except for bounds that every alternative narrows."""
    found: list[Condition] = []
    for lead in sorted(set(groups)):
        dims = [dim for dim, group in zip(prober.dims, groups, strict=True) if group == lead]
        low = max(dim.low for dim in dims)
        high = min((dim.high for dim in dims if dim.high is not None), default=NO_BOUND)
        for operator, bound, is_bound in ((">=", low, low > 1), ("<=", high, high < NO_BOUND)):
            if is_bound and not all(_bounds(each, lead, operator) for each in alternatives):
                found.append(Compare(size_of(lead), operator, constant(bound)))
    return found


def _bounds(conditions: Sequence[Condition], dim: int, operator: str) -> bool:
    """Return whether one of the conditions is a bound of a dimension in this direction, or lists its sizes."""
    return any(
        each.dim == dim and not any(value.dims for value in each.values)
        if isinstance(each, OneOf)
        else isinstance(each, Compare)
        and each.operator in (operator, "==")
        and each.left == size_of(dim)
        and not each.right.dims
        for each in conditions
    )


def says_equal(condition: Guard | Choice, groups: Sequence[int]) -> bool:
    """Return whether a condition only states that dimensions with one symbol are equal."""
    dims = condition.dims
    return (
        isinstance(condition, Guard)
        and condition.operator == "=="
        and len({groups[dim] for dim in dims}) == 1
        and len(dims) == 2
        and condition.is_plain
    )


def plain(condition: Guard | Choice) -> Condition:
    """Return conditions on a single size, and choices between 1 and sizes, in the form that words.py can express; other
    conditions unchanged.
    """
    if isinstance(condition, Guard):
        alone, right = condition.left.only, condition.right
        if not isinstance(alone, Size) or not right.is_constant or condition.operator == "!=":
            return condition
        if condition.modulus > 1:
            return Residue(size_of(alone.dim), condition.modulus, (right.constant,))
        if condition.operator == "==":
            return OneOf(alone.dim, (constant(right.constant),))
        return Compare(size_of(alone.dim), condition.operator, constant(right.constant))
    if condition.formula is None:
        return OneOf(condition.dim, (constant(1), Combined("max", tuple(map(size_of, condition.among)))))
    other = condition.formula.only
    return OneOf(condition.dim, (constant(1), size_of(other.dim))) if isinstance(other, Size) else condition
