"""Expressions fitted to values: the forms that shapes have."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from irexec.tools.shapes.conditions import Compare, OneOf, Residue
from irexec.tools.shapes.expressions import Combined, Linear, constant, fit, size_of

pytestmark = pytest.mark.any_python

BASE = (2, 64, 48)
NAMES = ("a", "b", "c")

FORMS: dict[str, Callable[[int, int, int], int]] = {
    "7": lambda a, b, c: 7,
    "b": lambda a, b, c: b,
    "2*b + 3": lambda a, b, c: 2 * b + 3,
    "(b + 1) // 2": lambda a, b, c: (b + 1) // 2,
    "b // 32": lambda a, b, c: b // 32,
    "b + c": lambda a, b, c: b + c,
    "(2*b + 2*c + 1) // 3": lambda a, b, c: (2 * b + 2 * c + 1) // 3,
    "a*b": lambda a, b, c: a * b,
    "a*(b // 16)*(c // 16)": lambda a, b, c: a * (b // 16) * (c // 16),
    "(b // 16)*(c // 16) + 5": lambda a, b, c: (b // 16) * (c // 16) + 5,
    "21*(b // 32)*(c // 32)": lambda a, b, c: 21 * (b // 32) * (c // 32),
    "min(b, 70)": lambda a, b, c: min(b, 70),
    "max(a, b, c)": lambda a, b, c: max(a, b, c),
    "b // 2 + c // 3": lambda a, b, c: b // 2 + c // 3,
}


@pytest.mark.parametrize("form", FORMS)
def test_a_form_is_found(form: str) -> None:
    formula = FORMS[form]
    chance = random.Random(3)
    points = [BASE]
    for dim in range(3):
        for size in (1, 2, 3, 5, 16, 31, 32, 33, 63, 65, 80, 96, 128, 160, 500, 1024, 3001, 3007):
            points.append(tuple(size if number == dim else own for number, own in enumerate(BASE)))  # type: ignore[arg-type]
    points += [(2, one, other) for one in (80, 160) for other in (96, 160)]
    points += [(chance.randint(1, 9), chance.randint(16, 400), chance.randint(16, 400)) for _ in range(40)]
    found = fit([(point, formula(*point)) for point in points], BASE, (0, 1, 2))
    assert found is not None
    for _ in range(200):
        sizes = (chance.randint(1, 40), chance.randint(1, 2000), chance.randint(1, 2000))
        assert found.value(sizes) == formula(*sizes), found.text(NAMES)


def test_what_has_no_form_is_not_described() -> None:
    samples = [((size,), size * size % 97) for size in range(1, 80)]
    assert fit(samples, (3,), (0,)) is None
    of_another_dimension = [((2, size), size) for size in range(3, 9)]
    assert fit(of_another_dimension, (2, 3), (0,)) is None
    assert fit(of_another_dimension, (2, 3), ()) is None


def test_a_share_of_a_product() -> None:
    samples = [((one, 6 * other), one * other) for one in range(1, 8) for other in range(1, 8)]
    found = fit(samples, (2, 12), (0, 1))
    assert found is not None and found.value((5, 60)) == 50
    pairs = [(one, other) for one in range(1, 9) for other in range(1, 9) if one * other % 6 == 0]
    found = fit([(pair, pair[0] * pair[1] // 6) for pair in pairs], (6, 7), (0, 1))
    assert found is not None and found.text(NAMES) == "a*b // 6"


def test_text() -> None:
    assert Linear(((1, 0), (-2, 1)), 3).text(NAMES) == "a - 2*b + 3"
    assert Linear(((-1, 0),), 4).text(NAMES) == "-a + 4"
    assert Linear(((1, 0),), 0, 16).text(NAMES) == "a // 16"
    assert Linear(((1, 0),), 1, 16).text(NAMES) == "(a + 1) // 16"
    product = Combined("*", (constant(3), size_of(0), Linear(((1, 1),), 0, 4)))
    assert product.text(NAMES) == "3*a*(b // 4)"
    assert Combined("+", (product, constant(-1))).text(NAMES) == "3*a*(b // 4) - 1"
    assert Combined("max", (size_of(0), size_of(1))).text(NAMES) == "max(a, b)"


def test_conditions_hold_for_columns_as_for_each_row() -> None:
    largest = Combined("max", (size_of(0), Combined("min", (size_of(1), constant(6)))))
    conditions = [
        Compare(largest, "<=", Linear(((1, 1),), 3)),
        Residue(Linear(((1, 0), (1, 1))), 6, (1, 4)),
        OneOf(0, (constant(1), size_of(1), constant(9))),
    ]
    rows = [(one, other) for one in range(1, 14) for other in range(1, 14)]
    columns = list(np.array(rows).T)
    for condition in conditions:
        found = condition.holds(columns).tolist()
        assert found == [condition.holds(row) for row in rows] and 0 < sum(found) < len(rows)
