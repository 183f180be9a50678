"""Alternatives: a list of conditions for each case of a model. Sizes are accepted if all conditions of a list hold."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, product

from irexec.sizes.case import Case
from irexec.sizes.conditions import Compare, Condition, OneOf
from irexec.sizes.expressions import Combined, constant, size_of
from irexec.sizes.formulas import Size
from irexec.sizes.guards import Choice, Guard
from irexec.sizes.probe import Prober

_MOST_ALTERNATIVES = 64


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
    """Return a choice between 1 and sizes in the form that words.py can express; other conditions unchanged."""
    if isinstance(condition, Guard):
        return condition
    if condition.formula is None:
        return OneOf(condition.dim, (constant(1), Combined("max", tuple(map(size_of, condition.among)))))
    alone = condition.formula.only
    return OneOf(condition.dim, (constant(1), size_of(alone.dim))) if isinstance(alone, Size) else condition
