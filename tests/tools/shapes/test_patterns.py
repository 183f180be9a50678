"""Conditions that the accepted combinations show, and their evaluation for columns of sizes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from irexec.tools.shapes.conditions import Guard, OneOf
from irexec.tools.shapes.formulas import add, extreme, number, size
from irexec.tools.shapes.patterns import bounds, periodic, remainders

pytestmark = pytest.mark.any_python

NAMES = ("a", "b")
SIZES = np.array([(one, other) for one in range(1, 70) for other in range(1, 70)], np.int64)


def shown(is_accepted: Callable[[int, int], bool]) -> list[str]:
    holding = np.array([is_accepted(one, other) for one, other in SIZES.tolist()])
    accepted, refused = SIZES[holding], SIZES[~holding]
    return [each.text(NAMES) for each in (*remainders(accepted, [0, 1]), *bounds(accepted, refused, [0, 1]))]


@pytest.mark.parametrize(
    ("is_accepted", "expected"),
    [
        (lambda a, b: a == 5, ["a == 5"]),
        (lambda a, b: a % 8 == 0 and a > 16, ["a % 8 == 0", "a >= 24"]),
        (lambda a, b: a % 3 == 2 and 4 < b < 20, ["a % 3 == 2", "b >= 5", "b <= 19"]),
        (lambda a, b: a <= 3 * b, ["a <= 3*b"]),
        (lambda a, b: a % 2 == 0 or b > 60, []),
    ],
)
def test_patterns_of_all_accepted_sizes(is_accepted: Callable[[int, int], bool], expected: list[str]) -> None:
    found = shown(is_accepted)
    assert [each for each in found if each in expected] == expected
    assert expected or not found


@pytest.mark.parametrize(
    ("is_accepted", "expected"),
    [
        (lambda a: a % 4 in (0, 3), [["a % 4 in [0, 3]"]]),
        (lambda a: a >= 29 and a % 32 in (0, 29, 30, 31), [["a % 32 in [0, 29, 30, 31]"]]),
        (lambda a: a in (1, 3) or (a % 2 == 0 and a >= 4), [["a % 2 == 0", "a >= 4"], ["a in [1, 3]"]]),
        (lambda a: round(a**0.5) ** 2 == a, []),
    ],
)
def test_a_period_begins_after_some_small_sizes(is_accepted: Callable[[int], bool], expected: list[list[str]]) -> None:
    sizes = np.arange(1, 300)[:, None]
    holding = np.array([is_accepted(int(each)) for each in sizes[:, 0]])
    found = periodic(sizes[holding], sizes[~holding])
    assert [[each.text(NAMES) for each in part] for part in found] == expected


def test_conditions_hold_for_columns_as_for_each_row() -> None:
    largest = extreme("max", size(0), extreme("min", size(1), number(6)))
    conditions = [
        Guard(largest, "<=", add(size(1), number(3))),
        Guard(size(0), "!=", size(1)),
        OneOf(add(size(0), size(1)), (number(1), number(4)), 6),
        OneOf(size(0), (number(1), size(1))),
    ]
    rows = [(one, other) for one in range(1, 14) for other in range(1, 14)]
    columns = list(np.array(rows).T)
    for condition in conditions:
        found = condition.holds(columns).tolist()
        assert found == [bool(condition.holds(row)) for row in rows] and 0 < sum(found) < len(rows)
