"""Campaigns: which cases are judged, in which order, until all are done or the time is over."""

from __future__ import annotations

import fnmatch
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from irexec.conformance.drawing import operators

BLOCK = 8
QUICK, FULL = 16, 400
"""Cases of each operator in the quick and the full list."""


@dataclass(frozen=True)
class Extent:
    """How much is judged: a number of cases of each operator and pattern, or as many as fit into some seconds."""

    cases: int | None = None
    seconds: float | None = None


def families(only: Sequence[str] = ()) -> list[str]:
    """The operators and graph patterns whose names match one of the patterns, or all of them."""
    from irexec.conformance.graphs import patterns

    names = [*map(str, operators()), *patterns(), "graph.grown"]
    if not only:
        return names
    return [name for name in names if any(fnmatch.fnmatchcase(name, pattern) for pattern in only)]


def rounds(names: Sequence[str], extent: Extent, clock: Callable[[], float] = time.monotonic) -> Iterator[list[str]]:
    """The items of `JudgeBlock`, in rounds: each has a block of every operator and pattern."""
    begun, first = clock(), 0
    while extent.cases is None or first < extent.cases:
        if extent.seconds is not None and clock() - begun >= extent.seconds:
            return
        count = BLOCK if extent.cases is None else min(BLOCK, extent.cases - first)
        yield [f"{name}#{first}+{count}" for name in names]
        first += count
