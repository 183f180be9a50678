"""The amount of testing: everything in CI, and fewer random cases and long tables otherwise."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

IN_CI = os.environ.get("CI") == "true"


def amount(in_ci: int, otherwise: int) -> int:
    """Return the number of cases to draw, from the same seeds."""
    assert 0 < otherwise <= in_ci
    return in_ci if IN_CI else otherwise


def spread(cases: Sequence[T], most: int | None = None) -> list[T]:
    """Return every sixth case of a long table, but at least eight, evenly spaced; or at most `most`."""
    count = max(8, len(cases) // 6) if most is None else most
    if count >= len(cases):
        return [*cases]
    return [cases[number * len(cases) // count] for number in range(count)]
